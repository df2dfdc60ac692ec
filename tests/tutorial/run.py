#!/usr/bin/env python3
"""Does what the tutorial's pages say, and compares what it shows.

    python3 run.py BUILD_FOLDER [page.md...]     pages of docs/tutorial by default

A block marked sh with lines `$ command` runs these commands; the lines below a command are what it prints. `...` stands for
any text, on a line of its own for any lines; `~12.3` stands for any number. How many blanks there are does not matter. A
block without `$` is only run. A block marked with a second word is a file of that name. A command must succeed unless
what it prints has `rror:` in it. Each page is done in a folder of its own, by one shell.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
END = "\x02"


def blocks(text):
    """(line number, words after the fence, lines) of each fenced block."""
    inside, start, words, lines = False, 0, [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if inside:
                yield start, words, lines
            inside, start, words, lines = not inside, number, line[3:].split(), []
        elif inside:
            lines.append(line)


def steps(text):
    """(line number, kind, name or command, expected lines or None, or a file's text)."""
    for number, words, lines in blocks(text):
        if len(words) > 1:
            yield number, "file", words[1], "\n".join(lines) + "\n"
        elif words == ["sh"] and not any(line.startswith("$ ") for line in lines):
            yield number, "run", "\n".join(lines), None
        elif words == ["sh"]:
            command, shown = None, []
            for k, line in enumerate(lines, number + 1):
                if line.startswith("$ "):
                    if command is not None:
                        yield at, "run", command, shown
                    at, command, shown = k, line[2:], []
                elif command.endswith("\\"):
                    command += "\n" + line
                else:
                    shown.append(line)
            yield at, "run", command, shown


def fits(shown, printed):
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
            continue
        for part in re.split(r"(\.\.\.|~-?[0-9][0-9.,e+-]*|\s+)", " ".join(line.split())):
            if part == "...":
                pattern += r"[^\n]*"
            elif part.startswith("~"):
                pattern += r"-?[0-9][0-9.,e+-]*"
            else:
                pattern += re.escape(part) if part.strip() else r" " * bool(part)
        pattern += r"\n"
    said = "".join(" ".join(line.split()) + "\n" for line in printed)
    return re.fullmatch(pattern, said)


def folder_of_a_reader(work, build):
    """What someone has after `make demo`: the tree, with the build where the pages expect it."""
    for name in ("examples", "include", "docs"):
        os.symlink(ROOT / name, work / name)
    os.mkdir(work / "build")
    os.symlink(build, work / "build" / "release")


def run_page(page, build):
    todo = list(steps(page.read_text()))
    with tempfile.TemporaryDirectory() as name:
        folder_of_a_reader(pathlib.Path(name), build)
        script = "exec 2>&1\n"
        for k, (_, kind, what, rest) in enumerate(todo):
            if kind == "file":
                pathlib.Path(name, f".file{k}").write_text(rest)
                script += f'cp "{name}/.file{k}" {what}; printf "\\002%d\\n" $?\n'
            else:
                script += f'{{ {what}\n}} </dev/null; printf "\\002%d\\n" $?\n'
        env = dict(os.environ, NO_COLOR="1", COLUMNS="100")
        done = subprocess.run(["sh"], input=script.encode(), stdout=subprocess.PIPE, cwd=name, env=env, timeout=280)
    parts = re.split(END + r"(\d+)\n", done.stdout.decode(errors="replace"))
    faults = 0
    for (number, _, what, shown), printed, code in zip(todo, parts[0::2], parts[1::2]):
        may_fail = isinstance(shown, list) and "rror:" in "\n".join(shown)
        wrong = f"exit code {code}" if int(code) and not may_fail else None
        if isinstance(shown, list) and not wrong and not fits(shown, printed.rstrip("\n").split("\n") if printed else []):
            wrong = "prints something else"
        if wrong:
            faults += 1
            print(f"{page.relative_to(ROOT)}:{number}: {wrong}: {what}\n    " + printed.rstrip().replace("\n", "\n    "))
    if len(parts) // 2 != len(todo):
        faults += 1
        print(f"{page.relative_to(ROOT)}: the shell ended early")
    return len(todo), faults


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pages = [pathlib.Path(p).resolve() for p in sys.argv[2:]] or sorted((ROOT / "docs/tutorial").glob("*.md"))
    total = [run_page(page, build) for page in pages]
    faults = sum(f for _, f in total)
    print(f"tutorial: {len(pages)} pages, {sum(n for n, _ in total)} steps, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

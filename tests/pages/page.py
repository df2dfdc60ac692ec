"""Pages whose steps are tests: what their fenced blocks say, and a shell that does it.

A block marked `sh` with lines `$ command` runs these commands; the lines below a command are what it prints. `...` stands
for any text, on a line of its own for any lines; `~12.3` stands for any number. How many blanks there are does not matter.
A block without `$` is only run. A command must succeed unless what it prints has `rror:` in it.

A block marked with a second word is a file of that name. One marked `diff` and a name changes that file: lines that begin
with a blank or `-` must stand in it, in this order and exactly once; those with `-` go, those with `+` come. A line `@@`
begins the next place; a block of `+` lines alone is added at the end.
"""
import os
import pathlib
import re
import subprocess

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
    """(line number, kind, name or command, a file's text, its change, or the lines that are expected or None)."""
    for number, words, lines in blocks(text):
        if len(words) > 1 and words[0] == "diff":
            yield number, "change", words[1], lines
        elif len(words) > 1:
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


def changed(text, lines):
    """The text after a `diff` block; ValueError says why the block does not fit it."""
    for place in re.split(r"^@@.*\n", "\n".join(lines) + "\n", flags=re.M):
        rows = place.split("\n")[:-1]
        if any(row[:1] not in ("", " ", "+", "-") for row in rows):
            raise ValueError("a line begins with none of blank, + and -")
        old = "".join(row[1:] + "\n" for row in rows if row[:1] != "+")
        new = "".join(row[1:] + "\n" for row in rows if row[:1] != "-")
        n = len(re.findall("^" + re.escape(old), text, re.M)) if old else 1
        if n != 1:
            raise ValueError(f"its lines stand {n} times in the file, not once:\n{old}")
        text = re.sub("^" + re.escape(old), lambda _: new, text, count=1, flags=re.M) if old else text + new
    return text


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


def script_of(todo, folder):
    script = "exec 2>&1\n"
    for k, (_, kind, what, rest) in enumerate(todo):
        if kind == "file":
            pathlib.Path(folder, f".file{k}").write_text(rest)
            script += f'cp "{folder}/.file{k}" {what}; printf "\\002%d\\n" $?\n'
        else:
            script += f'{{ {what}\n}} </dev/null; printf "\\002%d\\n" $?\n'
    return script


def run(page, todo, folder, seconds, **more_env):
    """Does files and commands of a page in one shell in this folder, prints what goes wrong, returns how many did."""
    env = dict(os.environ, NO_COLOR="1", COLUMNS="100", **more_env)
    done = subprocess.run(["sh"], input=script_of(todo, folder).encode(), stdout=subprocess.PIPE, cwd=folder, env=env,
                          timeout=seconds)
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
    return faults

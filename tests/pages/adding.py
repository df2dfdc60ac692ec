#!/usr/bin/env python3
"""Does what the pages docs/adding-*.md say, in a copy of the tree, and compares what it shows (page.py says how pages are
read).

    python3 adding.py [--build FOLDER] [page.md...]

Without --build, the files and changes of each page are applied to the tree in thought, and its C files are compiled without
making code, and their layout is checked. With it, FOLDER/tree becomes a copy of the tree with the changes of one page after the other, and that page's
commands run there. Its build is kept, so that the next page and the next run build only what differs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import page

SECONDS = 1500
PARTS = ("CMakeLists.txt", "CMakePresets.json", "Makefile", ".clang-format", "bench", "bindings", "cmake", "docs", "include",
         "src", "tests", "tools")
LINKED = ("examples", "tests/onnx", "tests/fuzz/corpus")    # large, and no page changes them
CLANG_FORMAT = "clang-format-19"
COMPILE = "gcc -std=gnu17 -fsyntax-only -Wall -Wextra -Wpedantic -Wmissing-prototypes -Werror -D_GNU_SOURCE".split()


def changes(path):
    """name -> text of each file that the page makes or changes; the rest of its steps; what is wrong with it."""
    files, commands, faults = {}, [], []
    for number, kind, what, rest in page.steps(path.read_text()):
        if kind == "run":
            commands.append((number, kind, what, rest))
            continue
        known = page.ROOT / what
        try:
            if kind == "change":
                rest = page.changed(files[what] if what in files else known.read_text(), rest)
            elif known.exists() or what in files:
                raise ValueError("the file is there already")
            files[what] = rest
        except (OSError, ValueError) as e:
            faults.append(f"{path.relative_to(page.ROOT)}:{number}: {what}: {e}")
    return files, commands, faults


def check(files):
    """Whether the C files compile over the tree, those of the page before those of the tree."""
    with tempfile.TemporaryDirectory() as name:
        for what, text in files.items():
            path = pathlib.Path(name, what)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        roots = [name, page.ROOT]
        include = [f"-I{root}/{folder}" for root in roots for folder in ("src", "include", "tests")]
        sources = [str(pathlib.Path(name, what)) for what in files if what.endswith(".c")]
        commands = [[*COMPILE, '-DTENON_VERSION="0"', *include, *sources]]
        if shutil.which(CLANG_FORMAT):
            commands.append([CLANG_FORMAT, "--dry-run", "-Werror", f"-style=file:{page.ROOT}/.clang-format", *sources])
        return not sources or all([subprocess.run(command).returncode == 0 for command in commands])


def copy_tree(tree, files):
    """Makes `tree` this tree with these files; what is as it should be is not touched."""
    wanted = set(files)
    for part in PARTS:
        for at, folders, names in os.walk(page.ROOT / part):
            folders[:] = [f for f in folders if f != "__pycache__" and os.path.relpath(f"{at}/{f}", page.ROOT) not in LINKED]
            wanted |= {os.path.relpath(f"{at}/{name}", page.ROOT) for name in names}
        if (page.ROOT / part).is_file():
            wanted.add(part)
    for name in sorted(wanted):
        text = files[name].encode() if name in files else (page.ROOT / name).read_bytes()
        path = tree / name
        if not path.exists() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            if name not in files:
                shutil.copymode(page.ROOT / name, path)
    for name in LINKED:
        if not (tree / name).exists():
            (tree / name).symlink_to(page.ROOT / name)
    for at, folders, names in os.walk(tree):
        folders[:] = [f for f in folders if f != "__pycache__" and (at, f) != (str(tree), "build")]
        for name in names:
            if os.path.relpath(f"{at}/{name}", tree) not in wanted:
                os.unlink(f"{at}/{name}")


def build(path, folder, files, commands):
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    copy_tree(tree, files)
    env = {}
    if shutil.which("ccache"):
        env = {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
    return page.run(path, commands, tree, SECONDS, **env)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", type=pathlib.Path)
    args.add_argument("page", nargs="*", type=pathlib.Path)
    args = args.parse_args()
    pages = [p.resolve() for p in args.page] or sorted((page.ROOT / "docs").glob("adding-*.md"))
    n_file = n_command = n_fault = 0
    for path in pages:
        files, commands, faults = changes(path)
        for fault in faults:
            print(fault)
        n_file, n_command, n_fault = n_file + len(files), n_command + len(commands), n_fault + len(faults)
        if not faults and not check(files):
            n_fault += 1
        elif not faults and args.build:
            n_fault += build(path, args.build.resolve(), files, commands)
    done = f", {n_command} commands" if args.build else ""
    print(f"pages: {len(pages)} pages, {n_file} files{done}, {n_fault} faults")
    return 1 if n_fault or not pages else 0


if __name__ == "__main__":
    sys.exit(main())

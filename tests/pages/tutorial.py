#!/usr/bin/env python3
"""Does what the tutorial's pages say, and compares what it shows (page.py says how pages are read).

    python3 tutorial.py BUILD_FOLDER [page.md...]     pages of docs/tutorial by default

Each page is done in a folder of its own, by one shell. A page with Python programs is left out, and named, where the package
tenon was not built or NumPy is not installed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import page

SECONDS = 280


def folder_of_a_reader(work, build):
    """What someone has after `make demo`: the tree, with the build where the pages expect it."""
    for name in ("bindings", "examples", "include", "docs"):
        os.symlink(page.ROOT / name, work / name)
    os.mkdir(work / "build")
    os.symlink(build, work / "build" / "release")


def lacks_python(todo, build):
    env = dict(os.environ, PYTHONPATH=f"{build}/python:{os.environ.get('PYTHONPATH', '')}")
    return any(kind == "file" and what.endswith(".py") for _, kind, what, _ in todo) and subprocess.run(
        ["python3", "-c", "import tenon, numpy"], env=env, stderr=subprocess.DEVNULL).returncode


def run_page(path, build):
    todo = list(page.steps(path.read_text()))
    if lacks_python(todo, build):
        print(f"tutorial: {path.name} is left out: python3 cannot import tenon and numpy")
        return 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder_of_a_reader(pathlib.Path(name), build)
        return len(todo), page.run(path, todo, name, SECONDS)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pages = [pathlib.Path(p).resolve() for p in sys.argv[2:]] or sorted((page.ROOT / "docs/tutorial").glob("*.md"))
    total = [run_page(p, build) for p in pages]
    faults = sum(f for _, f in total)
    print(f"tutorial: {len(pages)} pages, {sum(n for n, _ in total)} steps, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

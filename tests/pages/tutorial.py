#!/usr/bin/env python3
"""Does what the tutorial's pages say, and compares what it shows (page.py says how pages are read).

    python3 tutorial.py BUILD_FOLDER [page.md...]     pages of docs/tutorial by default

Each page is done in a folder of its own, by one shell.
"""
import os
import pathlib
import sys
import tempfile

import page

SECONDS = 280


def folder_of_a_reader(work, build):
    """What someone has after `make demo`: the tree, with the build where the pages expect it."""
    for name in ("examples", "include", "docs"):
        os.symlink(page.ROOT / name, work / name)
    os.mkdir(work / "build")
    os.symlink(build, work / "build" / "release")


def run_page(path, build):
    todo = list(page.steps(path.read_text()))
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

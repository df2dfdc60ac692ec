#!/usr/bin/env python3
"""flags.py TREE: flags, options and what is written about them are one list.

The table of flags is the list. Help, manual pages and completion are made of it; here the description, docs/cli.md, is
held against it, and so is every member of tenon_options (include/tenon/tenon.h), which wants a flag that gives it.
"""
import re
import subprocess
import sys

tree = sys.argv[1]
faults = []


def said(*words):
    return subprocess.run(["tenon", *words], capture_output=True, text=True, check=True).stdout


def read(path):
    with open(f"{tree}/{path}", encoding="utf-8") as f:
        return f.read()


known, refused = set(), set()
shells = {s: said("--completion", s) for s in ("bash", "zsh")}
commands = re.findall(r"^  ([a-z]+) ", said("--help").partition("flags:")[0], re.M)
assert len(commands) >= 8, commands
for command in commands:
    text = said(command, "--help")
    later = said(command, "--help-all").partition("Flags of tvmc that are not supported yet")[2]
    here = set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.M))
    known |= here
    refused |= set(re.findall(r"--([a-z-]+)", later))
    manual = said("--manual", command).replace("\\-", "-")
    for flag in sorted(here):
        if f"--{flag}\\fR" not in manual:
            faults.append(f"the manual page of {command} lacks --{flag}")
        faults += [f"the completion for {s} lacks --{flag}" for s in shells if f"--{flag}" not in shells[s]]
known |= set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", said("--help"), re.M))

docs = read("docs/cli.md")
for flag in sorted(known):
    if not re.search(rf"--{flag}(?![\w-])", docs):
        faults.append(f"docs/cli.md lacks --{flag}")
for flag in sorted(set(re.findall(r"`--([a-z][a-z-]*[a-z])", docs)) - known - refused - {"flag"}):
    faults.append(f"docs/cli.md tells of --{flag}, which is no flag")

members = re.search(r"typedef struct tenon_options \{(.*?)\} tenon_options;", read("include/tenon/tenon.h"), re.S)[1]
members = re.sub(r"/\*.*?\*/|void \(\*[^;]*;", "", members, flags=re.S)
names = set(re.findall(r"(\w+)\s*(?=[,;])", members)) - {"size", "reserved0", "reserved1"}
rows = read("src/cli/model.c") + read("src/cli/compile.c") + read("src/cli/dump.c")
given = dict(re.findall(r'TN_OPTION(?:_\w+)?\((?:[A-Z]+, )?(\w+), "([\w-]+)"', rows))
assert len(given) > 15 and len(names) > 15, (given, names)
for name in sorted(names - {"print_user", "progress_user", "cancel"} - given.keys()):
    faults.append(f"no flag gives the option {name}")
for name, flag in given.items():
    if flag not in known:
        faults.append(f"--{flag}, which gives {name}, is not shown")

print("\n".join(faults) or f"{len(known)} flags, {len(given)} options")
sys.exit(bool(faults))

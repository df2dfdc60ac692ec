"""Run by gdb (tests/gdb/run): at the first calls of a print function of the program, compares the text that tools/gdb/tenon.py
makes of the argument with the text that the function then prints.

    gdb -nx -batch -x tests/gdb/compare.py -ex "py compare('tn_expr_print', 40, ...)" PROGRAM
"""
import os
import re
import sys

import gdb

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
gdb.execute("set pagination off")
gdb.execute("set width 0")
gdb.execute("set debuginfod enabled off")
gdb.execute("source " + os.path.join(ROOT, "tools/gdb/tenon.py"))


def printed(out):
    """What the function appends to this tn_buf, once it has returned."""
    before = int(out["n"])
    gdb.execute("finish", to_string=True)
    return out["at"].string("latin-1", length=int(out["n"]))[before:] if int(out["at"]) else ""


def operators(text):
    """Names of the operators of a module, in order."""
    return re.findall(r"(?<![@\w])([a-z_0-9.]+)\(", text)


def plain(function, ours, theirs):
    """Whether the two can be compared, and as what. Aliases and renamed variables differ by design; of a graph, operators."""
    if function == "tn_relay_print":
        ours, theirs = (re.sub(r'/\*.*?\*/|"[^"]*"|^def.*|^#.*', "", text, flags=re.M) for text in (ours, theirs))
        special = re.search(r"\b(fn|if|loop) \(|%\d+\.\d|[=(;] \(|^ *\(", theirs, re.M)
        return (operators(ours), operators(theirs)) if not special else None
    return (ours, theirs) if not re.search(r"^ *%0: |\b[a-z]+_\d+\b", theirs, re.M) else None


def compare(function, wanted):
    stop = gdb.Breakpoint(function)
    gdb.execute("run", to_string=True)
    same, skipped = 0, 0
    while same < wanted and skipped < 10 * wanted and gdb.selected_inferior().pid:
        frame = gdb.selected_frame()
        argument = next(iter(s for s in frame.block() if s.is_argument)).name
        if any(s.name == "names" and int(s.value(frame)) for s in frame.block()):
            gdb.execute("continue", to_string=True)
            continue
        ours, out = gdb.execute("tenon " + argument, to_string=True).rstrip("\n"), frame.read_var("out").dereference()
        stop.enabled = False
        theirs = printed(out).rstrip("\n")
        stop.enabled = True
        pair = plain(function, ours, theirs)
        if pair and pair[0] != pair[1]:
            print(f"compare: {function} prints\n{theirs}\ntools/gdb/tenon.py\n{ours}")
            gdb.execute("kill")
            sys.stdout.flush()
            os._exit(1)
        same, skipped = same + bool(pair), skipped + (not pair)
        gdb.execute("continue", to_string=True)
    print(f"compare: {function}: {same} texts are equal, {skipped} left out")
    sys.stdout.flush()
    os._exit(0 if same == wanted else 1)

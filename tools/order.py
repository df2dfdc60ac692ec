"""Which calls have two arguments that each number something new: the compiler decides which one it evaluates first.

C leaves the order open: gcc goes from the last argument to the first, clang from the first to the last. Nodes, symbols,
variables and buffers are numbered as they are made, so `add(c, make(c), make(c))` numbers them otherwise in each build. A
call with named operands does not. A function makes something if it calls one of MAKERS by name, through whatever
functions. Calls through pointers are not followed. The elements of one initialiser count as one argument, for both
compilers evaluate them in their order.
"""
import re

import source

MAKERS = {"tn_node_new", "tn_constant_new", "tn_region_new", "tn_region_add_param", "tn_graph_symbol",
          "tn_func_add_var", "tn_func_add_buffer"}
CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
MARK = re.compile(r"[(){}\[\],]")


def definitions(text):
    """(name, whether it is static, its body's first and last position) of each function of a stripped text."""
    depth = head = start = 0
    for m in re.finditer(r"[{};]", text):
        if m[0] == "{":
            start = start if depth else m.start()
            depth += 1
        elif m[0] == "}" and depth:
            depth -= 1
        if depth == 0:
            before = text[head:start].rstrip()
            name = m[0] == "}" and source.function_name(before)
            if name:
                yield name, re.search(r"^static\b", before, re.M) is not None, start, m.end()
            head = m.end()


def makers(files):
    """The functions that make something: (path, or None for those that all files see; name)."""
    calls, users = {}, {}
    for path, text in files.items():
        found = list(definitions(text))
        local = {name for name, static, _, _ in found if static and path.endswith(".c")}
        for name, _, start, end in found:
            own = (path if name in local else None, name)
            for callee in set(CALL.findall(text, start, end)):
                users.setdefault((path if callee in local else None, callee), set()).add(own)
    todo = [(None, name) for name in MAKERS]
    known = set(todo)
    while todo:
        more = users.get(todo.pop(), set()) - known
        known |= more
        todo += more
    return known


def arguments(text, at):
    """The arguments, as (from, to), of the call whose parenthesis opens at this position."""
    depth, start = 0, at + 1
    for m in MARK.finditer(text, at):
        if m[0] in "([{":
            depth += 1
        elif m[0] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and m[0] == ","):
            yield start, m.start()
            start = m.end()
        if depth == 0:
            return


def faults(files):
    """(path, line, callee) of the calls of `files` (path -> stripped text) that leave an order open."""
    known = makers(files)
    for path, text in files.items():
        def makes(start, end):
            return any((path, n) in known or (None, n) in known for n in CALL.findall(text, start, end))
        for _, _, start, end in definitions(text):
            for m in CALL.finditer(text, start, end):
                if m[1] not in ("if", "for", "while", "switch") and \
                        sum(makes(*a) for a in arguments(text, m.end() - 1)) > 1:
                    yield path, text.count("\n", 0, m.start()) + 1, m[1]

"""Patterns of random Relay programs: what they say, what they match, and which sets of them leave a value out.

A pattern is None (`_`), ("name", name), ("con", constructor, patterns) or ("tuple", patterns).
"""
from relay_value import filled


def constructors(types, t):
    """{name: types of the fields} of a data type or a tuple; None: values of t cannot be told apart."""
    if t[0] == "tuple":
        return {"": t[1]}
    if t[0] != "data":
        return None
    names, cons = types[t[1]]
    by_name = dict(zip(names, t[2]))
    return {name: tuple(filled(f, by_name) for f in fields) for name, fields in cons}


def text(p):
    if p is None:
        return "_"
    if p[0] == "name":
        return p[1]
    inner = ", ".join(map(text, p[-1]))
    return f"({inner})" if p[0] == "tuple" else p[1] + (f"({inner})" if p[2] else "")


def bind(p, value, env):
    """Whether the pattern matches; its names are put into env."""
    if p is None:
        return True
    if p[0] == "name":
        env[p[1]] = value
        return True
    if p[0] == "con":
        if value.name != p[1]:
            return False
        value = value.fields
    return all([bind(q, v, env) for q, v in zip(p[-1], value)])


def head(p):
    """The constructor that a pattern asks for; None: any."""
    return None if p is None or p[0] == "name" else p[1] if p[0] == "con" else ""


def narrowed(rows, con, n):
    """The rest of the rows for values of this constructor with n fields."""
    return [(list(r[0][-1]) if head(r[0]) is not None else [None] * n) + r[1:] for r in rows if head(r[0]) in (None, con)]


def useful(known, rows, row, types):
    """Whether `row` matches values that none of the rows matches: their columns have these types."""
    if not types:
        return not rows
    first, rest = types[0], list(types[1:])
    cons = constructors(known, first)
    want = head(row[0])
    if want is not None:
        cons = {want: cons[want]}
    asked = {head(r[0]) for r in rows} - {None}
    if want is None and (cons is None or any(c not in asked for c in cons)):
        return useful(known, [r[1:] for r in rows if head(r[0]) is None], row[1:], rest)
    return any(useful(known, narrowed(rows, c, len(f)), narrowed([row], c, len(f))[0], list(f) + rest)
               for c, f in cons.items())


def random_pattern(program, t, depth):
    """A pattern for values of t, and the (name, type) that it binds."""
    r = program.r
    cons = constructors(program.types, t)
    if cons is None or depth == 0 or r.chance(0.3):
        if r.chance(0.4):
            return None, []
        name = program.name()
        return ("name", name), [(name, t)]
    con = r.pick(sorted(cons))
    inner = [random_pattern(program, f, depth - 1) for f in cons[con]]
    patterns, names = tuple(p for p, _ in inner), [n for _, ns in inner for n in ns]
    return (("con", con, patterns) if con else ("tuple", patterns)), names


def plain(program, t):
    """A clause for each constructor: (pattern, names)"""
    clauses = []
    for con, fields in constructors(program.types, t).items():
        names = [(program.name(), f) for f in fields]
        inner = tuple(("name", n) for n, _ in names)
        clauses.append((("con", con, inner) if con else ("tuple", inner), names))
    return clauses

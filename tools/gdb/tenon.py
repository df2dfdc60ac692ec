"""gdb: Tenon's expressions, types, statements, functions, nodes and graphs as text.

    (gdb) source tools/gdb/tenon.py
    (gdb) print e                     (const tn_expr *) 0x5555557a3c10 v0*8 + v1
    (gdb) tenon e, f                  the same with the names of function f
    (gdb) tenon f                     a tn_func, tn_stmt, tn_graph, tn_region, tn_node or tn_type, all of it

Texts are made from the memory of the process, or of its core file; nothing is called in it. They are the program's own
(docs/tir.md, docs/relay.md) but for four things: a TIR function is printed as it is, not as the copy with fresh numbers, so
names may repeat; shared operands are printed each time; a node has its id instead of a line number; constants have their
names instead of their data.
"""
import re
import struct

import gdb

MOST = 200000       # characters of one text
BRIEF = 160         # of a value that `print` shows


class Full(Exception):
    """The text has reached its greatest length."""


class Out:
    """A text that grows, at most to `most` characters."""

    def __init__(self, most):
        self.part, self.left, self.column = [], most, 0

    def __call__(self, text):
        self.part.append(text[:self.left])
        self.left -= len(text)
        self.column = len(text) if "\n" in text else self.column + len(text)
        if self.left < 0:
            self.part.append("...")
            raise Full

    def line(self, indent):
        self("\n")
        self.column = 0
        self("  " * indent)


def text_of(write, *args, most=MOST):
    out = Out(most)
    try:
        write(out, *args)
    except Full:
        pass
    except (gdb.error, RecursionError) as e:
        out.part.append(f" <{e}>")
    return "".join(out.part)


# ---- names of C: enumerators, strings, lists ----

_enum = {}


def enumerator(enum, value, prefix):
    """The enumerator without its prefix, in lower case: TN_E_ADD is add."""
    if enum not in _enum:
        _enum[enum] = {int(f.enumval): f.name for f in gdb.lookup_type("enum " + enum).fields()}
    return _enum[enum].get(int(value), f"{enum} {int(value)}").removeprefix(prefix).lower()


def string(value):
    return value.string(errors="replace") if int(value) else ""


def quoted(text):
    special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(special.get(c) or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c) for c in text) + '"'


def chain(first):
    """A list by `next`."""
    while int(first):
        yield first
        first = first["next"]


def joined(out, items, write, between=", "):
    for i, item in enumerate(items):
        out(between if i else "")
        write(out, item)


def same_string(op, name):
    return string(op["name"]) == name


# ---- dtypes and constants ----

DTYPE = {0: ("int", "i", 0), 1: ("uint", "u", 0), 2: ("float", "f", 0), 3: ("handle", "handle", 64),
         4: ("bfloat", "bf", 0), 6: ("bool", "bool", 8), 32: ("index", "index", 64)}
BOOL, INDEX, UINT = 6, 32, 1


def dtype(t, short):
    code, bits, lanes = int(t["code"]), int(t["bits"]), int(t["lanes"])
    long_name, short_name, fixed = DTYPE.get(code, ("?", "?", 0))
    return (short_name if short else long_name) + (str(bits) if bits != fixed else "") + (f"x{lanes}" if lanes != 1 else "")


def single(v):
    try:
        return struct.unpack("f", struct.pack("f", v))[0]
    except OverflowError:
        return float("inf")


def real(v, is_single):
    """The shortest decimal text that reads back to the same number."""
    last = 9 if is_single else 17
    for digits in range(1 if abs(v) < (1.2e-38 if is_single else 2.3e-308) else last - (3 if is_single else 2), last + 1):
        text = "%.*g" % (digits, v)
        if (single(float(text)) if is_single else float(text)) == v:
            break
    return text


def constant(e):
    kind, t = enumerator("tn_ek", e["kind"], "TN_E_"), e["dtype"]
    if kind == "int":
        v = int(e["u"]["i"])
        if int(t["code"]) == BOOL:
            return "true" if v else "false"
        hexadecimal = v == -2**63 or (int(t["code"]) == UINT and v < 0)
        return (hex(v % 2**64) if hexadecimal else str(v)) + ("" if int(t["code"]) == INDEX else dtype(t, True))
    v = float(e["u"]["f"])
    if v != v or v in (float("inf"), float("-inf")):
        return dtype(t, True) + ("(nan)" if v != v else "(inf)" if v > 0 else "(-inf)")
    return real(v, int(t["bits"]) < 64) + ("f" if dtype(t, True) == "f32" else dtype(t, True))


# ---- expressions: the grammar of ir/print.c ----

ANY, OR, AND, COMPARE, ADD, MUL = range(6)
INFIX = {"or": (" or ", OR), "and": (" and ", AND), "eq": (" == ", COMPARE), "ne": (" != ", COMPARE),
         "lt": (" < ", COMPARE), "le": (" <= ", COMPARE), "add": (" + ", ADD), "sub": (" - ", ADD),
         "mul": ("*", MUL), "div": ("/", MUL), "floordiv": ("/", MUL), "floormod": ("%", MUL)}


class Names:
    """Of variables and buffers: those of a function, else v3 and b1."""

    def __init__(self, func=None):
        self.func = func

    def var(self, number):
        if self.func is None:
            return f"v{number}"
        return string(self.func["var"][number]["name"]) if number < int(self.func["n_var"]) else "undefined"

    def buffer(self, number):
        if self.func is None:
            return f"b{number}"
        return string(self.func["buffer"][number]["name"]) if number < int(self.func["n_buffer"]) else "undefined"


def sources(e):
    return [e["src"][i] for i in range(int(e["nsrc"]))]


def integer(e):
    return int(e["u"]["i"]) if enumerator("tn_ek", e["kind"], "TN_E_") == "int" else None


def ceildiv(e):
    """a of floordiv(a + (b-1), b)."""
    a, b = sources(e)
    if enumerator("tn_ek", a["kind"], "TN_E_") != "add":
        return None
    by, more = integer(b), integer(a["src"][1])
    return a["src"][0] if by and more and by > 1 and more == by - 1 else None


def lane_runs(lanes):
    """Lanes in a row as from:count, evenly spaced ones as from:count:step."""
    i = 0
    while i < len(lanes):
        step, count = lanes[i + 1] - lanes[i] if i + 1 < len(lanes) else -1, 1
        while step >= 0 and i + count < len(lanes) and lanes[i + count] - lanes[i + count - 1] == step:
            count += 1
        count = count if count > 2 or count == len(lanes) else 1
        yield f", {lanes[i]}" + (f":{count}" if count > 1 else "") + (f":{step}" if count > 1 and step != 1 else "")
        i += count


def write_load(out, e, names):
    n, src, lanes = int(e["u"]["load"]["n_index"]), sources(e), int(e["dtype"]["lanes"])
    out("(" if len(src) > n else "")
    out(names.buffer(int(e["u"]["load"]["buffer"])) + "[")
    write_exprs(out, src[:n], names)
    if lanes > 1 and (n == 0 or int(src[0]["dtype"]["lanes"]) == 1):
        out((" : " if n else ": ") + str(lanes))
    out("]")
    if len(src) > n:
        out(" mask ")
        write_expr(out, src[n], names)
        out(" else ")
        write_expr(out, src[n + 1], names)
        out(")")


def write_call(out, e, name, names):
    """name(operands, what the kind adds)"""
    kind = enumerator("tn_ek", e["kind"], "TN_E_")
    lanes = int(e["dtype"]["lanes"])
    out(name + (dtype(e["dtype"], True) + ", " if kind == "bitcast" else ""))
    write_exprs(out, sources(e), names)
    if kind in ("ramp", "splat"):
        out(f", {lanes}")
    elif kind == "shuffle":
        at = e["u"]["lanes"]
        for text in lane_runs([int(at[i]) % 256 - 1 for i in range(lanes)]):
            out(text)
    out(")")


def write_primary(out, e, names):
    kind = enumerator("tn_ek", e["kind"], "TN_E_")
    if kind in ("int", "float"):
        out(constant(e))
    elif kind == "sym":
        out(string(e["u"]["s"]))
    elif kind == "var":
        out(names.var(int(e["u"]["i"])))
    elif kind == "load":
        write_load(out, e, names)
    elif kind == "call":
        write_call(out, e, enumerator("tn_intrin", e["u"]["call"]["id"], "TN_F_") + "(", names)
    elif kind == "cast":
        write_call(out, e, dtype(e["dtype"], True) + "(", names)
    else:
        write_call(out, e, kind + "(", names)


def write_expr(out, e, names, strength=ANY):
    if not int(e):
        out("NULL")
        return
    kind = enumerator("tn_ek", e["kind"], "TN_E_")
    if kind not in INFIX:
        write_primary(out, e, names)
        return
    sign, own = INFIX[kind]
    rounded_up = ceildiv(e) if kind == "floordiv" else None
    if rounded_up is not None:
        out("ceildiv(")
        write_exprs(out, [rounded_up, e["src"][1]], names)
        out(")")
        return
    if own == MUL and int(e["dtype"]["code"]) != INDEX:
        sign = f" {sign} "
    out("(" if own < strength else "")
    write_expr(out, e["src"][0], names, own + 1 if own == COMPARE else own)
    out(sign)
    write_expr(out, e["src"][1], names, own + 1)
    out(")" if own < strength else "")


def write_exprs(out, exprs, names):
    joined(out, exprs, lambda o, e: write_expr(o, e, names))


# ---- types ----

def write_type(out, t):
    if not int(t):
        out("?")
        return
    kind, n = enumerator("tn_type_kind", t["kind"], "TN_T_"), int(t["n"])
    if kind == "tensor":
        out(dtype(t["dtype"], False) if n == 0 else "Tensor[(")
        if n:
            write_exprs(out, [t["dim"][i] for i in range(n)], Names())
            out("), " + dtype(t["dtype"], False) + (", " + string(t["layout"]["text"]) if int(t["layout"]) else "") + "]")
        return
    if kind in ("any", "none", "param"):
        out(f"Tensor[?, {dtype(t['dtype'], False)}]" if kind == "any" else "_" if kind == "none" else chr(65 + int(t["index"]) % 26))
        return
    fields = [t["field"][i] for i in range(n)]
    last = [fields.pop()] if kind == "func" else []
    head, tail = {"tuple": ("(", ",)" if n == 1 else ")"), "func": ("fn (", ")"), "ref": ("ref(", ")"), "seq": ("Seq[", "]"),
                  "optional": ("Optional[", "]"), "map": ("Map[", "]")}.get(kind) or (
                      (string(t["data"]["name"]) + "[", "]") if n else (string(t["data"]["name"]), ""))
    out(head)
    joined(out, fields, write_type)
    out(tail)
    for result in last:
        out(" -> ")
        write_type(out, result)


# ---- statements and functions: the grammar of tir/print.c, without its aliases ----

LAYOUT_LIKE = re.compile("[A-Z]+([0-9]+[a-z][A-Z]*)+")
WIDTH = 90      # columns after which a chain of loops goes on in the next line


class Tir:
    def __init__(self, out, names):
        self.out, self.names = out, names

    def expr(self, e):
        write_expr(self.out, e, self.names)

    def dim(self, b, d):
        """A symbol at the end that looks like a layout stands in parentheses."""
        text = text_of(write_expr, b["dim"][d], self.names)
        last = d + 1 == int(b["ndim"]) and not int(b["layout"])
        self.out(f"({text})" if last and LAYOUT_LIKE.fullmatch(text) else text)

    def buffer(self, number):
        func = self.names.func
        if func is None or number >= int(func["n_buffer"]):
            self.out(self.names.buffer(number))
            return
        b = func["buffer"][number]
        self.out(f"{string(b['name'])}: {dtype(b['dtype'], True)}[")
        joined(self.out, range(int(b["ndim"])), lambda _, d: self.dim(b, d))
        if int(b["layout"]):
            self.out((", " if int(b["ndim"]) else "") + string(b["layout"]["text"]))
        self.out("]" + (f" slack {int(b['slack'])}" if int(b["slack"]) else ""))

    def decl(self, number):
        self.out("buffer ")
        self.buffer(number)
        func = self.names.func
        if func is None or number >= int(func["n_buffer"]):
            return
        b = func["buffer"][number]
        scope = enumerator("tn_scope", b["scope"], "TN_SCOPE_")
        self.out(f" in {scope}" if scope != "global" else "")
        if int(b["work_offset"]):
            self.out(" at ")
            self.expr(b["work_offset"])
        elif int(b["scratch_offset"]):
            self.out(f" at {int(b['scratch_offset'])}")

    def access(self, at, lanes):
        index = [at["index"][i] for i in range(int(at["n_index"]))]
        self.out(self.names.buffer(int(at["buffer"])) + "[")
        write_exprs(self.out, index, self.names)
        if lanes > 1 and all(int(i["dtype"]["lanes"]) == 1 for i in index):
            self.out((" : " if index else ": ") + str(lanes))
        self.out("]")

    def mask(self, e):
        if int(e):
            self.out(" mask ")
            self.expr(e)

    def store(self, s):
        value = s["u"]["store"]["value"]
        self.access(s["u"]["store"], int(value["dtype"]["lanes"]))
        self.out(" = ")
        self.expr(value)
        self.mask(s["u"]["store"]["mask"])

    def iteration(self, s, it):
        name, value, loop = self.names.var(int(it["var"]["u"]["i"])), it["value"], None
        is_var = enumerator("tn_ek", value["kind"], "TN_E_") == "var"
        p = s["list"]["owner"] if int(s["list"]) else s["list"]
        while is_var and loop is None and int(p):
            if kind_of(p) == "for" and int(p["u"]["loop"]["var"]) == int(value):
                loop = p
            p = p["list"]["owner"] if int(p["list"]) else p["list"]
        self.out(name)
        if loop is None or int(loop["u"]["loop"]["extent"]) != int(it["extent"]):
            self.out(" < ")
            self.expr(it["extent"])
        self.out(": " + enumerator("tn_iter_kind", it["kind"], "TN_ITER_"))
        if not is_var or self.names.var(int(value["u"]["i"])) != name:
            self.out(" = ")
            self.expr(value)

    def block(self, s, indent):
        b = s["u"]["block"]
        self.out(f"block {string(b['name'])}(")
        joined(self.out, [b["iter"][i] for i in range(int(b["n_iter"]))], lambda _, it: self.iteration(s, it))
        self.out(")")
        self.mask(b["mask"])
        for word in ("tag", "source"):
            self.out(f" {word} {quoted(string(b[word]))}" if string(b[word]) else "")
        self.out(":")
        first = b["init"]["first"]
        if int(first):
            self.out.line(indent + 1)
            if kind_of(first) == "store" and not int(first["next"]):
                self.out("init ")
                self.store(first)
            else:
                self.out("init:")
                self.body(b["init"], indent + 2)
        if int(b["body"]["first"]) or not int(first):
            self.body(b["body"], indent + 1)

    def loops(self, s, indent):
        """A loop and those that are alone in it: one line as long as they fit."""
        kind = None
        while True:
            loop = s["u"]["loop"]
            word = enumerator("tn_loop_kind", loop["kind"], "TN_LOOP_")
            if word != kind:
                self.out("for " if word == "serial" else word + " for ")
            kind = word
            self.expr(loop["var"])
            if int(loop["var"]["dtype"]["code"]) != INDEX:
                self.out(": " + dtype(loop["var"]["dtype"], True))
            self.out(" < ")
            self.expr(loop["extent"])
            inner = loop["body"]["first"]
            if not int(inner) or int(inner["next"]) or kind_of(inner) != "for":
                self.out(":")
                self.body(loop["body"], indent + 1)
                return
            if self.out.column > WIDTH:
                self.out(":")
                indent, kind = indent + 1, None
                self.out.line(indent)
            else:
                self.out(", " if int(inner["u"]["loop"]["kind"]) == int(loop["kind"]) else ": ")
            s = inner

    def branch(self, s, indent):
        self.out("if ")
        self.expr(s["u"]["cond"]["cond"])
        self.out(":")
        self.body(s["u"]["cond"]["then"], indent + 1)
        if int(s["u"]["cond"]["other"]["first"]):
            self.out.line(indent)
            self.out("else:")
            self.body(s["u"]["cond"]["other"], indent + 1)

    def stmt(self, s, indent):
        kind = kind_of(s)
        if kind in ("for", "block", "if"):
            {"for": self.loops, "block": self.block, "if": self.branch}[kind](s, indent)
        elif kind == "store":
            self.store(s)
        elif kind == "let":
            var = s["u"]["let"]["var"]
            self.out("let ")
            self.expr(var)
            self.out(f": {dtype(var['dtype'], True)} = ")
            self.expr(s["u"]["let"]["value"])
        elif kind == "buffer":
            self.decl(int(s["u"]["decl"]["buffer"]))
        elif kind == "check":
            self.out("check ")
            self.expr(s["u"]["check"]["cond"])
            self.out(" " + quoted(string(s["u"]["check"]["text"])))
        elif kind == "prefetch":
            self.out("prefetch ")
            self.access(s["u"]["prefetch"], 1)
        else:
            self.out(kind)

    def body(self, body, indent):
        if not int(body["first"]):
            self.out.line(indent)
            self.out("pass")
        for s in chain(body["first"]):
            self.out.line(indent)
            self.stmt(s, indent)


def kind_of(s):
    return enumerator("tn_sk", s["kind"], "TN_S_")


def write_stmt(out, s, names):
    Tir(out, names).stmt(s, 0)


def func_head(out, f):
    tir = Tir(out, Names(f))
    flat = enumerator("tn_stage", f["stage"], "TN_STAGE_") == "flat"
    out(("phase @" if flat else "func @") + string(f["name"]))
    numbers = [int(f["param"][i]) for i in range(int(f["n_param"]))]
    for written, lead in ((False, "("), (True, " -> (")):
        some = [n for n in numbers if bool(f["buffer"][n]["written"]) == written]
        out(lead if some else "" if written else "()")
        joined(out, some, lambda _, n: tir.buffer(n))
        out(")" if some else "")
    out(" strict" if bool(f["strict"]) else "")
    out(" source " + quoted(string(f["source"])) if string(f["source"]) else "")
    return tir


def symbols_of(e):
    if enumerator("tn_ek", e["kind"], "TN_E_") == "sym":
        yield string(e["u"]["s"])
    for src in sources(e):
        yield from symbols_of(src)


def signature_symbols(f):
    """Symbols in order of appearance: inputs, then outputs."""
    buffers = [f["buffer"][int(f["param"][i])] for i in range(int(f["n_param"]))]
    buffers.sort(key=lambda b: bool(b["written"]))
    return list(dict.fromkeys(s for b in buffers for d in range(int(b["ndim"])) for s in symbols_of(b["dim"][d])))


def write_func(out, f):
    tir = func_head(out, f)
    out(" {")
    symbols = [f["symbol"][i] for i in range(int(f["n_symbol"]))]
    ranges = {string(s["name"]): (int(s["min"]), int(s["max"])) for s in symbols}
    default = (1, 2**31 - 1)
    if list(ranges) != signature_symbols(f) or any(r != default for r in ranges.values()):
        out.line(1)
        out("symbols ")
        joined(out, ranges.items(), lambda o, s: o(s[0] + ("" if s[1] == default else f" in [{s[1][0]}, {s[1][1]}]")))
    if int(f["body"]["first"]):
        tir.body(f["body"], 1)
    out("\n}\n")


# ---- nodes and graphs: near to docs/relay.md, with ids ----

def value_text(def_, out_number):
    if not int(def_):
        return "None"
    if same_string(def_["op"], "constant"):
        name = string(def_["name"])
        return f"const:{name}" if name else f"const:{int(def_['id'])}"
    if same_string(def_["op"], "var"):
        return "%" + (string(def_["name"]) or str(int(def_["id"])))
    return f"%{int(def_['id'])}" + (f".{int(out_number)}" if int(def_["nout"]) != 1 else "")


def attribute(kind, at):
    """The text of one attribute, as ir/attr.c prints it."""
    def cast(name):
        return at.cast(gdb.lookup_type(name).pointer()).dereference()

    def listed(name, item):
        v = cast(name)
        return "[" + ", ".join(item(v["at"][i]) for i in range(int(v["n"]))) + "]" if int(v["at"]) else "None"
    if kind == "i64":
        return str(int(cast("long")))
    if kind == "f64":
        return real(float(cast("double")), False)
    if kind == "bool":
        return str(int(bool(cast("_Bool"))))
    if kind == "str":
        s = at.cast(gdb.lookup_type("char").pointer().pointer()).dereference()
        return quoted(string(s)) if int(s) else "None"
    if kind == "dtype":
        t = cast("tn_dtype")
        return quoted(dtype(t, False)) if int(t["bits"]) else "None"
    if kind == "ints":
        return listed("tn_ints", lambda v: str(int(v)))
    if kind == "dims":
        return listed("tn_dims", lambda e: text_of(write_expr, e, Names()))
    return listed("tn_strs", lambda s: quoted(string(s)))


def attributes(n):
    field = n["op"]["attr"]
    while int(field) and int(n["attr"]) and int(field["name"]):
        at = n["attr"].cast(gdb.lookup_type("char").pointer()) + int(field["offset"])
        text = attribute(enumerator("tn_attr_kind", field["kind"], "TN_A_"), at)
        if text != string(field["def"]):
            yield f"{string(field['name'])}={text}"
        field += 1


def write_node(out, n, indent=0):
    op, uses = string(n["op"]["name"]), [n["in"][i] for i in range(int(n["nin"]))]
    out(f"%{int(n['id'])} = {op}(")
    out(", ".join([value_text(u["def"], u["out"]) for u in uses] + list(attributes(n))) + ")")
    types = [n["type"][k] for k in range(int(n["nout"]))] if int(n["type"]) else []
    if types:
        out(": ")
        joined(out, types, write_type)
    source = string(n["loc"]["node"]) if int(n["loc"]) else ""
    out(f" /* {source} */" if source else "")
    for i in range(int(n["nregion"])):
        out(" {")
        write_region(out, n["region"][i], indent + 1)
        out.line(indent)
        out("}")


def write_region(out, r, indent):
    parameters = [r["param"][i] for i in range(int(r["n_param"]))]
    if parameters and indent > 1:
        out.line(indent)
        joined(out, parameters, write_param)
        out(" ->")
    for n in chain(r["first"]):
        if not same_string(n["op"], "var") and not same_string(n["op"], "constant"):
            out.line(indent)
            write_node(out, n, indent)
            out(";")
    out.line(indent)
    out(", ".join(value_text(r["result"][i]["def"], r["result"][i]["out"]) for i in range(int(r["n_result"]))))


def write_param(out, p):
    out(value_text(p, 0))
    if int(p["type"]):
        out(": ")
        write_type(out, p["type"][0])


def write_graph(out, g):
    for f in chain(g["func"]):
        r = f["body"]
        out(f"def @{string(f['name'])}(")
        joined(out, [r["param"][i] for i in range(int(r["n_param"]))], write_param)
        out(") {")
        write_region(out, r, 1)
        out("\n}\n")


def write_graph_head(out, g):
    out(", ".join(f"@{string(f['name'])}" for f in chain(g["func"])) + f"; {int(g['n_node'])} nodes made")


# ---- what gdb calls ----

def write_brief_stmt(out, s):
    """Its first line, with the numbers of variables and buffers."""
    full = text_of(write_stmt, s, Names(), most=BRIEF).split("\n")
    out(full[0] + (" ..." if len(full) > 1 else ""))


# type: how `print` shows a pointer to it, how `tenon` shows it
WRITERS = {
    "tn_expr": (lambda out, e: write_expr(out, e, Names()), lambda out, e, names: write_expr(out, e, names)),
    "tn_type": (write_type, lambda out, t, names: write_type(out, t)),
    "tn_stmt": (write_brief_stmt, write_stmt),
    "tn_func": (func_head, lambda out, f, names: write_func(out, f)),
    "tn_node": (write_node, lambda out, n, names: write_node(out, n)),
    "tn_region": (lambda out, r: out(f"{int(r['n_param'])} parameters, {int(r['n_result'])} results"),
                  lambda out, r, names: write_region(out, r, 0)),
    "tn_graph": (write_graph_head, lambda out, g, names: write_graph(out, g)),
}


class Pointer:
    """Shows (const tn_expr *) 0x5555557a3c10 v0*8 + v1."""

    def __init__(self, value, write):
        self.value, self.write = value, write

    def to_string(self):
        kind = self.value.type.strip_typedefs().target().unqualified()
        name = str(kind).removeprefix("struct ")
        if not int(self.value):
            return "NULL"
        return f"({name} *) {int(self.value):#x} " + text_of(self.write, self.value, most=BRIEF).replace("\n", " ")


class Plain:
    def __init__(self, text):
        self.text = text

    def to_string(self):
        return self.text


def struct_name(t):
    return (t.unqualified().strip_typedefs().tag or "").removeprefix("struct ")


def find_printer(value):
    t = value.type.strip_typedefs()
    if t.code == gdb.TYPE_CODE_PTR:
        name = struct_name(t.target())
        return Pointer(value, WRITERS[name][0]) if name in WRITERS else None
    if t.code != gdb.TYPE_CODE_STRUCT:
        return None
    name = struct_name(t)
    if name == "tn_dtype":
        return Plain(dtype(value, True))
    if name == "tn_value":
        return Plain(value_text(value["def"], value["out"]))
    if name == "tn_buf":
        return Plain(quoted(value["at"].string(length=int(value["n"]), errors="replace") if int(value["at"]) else ""))
    return None


class Tenon(gdb.Command):
    """tenon VALUE [, FUNCTION]: the whole text of an expression, type, statement, function, node, region or graph (or
    a pointer to one). FUNCTION, a tn_func pointer, gives variables and buffers their names."""

    def __init__(self):
        super().__init__("tenon", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        what, _, of = argument.partition(",")
        value = gdb.parse_and_eval(what)
        if value.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
            value = value.address
        name = struct_name(value.type.strip_typedefs().target()) if value is not None else ""
        if name not in WRITERS:
            raise gdb.GdbError("tenon: not one of " + ", ".join(WRITERS))
        names = Names(gdb.parse_and_eval(of) if of.strip() else None)
        print(text_of(WRITERS[name][1], value, names).rstrip("\n"))


gdb.pretty_printers.append(find_printer)
Tenon()

"""What tools/layers and tools/lint know of C text: which files there are, comments and literals, functions."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files(folders, suffixes):
    """Paths relative to the root (which must be the working directory), sorted."""
    for folder in folders:
        for at, inner, names in os.walk(folder):
            inner.sort()
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.join(at, name)


TOKEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def strip(text):
    """The text with comments and the insides of literals blanked, lines kept."""
    def blank(m):
        s = m[0]
        lines = "\n" * s.count("\n")
        return lines or " " if s.startswith("/") else s[0] + s[0]
    return TOKEN.sub(blank, text)


DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)


def code(text):
    """The stripped text with its directives blanked too."""
    return DIRECTIVE.sub(lambda m: "\n" * m[0].count("\n"), strip(text))


LABEL = re.compile(r"([A-Za-z_]\w*)\s*\(")


def functions(text):
    """(name, line of the opening brace, lines from that brace to the closing one) of each function body."""
    text = code(text)
    depth = opened = head = 0
    name = None
    line = 1
    for i, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c == "{":
            before = text[head:i].rstrip()
            if depth == 0 and before.endswith('extern ""'):
                head = i + 1
                continue
            if depth == 0:
                name = function_name(before)
                opened = line
            depth += 1
        elif c == "}" and depth:
            depth -= 1
            if depth == 0:
                if name:
                    yield name, opened, line - opened + 1
                    head = i + 1
        elif c == ";" and depth == 0:
            head = i + 1


def function_name(before):
    """The function that a `{` after this text opens; None if it opens a struct, an enum or an initialiser."""
    if "=" in re.sub(r"\([^()]*\)", "", before) or not before.endswith(")"):
        return None
    m = LABEL.search(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", before, flags=re.S))
    return m[1] if m else None

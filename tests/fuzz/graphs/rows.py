"""The table of operators: a row makes one node (or a few), or raises Cannot. Families are rows of data."""
ROWS = []


class Row:
    def __init__(self, name, make, since, until, weight):
        self.name, self.make, self.since, self.until, self.weight = name, make, since, until, weight


def row(name, since=1, until=99, weight=1.0):
    """Decorates make(g), which adds the operator to graph g."""
    def register(make):
        ROWS.append(Row(name, make, since, until, weight))
        return make
    return register


def family(names, make, since=1, weight=1.0):
    """make(g, name) for each name"""
    for name in names:
        ROWS.append(Row(name, lambda g, name=name: make(g, name), since, 99, weight))

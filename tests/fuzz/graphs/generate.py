"""A random graph for each seed: always the same one."""
import control      # noqa: F401  the table of operators
import ops_element  # noqa: F401
import ops_ml       # noqa: F401
import ops_more     # noqa: F401
import ops_move     # noqa: F401
import ops_ms       # noqa: F401
import ops_nn       # noqa: F401
import ops_rank     # noqa: F401
import ops_reduce   # noqa: F401
import ops_text     # noqa: F401
from graph import Cannot, Graph, printed


class Case:
    """A model, its inputs for each binding of its symbols, and how its outputs are compared."""

    def __init__(self, seed, model, feeds, outputs, g):
        self.seed, self.model, self.feeds = seed, model, feeds
        self.kinds = [v.kind for v in outputs]  # of each output: "exact", "rounded" or "loose"
        self.units = [2.0 ** -v.digits for v in outputs]  # what their roundings are in the order of, relatively
        self.rounded = g.rounded  # {name: dtype} of values that are not exact
        self.floats = g.floats    # names of all values that are floats
        self.values = g.values    # {name: Value}
        self.used = g.used        # how often each operator occurs

    is_onnx = True

    def data(self):
        return self.model.SerializeToString()

    def __str__(self):
        return printed(self.model)


def generate(seed, ranks=False):
    """ranks: with values whose rank only the run knows."""
    for again in range(60):
        g = Graph(seed * 60 + again, ranks)
        for _ in range(g.r.pick([1, 2, 3, 4, 5, 6] if ranks else [1, 2, 3, 4, 5, 6, 7, 8, 10, 12])):
            g.step()
        try:
            model, feeds, outputs = g.model()
        except Cannot:
            continue
        if ranks and not any(v.varied for v in g.values.values()):
            continue
        return Case(seed, model, feeds, outputs, g)
    raise RuntimeError(f"seed {seed} gives no graph")

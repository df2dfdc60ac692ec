"""What Module.profile returns: where the time of a run goes."""
from __future__ import annotations

import html
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple

NODES = 60  # characters of a list of nodes in a terminal


class ProfileRow(NamedTuple):
    """One instruction of the program: the model's nodes that it computes, its kernel, the median time of the runs, and the
    arithmetic of one run (a multiply-add counts 2; 0 where it is not known)."""

    nodes: str
    kernel: str
    nanoseconds: int
    operations: int

    @property
    def speed(self) -> float:
        """10^9 operations a second."""
        return self.operations / self.nanoseconds if self.nanoseconds else 0.0


class Profile(Sequence[ProfileRow]):
    """Rows in the program's order. In a terminal, print() shows a table, the longest first; in a notebook it shows itself,
    with the picture of the fused graph where the module was compiled and not loaded."""

    def __init__(self, rows: Iterable[ProfileRow], runs: int, picture: Optional[str] = None):
        self.rows: Tuple[ProfileRow, ...] = tuple(rows)
        self.runs = runs
        self.picture = picture

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        return self.rows[i]

    @property
    def nanoseconds(self) -> int:
        """The sum of all rows."""
        return sum(r.nanoseconds for r in self.rows)

    def table(self) -> List[Tuple[str, str, str, str, str]]:
        """Kernel, microseconds, percent, 10^9 operations/s and nodes as text, the longest time first."""
        total = self.nanoseconds or 1
        return [(r.kernel, f"{r.nanoseconds / 1e3:,.2f}", f"{100 * r.nanoseconds / total:.2f}",
                 f"{r.speed:.1f}" if r.operations else "-", r.nodes)
                for r in sorted(self.rows, key=lambda r: -r.nanoseconds)]

    HEAD = ("Kernel", "Duration (us)", "Percent", "Gop/s", "Nodes")

    def __str__(self) -> str:
        rows = [self.HEAD] + self.table() + [("Sum", f"{self.nanoseconds / 1e3:,.2f}", "100.00", "", f"median of {self.runs} runs")]
        rows = [r[:4] + ((r[4] if len(r[4]) <= NODES else r[4][:NODES - 3] + "..."),) for r in rows]
        width = [max(len(r[c]) for r in rows) for c in range(4)]
        lines = ["  ".join([r[0].ljust(width[0])] + [r[c].rjust(width[c]) for c in (1, 2, 3)] + [r[4]]).rstrip() for r in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:{}'>{}</td>".format
        body = ""
        for kernel, time, percent, speed, nodes in self.table():
            bar = f"<div style='background:#4c8bf5;height:0.7em;width:{float(percent):.1f}px'></div>"
            body += ("<tr>" + cell("left", html.escape(kernel)) + cell("right", time) + cell("right", percent) +
                     cell("left", bar) + cell("right", speed) + cell("left", html.escape(nodes)) + "</tr>")
        head = "".join(f"<th>{h}</th>" for h in self.HEAD[:3] + ("",) + self.HEAD[3:])
        picture = f"<div style='overflow:auto;max-height:40em'>{self.picture}</div>" if self.picture else ""
        return (f"<p>{self.nanoseconds / 1e3:,.2f} us, median of {self.runs} runs</p>"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{picture}")


def merge(runs: Sequence[Sequence[Tuple[str, str, int, str, int, int]]], picture: Optional[str]) -> Profile:
    """Medians over runs of the same program; what a run did several times (a loop's body) counts as their sum."""
    sums: List[dict] = []
    for events in runs:
        one: dict = {}
        for node, kernel, index, function, nanoseconds, operations in events:
            key = (function, index, node, kernel)
            was = one.get(key, (0, 0))
            one[key] = (was[0] + nanoseconds, was[1] + operations)
        sums.append(one)
    rows = []
    for key in dict.fromkeys(k for one in sums for k in one):
        times = sorted(one.get(key, (0, 0))[0] for one in sums)
        rows.append(ProfileRow(key[2], key[3], times[len(times) // 2], max(one.get(key, (0, 0))[1] for one in sums)))
    return Profile(rows, len(runs), picture)

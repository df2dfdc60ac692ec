#!/usr/bin/env python3
"""What the page of a search shows.

    tune_page.py PAGE LOG             it is well-formed, stands alone, and shows each trial of LOG, which tune said, that has a
                                      time over both axes of its task
    tune_page.py --look PAGE COPY     COPY is the page and a script that writes into it how a browser lays it out
    tune_page.py --seen DOM PAGE ROWS that copy, once its script has run: charts, in rows of so many, and tables are there
"""
import html.parser
import json
import re
import sys

VOID = {"meta", "circle", "path", "th"}  # what ends with its own tag, or may stay open
AXES = [("time of a call over trials", " trials"), ("time of a call over seconds", " s")]


class Page(html.parser.HTMLParser):
    """Elements by tag and class; the charts of each section, as the page draws them; the rows of its table."""

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.ids, self.links, self.charts, self.rows, self.section = [], {}, set(), [], {}, [], None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.count[tag, given.get("class")] = self.count.get((tag, given.get("class")), 0) + 1
        assert tag not in ("script", "link", "iframe", "img") and "src" not in given, f"it needs {tag} {given}"
        self.ids.add(given.get("id"))
        if "href" in given:
            self.links.append(given["href"])
        if tag == "section":
            self.section = given["id"]
        elif tag == "svg":
            self.charts.setdefault(self.section, []).append({"text": [], "dots": [], "title": ""})
        elif tag == "circle":
            self.charts[self.section][-1]["dots"].append((float(given["cx"]), float(given["cy"])))
        elif tag == "path":
            self.charts[self.section][-1][given["class"]] = given["d"]
        elif tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
            self.open.pop()

    def handle_data(self, data):
        at = self.open[-1] if self.open else None
        if at == "title" and "svg" in self.open:
            self.charts[self.section][-1]["title"] += data
        elif at == "text":
            self.charts[self.section][-1]["text"].append(data)
        elif at in ("td", "a") and self.rows:
            self.rows[-1][-1] += data


def seconds_of(text):
    value, unit = re.fullmatch(r"([\d.e+-]+) ?(µs|ms)", text).groups()
    return float(value) * {"µs": 1e-6, "ms": 1e-3}[unit]


def steps_of(d):
    """Corners of a line that goes right and up or down alone."""
    first, rest = re.fullmatch(r"M([\d.]+ [\d.]+)((?:[HV][\d.]+)*)", d).groups()
    at = [tuple(map(float, first.split()))]
    for way, to in re.findall(r"([HV])([\d.]+)", rest):
        at.append((float(to), at[-1][1]) if way == "H" else (at[-1][0], float(to)))
    return at


def check_chart(chart, axis, best):
    """Axes with numbers, and a line that goes right as far as the axis does, to the time in the table."""
    (left, top), (_, bottom), (right, _) = steps_of(chart["axis"])
    assert (chart["title"], len(chart["text"])) == (axis[0], 6), chart
    lows, highs = chart["text"][:2], chart["text"][4:]
    assert lows == ["0µs", "0"] or lows == ["0ms", "0"], lows
    assert highs[1].endswith(axis[1]) and float(highs[1][:-len(axis[1])]) > 0, highs
    line = steps_of(chart["best"])
    assert line[0][0] == left and line[-1][0] == right and all(a[0] <= b[0] for a, b in zip(line, line[1:])), line
    assert all(left <= x <= right and top <= y <= bottom for x, y in line + chart["dots"]), chart
    drawn = seconds_of(highs[0]) * (bottom - line[-1][1]) / (bottom - top)
    assert abs(drawn - best) <= 0.01 * best + seconds_of(highs[0]) / (bottom - top), (drawn, best)


def check(text, log):
    page = Page(text)
    trials, failed = re.search(r"^(\d+) trials \((\d+) without a time\)", log, re.M).groups()
    assert "http" not in text and "url(" not in text and "@import" not in text
    assert page.links and all(link[0] == "#" and link[1:] in page.ids for link in page.links), page.links
    total, = page.charts.pop(None)
    assert total["title"] == "time of all kernels" and total["text"][-1].endswith(" s"), total
    rows = {row[0]: row for row in page.rows if row}
    assert sorted(page.charts) == sorted("task" + row[0] for row in rows.values() if int(row[2])), rows
    for section, charts in page.charts.items():
        row = rows[section[len("task"):]]
        assert len(charts) == 2 and [y for _, y in charts[0]["dots"]] == [y for _, y in charts[1]["dots"]], charts
        assert charts[0]["text"][0::2][:2] + charts[0]["text"][4:5] == charts[1]["text"][0::2][:2] + charts[1]["text"][4:5]
        for chart, axis in zip(charts, AXES):
            check_chart(chart, axis, seconds_of(row[4]))
            assert "built" in chart, chart
        assert charts[0]["text"][-1] == f"{row[2]} trials" and charts[1]["text"][-1] == total["text"][-1]
    assert sum(len(charts[0]["dots"]) for charts in page.charts.values()) == int(trials) - int(failed), page.count


LOOK = """<script>
window.onload = () => {
    const box = e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
    const of = (e, what) => [...e.querySelectorAll(what)];
    const chart = s => ({box: box(s), line: s.querySelector(".best").getTotalLength(), best: box(s.querySelector(".best")),
        stroke: getComputedStyle(s.querySelector(".best")).stroke, text: of(s, "text").map(box), dots: of(s, "circle").map(box)});
    const seen = {wide: document.documentElement.clientWidth, charts: {}, links: [],
        rows: of(document, "tr").map(box), loaded: performance.getEntriesByType("resource").map(e => e.name)};
    for (const s of of(document, "section"))
        seen.charts[s.id] = of(s, "svg").map(chart);
    for (const a of of(document, "a")) {
        a.click();
        seen.links.push([location.hash, document.querySelector(":target").id, box(document.querySelector(":target"))[1]]);
    }
    document.body.dataset.seen = JSON.stringify(seen);
};
</script></body>"""


def inside(inner, outer):
    return outer[0] - 1 <= inner[0] <= inner[2] <= outer[2] + 1 and outer[1] - 1 <= inner[1] <= inner[3] <= outer[3] + 1


def check_seen(dom, page, in_row):
    seen = json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', dom)[1]))
    assert seen["loaded"] == [], seen["loaded"]
    assert len(seen["rows"]) == len(page.rows) and all(b[2] > b[0] and b[3] > b[1] for b in seen["rows"]), seen["rows"]
    assert [at[0] for at in seen["links"]] == page.links and all("#" + at[1] == at[0] for at in seen["links"])
    page.charts.pop(None)
    assert sorted(seen["charts"]) == sorted(page.charts)
    for section, charts in seen["charts"].items():
        a, b = (chart["box"] for chart in charts)
        assert (a[1] == b[1] and a[2] <= b[0]) if in_row == 2 else (a[0] == b[0] and a[3] <= b[1]), (a, b)
        assert a[2] - a[0] == b[2] - b[0] and b[2] <= seen["wide"] + 1, (a, b, seen["wide"])
        for chart, drawn in zip(charts, page.charts[section]):
            assert chart["box"][2] - chart["box"][0] > 300 and chart["box"][3] - chart["box"][1] > 80, chart["box"]
            assert chart["line"] >= 400 and chart["stroke"] == "rgb(9, 105, 218)", chart
            assert len(chart["dots"]) == len(drawn["dots"]) and len(chart["text"]) == len(drawn["text"]) == 6
            for part in [chart["best"], *chart["text"], *chart["dots"]]:
                assert inside(part, chart["box"]), (part, chart["box"])


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def main(args):
    if args[0] == "--look":
        with open(args[2], "w", encoding="utf-8") as f:
            f.write(read(args[1]).replace("</body>", LOOK))
    elif args[0] == "--seen":
        check_seen(read(args[1]), Page(read(args[2])), int(args[3]))
    else:
        check(read(args[0]), read(args[1]))


main(sys.argv[1:])

#!/usr/bin/env python3
"""tune_page.py PAGE TRIALS: the page of a search is well-formed, stands alone, and shows each trial."""
import html.parser
import sys

VOID = {"meta", "circle", "path", "th"}  # what ends with its own tag, or may stay open


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.count, self.ids, self.links = [], {}, set(), set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.count[tag, given.get("class")] = self.count.get((tag, given.get("class")), 0) + 1
        assert tag != "script" and "src" not in given, f"it needs {given}"
        self.ids.add(given.get("id"))
        if "href" in given:
            self.links.add(given["href"])
        if tag == "path":
            assert "nan" not in given["d"] and "inf" not in given["d"], given["d"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
            self.open.pop()


with open(sys.argv[1], encoding="utf-8") as f:
    page = Page()
    page.feed(f.read())
page.close()
assert not page.open, page.open
assert page.links and all(link[0] == "#" and link[1:] in page.ids for link in page.links), page.links
assert page.count["circle", "trial"] == int(sys.argv[2]), page.count
assert page.count["path", "best"] == 2 and page.count["path", "built"] == 1, page.count

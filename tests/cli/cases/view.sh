# view: the graph before and after fusion as one page.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 0 "" view "$digit" -o graph.html --profile
expect 0 "" compile "$digit" -o view.tar
expect 0 "" view "$digit" -o measured.html --package view.tar
expect 4 "--package $digit: this is no package" view "$digit" --package "$digit"
expect 2 "MODEL is missing" view
expect 0 '<!doctype html>' view "$models/two.relay" -o -
cat >page.py <<'END'
"""page.py FILE KERNELS: is the page well formed, does it need nothing else, and are kernels, nodes and times in it?"""
import html.parser
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
open_tags = []


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        assert not any(k in ("src", "href") for k, _ in attrs), attrs
        if tag not in ("meta", "input"):
            open_tags.append(tag)

    def handle_endtag(self, tag):
        assert open_tags and open_tags.pop() == tag, tag


page = Page()
page.feed(text)
assert not open_tags, open_tags
assert text.count('<div class="view"') == 2
assert text.count('class="n k"') == int(sys.argv[2]), text.count('class="n k"')
assert text.count("ReLU32") >= 4  # a node and its kernel's operator, in names and tips
assert "deviation" in text  # of weights
times = json.loads(re.search(r"const times=(\[.*?\])</script>", text, re.S)[1])
assert len(times) == int(sys.argv[2]) and all(t[2] > 0 for t in times), times
assert all('data-n="%s"' % t[0] in text for t in times)
END
must "the page of a model that was run" python3 page.py graph.html 5
must "a package of another model" tenon compile "$here/../../examples/models/super_resolution.onnx" -o other.tar
expect 4 "give a package of this model [driver-E196]" view "$digit" --package other.tar -o other.html
must "no page is written" test ! -e other.html
must "the page with the times of a package" python3 page.py measured.html 5
. "$here/browser.sh"
if has_browser view; then # scripts ran to their end: boxes of both charts, kernels
    must "a browser shows the page" browse graph.html 1280
    must "the page works there" grep -q 'data-ready="1[0-9] [0-9]* 5"' dom
fi

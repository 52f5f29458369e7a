"""Checks a built site: it loads nothing from other servers, and the search works without one.

Usage: check_site.py FOLDER
"""

import sys
from html.parser import HTMLParser
from pathlib import Path


# Stems of words that readers search for.
STEMS = ("destag", "scrub", "amplif", "iop", "bandwidth", "tlc", "qlc", "throughput", "latenc", "endur")


class Loads(HTMLParser):
    """What a page loads: scripts, style sheets, pictures, frames; not what it links to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        loaded = [values.get("src")]
        if tag == "link" and values.get("rel") not in ("canonical", "search", "next", "prev", "index", "genindex"):
            loaded.append(values.get("href"))
        self.found += [target for target in loaded if target]


def remote(target):
    """Whether a target is on another server."""
    return target.startswith(("http:", "https:", "//"))


def complaints(site):
    """What is wrong with a site."""
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        parser = Loads()
        parser.feed(page.read_text())
        for target in parser.found:
            name = page.relative_to(site)
            if remote(target):
                yield f"{name}: loads {target} from another server"
            elif not target.startswith("data:") and not (page.parent / target.split("?")[0].split("#")[0]).exists():
                yield f"{name}: loads {target}, which is not there"
    for sheet in sorted(site.rglob("*.css")):
        text = sheet.read_text().replace(" ", "")
        if any(mark in text for mark in ("url(http", "url(//", "url('http", 'url("http', '@import"http')):
            yield f"{sheet.relative_to(site)}: loads from another server"
    index = site / "searchindex.js"
    words = index.read_text() if index.exists() else ""
    if "Search.setIndex" not in words or any(f'"{stem}"' not in words for stem in STEMS):
        yield "searchindex.js lacks the words of the pages"
    if len(pages) < 40:
        yield f"only {len(pages)} pages"


if __name__ == "__main__":
    found = list(complaints(Path(sys.argv[1])))
    print("\n".join(found) or f"{sys.argv[1]}: nothing is loaded from other servers")
    sys.exit(bool(found))

"""The Python examples of the pages run and print what the pages show; docs/develop/build-and-test.md has the form."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
from stripewise import studies
from stripewise.studies import DEFAULT_WORKLOAD

DOCS = Path(__file__).resolve().parents[2] / "docs"
ANY = "…"
ONLY = os.environ.get("STRIPEWISE_PAGE", "")
BLESS = "STRIPEWISE_BLESS" in os.environ


def steps(page):
    """What a page does, in its order: files, and blocks of Python with the output behind them.

    Yields `("file", name, lines)` and `("python", number of the first line, lines, output or None)`.
    """
    lines = page.splitlines()
    marks, at, code = {}, 0, None
    while at < len(lines):
        line = lines[at]
        if mark := re.fullmatch(r"<!-- (file|not run): (.+) -->", line):
            marks[mark[1]] = mark[2]
        elif fence := re.match("```+", line):
            end = lines.index(fence[0], at + 1)
            kind, block = line[fence.end() :], lines[at + 1 : end]
            if code and kind == "text" and "not run" not in marks:
                code[3] = block
            if code:
                yield tuple(code)
                code = None
            if "file" in marks:
                yield ("file", marks["file"], block)
            if kind == "python" and "not run" not in marks:
                code = ["python", at + 2, block, None]
            marks, at = {}, end
        elif line:
            marks = {}
            if code:
                yield tuple(code)
                code = None
        at += 1
    if code:
        yield tuple(code)


def matches(shown, actual):
    """Whether the lines `actual` are what the page shows."""
    if not shown:
        return not actual
    if shown[0] == ANY:
        return any(matches(shown[1:], actual[skipped:]) for skipped in range(len(actual) + 1))
    pattern = ".*".join(re.escape(part) for part in shown[0].rstrip().split(ANY))
    return bool(actual) and re.fullmatch(pattern, actual[0].rstrip()) is not None and matches(shown[1:], actual[1:])


ALL = {
    os.path.relpath(path, DOCS): list(steps(path.read_text()))
    for path in [*sorted(DOCS.rglob("*.md")), *sorted(DOCS.parent.glob("*.md")), *sorted(DOCS.parent.glob("crates/*/README.md"))]
}
PAGES = {name: found for name, found in ALL.items() if any(step[0] == "python" for step in found)}


@pytest.mark.parametrize("name", [name for name in PAGES if ONLY in name])
def test_the_examples_of_a_page_print_what_it_shows(name, tmp_path, trace, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # where the trace is, too: `trace.csv`
    monkeypatch.setattr(studies, "DEFAULT_WORKLOAD", (DEFAULT_WORKLOAD[0], 1_000))  # one request in a thousand
    monkeypatch.setenv("COLUMNS", "100")
    # One module, with each line where the page has it, so that tracebacks name lines of the page.
    module_lines, shown = [], {}
    for step in PAGES[name]:
        if step[0] == "file":
            path = tmp_path / step[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join([*step[2], ""]))
            continue
        _, first, block, output = step
        module_lines += [""] * (first - 2 - len(module_lines)) + [f"page_block({first})", *block]
        shown[first] = output
    printed, last = {}, [None]

    def page_block(first):
        if last[0] is not None:
            printed[last[0]] = capsys.readouterr().out
        capsys.readouterr()
        last[0] = first

    path = tmp_path / f"{Path(name).stem.replace('-', '_')}_page.py"
    path.write_text("\n".join([*module_lines, "page_block(None)", ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    module.page_block = page_block
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    differing = {
        first: printed[first].rstrip().splitlines()
        for first, output in shown.items()
        if output is not None and not matches(output, printed[first].rstrip().splitlines())
    }
    if BLESS:
        page = DOCS / name
        page.write_text(renewed(page.read_text(), differing))
        differing = {first: lines for first, lines in differing.items() if has_ellipsis(shown[first])}
    assert not differing, "\n".join(f"{name}:{first}\n" + "\n".join(lines) for first, lines in differing.items())


def has_ellipsis(lines):
    return any(ANY in line for line in lines)


def renewed(page, printed):
    """The page with the output that its blocks printed, by the first lines of the blocks.

    An output with an ellipsis stays: only its writer knows what to leave out.
    """
    lines = page.splitlines()
    for first in sorted(printed, reverse=True):
        start = next(at for at in range(first, len(lines)) if lines[at] == "```text") + 1
        end = lines.index("```", start)
        if not has_ellipsis(lines[start:end]):
            lines[start:end] = printed[first]
    return "\n".join([*lines, ""])


def test_there_are_pages_with_examples():
    assert PAGES


def test_blocks_are_read_with_their_markers():
    page = "# T\n\n```python\na\n```\n\n```text\n1\n```\n\nText.\n\n<!-- not run: no -->\n```python\nb\n```\n\n"
    page += "<!-- file: x.toml -->\n\n```toml\nk = 1\n```\n\n```python\nc\n```\n\nText.\n\n```text\n2\n```\n"
    expected = [("python", 4, ["a"], ["1"]), ("file", "x.toml", ["k = 1"]), ("python", 25, ["c"], None)]
    assert list(steps(page)) == expected


def test_renewed_pages_show_what_was_printed_except_where_they_leave_something_out():
    page = "```python\na\n```\n\n```text\n1\n```\n\n```python\nb\n```\n\n```text\n…\n2\n```\n"
    assert renewed(page, {2: ["3", "4"], 10: ["5"]}) == page.replace("1", "3\n4")


@pytest.mark.parametrize(
    ("shown", "actual", "expected"),
    [("a", "a", True), ("a", "a\nb", False), ("a\n…", "a\nb", True), ("…\nb", "a\nc", False), ("x … y", "x 1 y", True)],
)
def test_an_ellipsis_stands_for_any_text(shown, actual, expected):
    assert matches(shown.splitlines(), actual.splitlines()) is expected

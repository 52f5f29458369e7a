"""Configuration of the documentation site; `make site` builds it (develop/build-and-test.md).

The pages are plain CommonMark. What only the site needs is added here while it reads them: the table of contents, from
the lists of links in index.md; documents of the root; the interface of the Python package.
"""

import ast
import os
import posixpath
import re
import tomllib
from pathlib import Path

from autodoc2.sphinx import autodoc
from sphinx.ext.napoleon import GoogleDocstring

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()

project = "Stripewise"
copyright = "the Stripewise contributors"  # noqa: A001
version = release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

extensions = ["myst_parser", "autodoc2", "sphinx.ext.intersphinx", "sphinx_copybutton", "sphinx_design"]
# Of a console, what is typed is copied, without its prompts and without what the programs print.
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"
myst_enable_extensions = ["colon_fence"]
# Links to headings have the anchors of forges, `page.md#a-heading`.
myst_heading_anchors = 6

# Inventories of other projects come from their servers, and the build must work without a network: only
# `INTERSPHINX=1 make site` links names of Python to their documentation.
intersphinx_mapping = {"python": ("https://docs.python.org/3", None)} if os.environ.get("INTERSPHINX") else {}
# Commands in quotes over several lines are more than the highlighter of consoles understands.
suppress_warnings = ["misc.highlighting_failure"]
nitpick_ignore_regex = [("py:.*", r"(?!stripewise\.).*")]

html_theme = "furo"
html_title = "Stripewise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c7a",
        "color-brand-content": "#0b5c7a",
        "color-code-background": "#f3f6f8",
    },
    "dark_css_variables": {"color-brand-primary": "#6cc3e0", "color-brand-content": "#6cc3e0"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# Pages that show a document of the root, which the pages in the repository only link to.
ROOT_DOCUMENTS = {"design/architecture": "ARCHITECTURE.md", "develop/style": "STYLE.md"}

# The page of all commands: each option is a heading, and the contents beside the page list the commands alone.
COMMANDS_PAGE = "reference/cli"

# The pages of the Python package: its public names are appended to this one.
PYTHON_PAGE = "reference/python"


class DocStrings(ast.NodeTransformer):
    """Rewrites docstrings from Google's style to reStructuredText, and leaves out overloads."""

    def document(self, node):
        """A class or a function."""
        self.generic_visit(node)
        if any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list):
            return None
        if text := ast.get_docstring(node):
            text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
            node.body[0].value.value = str(GoogleDocstring(text))
        return node

    visit_ClassDef = visit_FunctionDef = document


def python_interface():
    """The public names of the package in their order, and the source of a module that defines all of them: what users
    import as `stripewise.NAME` is documented under this name, wherever it is defined."""
    package = ROOT / "python" / "stripewise"
    sources = {path: path.read_text() for path in [*sorted(package.glob("*.py")), package / "_stripewise.pyi"]}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    init = trees[package / "__init__.py"]
    public = next(node.value for node in init.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    names = [name for name in ast.literal_eval(public) if not name.startswith("__")]
    defined = {}
    for path, tree in trees.items():
        for node in tree.body:
            # What Python defines under the name of a part of the compiled module is what users get.
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not (path.suffix == ".pyi" and node.name in defined):
                defined[node.name] = ast.unparse(DocStrings().visit(node))
    names = [name for name in names if name in defined]
    module = '"""The public names of the package."""\n\nfrom __future__ import annotations\n\n\n'
    return names, module + "\n\n\n".join(defined[name] for name in names) + "\n"


PUBLIC, MODULE = python_interface()
API = BUILT / "site-api" / "stripewise.py"
API.parent.mkdir(parents=True, exist_ok=True)
if not API.exists() or API.read_text() != MODULE:
    API.write_text(MODULE)

autodoc2_packages = [{"path": os.path.relpath(API, DOCS), "auto_mode": False}]
autodoc2_render_plugin = "rst"
autodoc2_class_docstring = "both"
autodoc2_hidden_objects = ["private", "dunder", "inherited", "undoc"]


def within_module(env, module, class_, set_parents=autodoc._set_parents):
    """A class is documented within its module, where autodoc2 takes it to be within itself."""
    return set_parents(env, module, None)


autodoc._set_parents = within_module


def cards(text):
    """index.md with its first list as cards: a list of `- **task**: text with a link.`"""
    entry = r"(?m)^- \*\*(?P<task>[^*]+)\*\*: (?P<text>.+(?:\n  .+)*)\n"

    def card(match):
        link = re.search(r"\]\(([^)#]+)\.md\)", match["text"])[1]
        lines = [f":::{{grid-item-card}} {match['task']}", f":link: {link}", ":link-type: doc", ""]
        # A card is a link as a whole.
        said = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", match["text"])
        return "\n".join([*lines, said[0].upper() + said[1:], ":::", ""])

    first = re.search(f"(?:{entry})+".replace("(?m)", "").replace("?P<task>", "").replace("?P<text>", ""), text, re.M)
    grid = re.sub(entry, card, first[0])
    return f"{text[: first.start()]}::::{{grid}} 1 2 2 2\n:gutter: 2\n\n{grid}::::\n{text[first.end() :]}"


def contents(text):
    """index.md, with a hidden table of contents for each section that lists pages, which the site's navigation shows.
    Pages of a folder that the section does not list follow the others."""
    sections = re.split(r"(?m)^(?=## )", text)
    found = []
    for section in sections[1:]:
        title = section.splitlines()[0].removeprefix("## ")
        pages = [page for page in re.findall(r"(?m)^- \[[^]]*\]\(([^)#]+)\.md\)", section)]
        folders = dict.fromkeys(posixpath.dirname(page) for page in pages)
        others = [
            str(path.relative_to(DOCS).with_suffix(""))
            for folder in folders
            if folder
            for path in sorted((DOCS / folder).glob("*.md"))
        ]
        pages = dict.fromkeys([*pages, *others])
        if pages:
            found.append("\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""]))
    return text + "\n" + "\n".join(found)


def links(page, text):
    """The links of a page to other parts of the repository: to the page that shows a document of the root, to a copy of
    a source file; without a target where the site has none."""
    folder = posixpath.dirname(page)
    shown = {document: f"{page}.md" for page, document in ROOT_DOCUMENTS.items()}

    def to(match):
        label, target = match[1], match[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, mark, heading = target.partition("#")
        full = posixpath.normpath(posixpath.join("docs", folder, path))
        if full in shown:
            return f"[{label}]({posixpath.relpath(shown[full], folder or '.')}{mark}{heading})"
        if full.startswith("docs/") and (ROOT / full).is_file() or (ROOT / full).is_file() and full[-3:] != ".md":
            return match[0]
        return label

    return re.sub(r"(?<!!)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)", to, text)


def read(app, page, source):
    """Adds to a page what only the site needs."""
    text = source[0]
    if page in ROOT_DOCUMENTS:
        text = (ROOT / ROOT_DOCUMENTS[page]).read_text()
        up = posixpath.relpath(".", posixpath.dirname(page))
        # From the root, a link to `docs/x/y.md` is one to `../x/y.md` here.
        text = re.sub(r"\]\((?!\w+:|#)(?:docs/)([^)\s]+)\)", rf"]({up}/\1)", text)
        text = re.sub(r"\]\((?!\w+:|#|\.\./)([^)\s]+)\)", rf"]({up}/../\1)", text)
    if page == "index":
        text = cards(contents(text))
    if page == PYTHON_PAGE:
        objects = "\n".join(f".. autodoc2-object:: stripewise.{name}\n" for name in PUBLIC)
        text += f"\n## All names\n\n```{{eval-rst}}\n.. py:module:: stripewise\n   :no-index-entry:\n\n{objects}```\n"
    text = links(page, text)
    if page == COMMANDS_PAGE:
        text = f"---\ntocdepth: 2\n---\n\n{text}"
    source[0] = text


# What screen readers and keyboards need and the theme leaves out: levels of captions, names of landmarks, and a way to
# scroll blocks and tables without a mouse.
ACCESSIBLE = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<th class="head"><p></p></th>': '<td class="head"></td>',
}


def finish(app, error):
    """Mends what the theme leaves out of the pages."""
    for path in [] if error else Path(app.outdir).glob("**/*.html"):
        text = path.read_text()
        for found, mended in ACCESSIBLE.items():
            text = text.replace(found, mended)
        path.write_text(text)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", read)
    app.connect("build-finished", finish)

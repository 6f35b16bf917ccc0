"""Puts the site together for MkDocs: README.md, docs/, and a page for each other file that these link to.

README.md is the first page; docs/README.md gives the order of the others, by its headings and lists. Links of the
repository become links of the site, and programs of the gallery are shown where the page links to them. If
`python -m asv_bench.site` was run before, its pages are part of the site. The build fails if a page would load anything
from another host.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ASV = ROOT / "asv_bench" / ".asv" / "html"
FIRST_FOUND = "docs/api.md"
"""The page that the search prefers, because names of the Interpreter are looked for more often than others."""
NAMES = {"README.md": "index.md", "docs/README.md": "documents.md", "asv_bench/README.md": "benchmarks.md"}
"""Pages of the site with another name than in the repository."""
LANGUAGES = {".h": "c", ".c": "c", ".py": "python"}
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s#:]+)(?=[)#])")
ROW, CODE = re.compile(r"^\|.*\|$", re.MULTILINE), re.compile(r"`[^`\n]+`")
PROGRAM = re.compile(r"^\[[^\]]+\]\((gallery/\w+\.py)\)$", re.MULTILINE)
LOADED = re.compile(
    r"<(?:script|img|iframe|link rel=\"?(?:stylesheet|icon|preconnect))[^>]*(?:src|href)=\"?(?:https?:)?//"
)


def page_of(path: str) -> str:
    """The name on the site of a file of the repository."""
    if path in NAMES:
        return NAMES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path.lower() if path.endswith(".md") else f"source/{path}.md"


def on_config(config: Any) -> Any:
    """Sections and their pages, as docs/README.md lists them."""
    config.nav = [{"Home": "index.md"}]
    for line in (ROOT / "docs" / "README.md").read_text().splitlines():
        if heading := re.match(r"## (.+)", line):
            config.nav.append({heading[1]: []})
        elif listed := re.match(r"- \[[^\]]+\]\(([^)]+\.md)\)", line):
            path = posixpath.normpath(f"docs/{listed[1]}")
            next(iter(config.nav[-1].values())).append(page_of(path))
    config.nav.append({"All pages": "documents.md"})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Puts the texts with their links of the site in place of the documents, and adds what they link to."""
    wanted, seen = ["README.md"], set()
    for file in files.documentation_pages():
        wanted.append(f"docs/{file.src_uri}")
        files.remove(file)
    while wanted:
        path = wanted.pop()
        if path in seen or not (ROOT / path).is_file() or (path.startswith("docs/") and not path.endswith(".md")):
            continue  # MkDocs has what else is in docs/, and reports links that lead nowhere
        seen.add(path)
        if path.endswith(".md"):
            text, more = document(path)
            wanted += more
        else:
            text = listing(path)
        files.append(File.generated(config, page_of(path), content=text))
    for page in sorted(ASV.rglob("*")):
        if page.is_file():
            name = f"asv/{page.relative_to(ASV).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(page)))
    return files


def document(path: str) -> tuple[str, list[str]]:
    """The text of a document for the site, and the files of the repository that it links to."""
    linked = []
    here = posixpath.dirname(page_of(path)) or "."

    def link(found: re.Match[str]) -> str:
        """Pages are called by their titles, not by their files."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if not (ROOT / target).is_file():
            return found[0]
        linked.append(target)
        named = target.endswith(".md") and found[1] in (target, found[2], posixpath.basename(target))
        return f"[{title(target) if named else found[1]}]({posixpath.relpath(page_of(target), here)}"

    def program(found: re.Match[str]) -> str:
        return f"{found[0]}\n\n```python\n{(ROOT / 'docs' / found[1]).read_text().rstrip()}\n```\n\nprints"

    def row(found: re.Match[str]) -> str:
        """Code in tables: GitHub needs a backslash before a bar, and Python-Markdown would show it."""
        return CODE.sub(lambda code: code[0].replace("\\|", "|"), found[0])

    parts = FENCE.split((ROOT / path).read_text())  # every other one is a fence
    parts[::2] = [ROW.sub(row, PROGRAM.sub(program, LINK.sub(link, part))) for part in parts[::2]]
    text = "".join(parts)
    if path == "asv_bench/README.md" and (ASV / "index.html").exists():
        text = text.replace("\n\n", "\n\n[The history of all benchmarks](asv/index.html), as asv draws it.\n\n", 1)
    return ("---\nsearch:\n  boost: 3\n---\n\n" if path == FIRST_FOUND else "") + text, linked


def title(path: str) -> str:
    """The first heading of a document."""
    return re.search(r"^# (.+)$", (ROOT / path).read_text(), re.MULTILINE)[1]


def listing(path: str) -> str:
    """A page that shows a file."""
    language, text = LANGUAGES.get(PurePosixPath(path).suffix, "text"), (ROOT / path).read_text().rstrip()
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n````{language}\n{text}\n````\n"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Raises: PluginError if the page would load something from another host."""
    if found := LOADED.search(output):
        message = f"{page.file.src_uri} loads from another host: {found[0]}"
        raise PluginError(message)
    return output

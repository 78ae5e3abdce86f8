"""Hook of mkdocs: README is the first page, and links out of docs/ lead to the repository.

The address of the repository is ``REPOSITORY_URL`` in the environment; without it such a link is
plain text, because a site has no files but its own.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
_FORM = re.compile(r"^(```\w+) .*$", re.M)
"""``python body``: our tests read the second word, the site's highlighter would not see a block."""


FIRST, FIRST_PAGE = "README.md", "index.md"


def on_files(files: Files, config: Any) -> Files:
    """README.md, which lies outside docs/, as the first page."""
    text = (Path(config.config_file_path).parent / FIRST).read_text(encoding="utf-8")
    files.append(File.generated(config, FIRST_PAGE, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Links as they stand in the repository -> links of the site."""
    here = page.file.src_uri
    source = FIRST if here == FIRST_PAGE else f"docs/{here}"
    left_out = config.exclude_docs.match_file
    parts = _FENCE.split(markdown)
    parts[1::2] = [_FORM.sub(r"\1", part) for part in parts[1::2]]
    parts[::2] = [
        _LINK.sub(lambda m: _link(m, source, here, left_out), part) for part in parts[::2]
    ]
    return "".join(parts)


def _link(match: re.Match[str], source: str, page: str, left_out: Callable[[str], bool]) -> str:
    target, hash_, anchor = match["target"].partition("#")
    if not target or "://" in target or target.startswith("mailto:"):
        return match[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if path == FIRST:
        there = FIRST_PAGE
    elif path.startswith("docs/") and not left_out(path.removeprefix("docs/")):
        there = path.removeprefix("docs/")
    else:
        url = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        return f"[{match['text']}]({url}/blob/main/{path})" if url else match["text"]
    relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
    return f"{match['picture']}[{match['text']}]({relative}{hash_}{anchor})"

"""Commands of the documents, as a reader finds them: in blocks, and in the text between backticks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path for of in ("*.md", "docs/**/*.md", "recipes/*.md") for path in ROOT.glob(of)
)
TYPED = [
    path
    for path in DOCUMENTS
    if path.parent.name not in ("results", "recipes") and path.stem != "CHANGELOG"
]
"""Those whose commands a reader types; docs/results/ and recipes/ say how figures were made, in hours."""

_FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.M | re.S)
_INDENTED = re.compile(r"(?:^ {4}\S[^\n]*\n?(?:^ {4,}[^\n]*\n?)*)", re.M)
_FIRST_WORD = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:llm-as-judge [a-z]|make [a-z]|bash \S|python \S|pip [a-z]|\./scripts/|accelerate [a-z]"
    r"|ray (?:start|stop)|jq '|apt(?:-get)? [a-z]|uvx --|pipx run |git (?:clone|checkout) |vllm serve )"
)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    kind: str
    words: str
    """What follows the kind, such as ``body``."""
    text: str


@dataclass(frozen=True)
class Command:
    """One command as it is typed, its lines joined and its comment left out."""

    document: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}: {self.text}"


@cache
def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document."""
    found = _FENCE.findall(document.read_text(encoding="utf-8"))
    return [Block(kind, words.strip(), text) for kind, words, text in found]


@cache
def commands(document: Path) -> list[Command]:
    """Every command of a document, in order: of indented and ``bash`` blocks, and between backticks."""
    name = document.relative_to(ROOT).as_posix()
    text = _FENCE.sub(_indented_if_bash, document.read_text(encoding="utf-8"))
    found: list[Command] = []
    position = 0
    for block in _INDENTED.finditer(text):
        found += _inline(name, text[position : block.start()])
        joined = re.sub(r"\\\n\s*", "", block[0])
        lines = (re.sub(r"\s+#\s.*", "", line).strip() for line in joined.splitlines())
        found += [Command(name, line) for line in lines if line]
        position = block.end()
    return [*found, *_inline(name, text[position:])]


def _indented_if_bash(fence: re.Match[str]) -> str:
    return re.sub(r"^", "    ", fence[3], flags=re.M) if fence[1] == "bash" else ""


def _inline(name: str, text: str) -> list[Command]:
    spans = re.findall(r"`([^`\n]+)`", text)
    typed = (span.replace("\\|", "|") for span in spans if _FIRST_WORD.match(span))
    return [Command(name, span) for span in typed]

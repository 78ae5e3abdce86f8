"""Reads what an executor model wrote. Every function is total: None or empty, never an error.

Small models keep to labels (``Answer: 18``), larger ones often to tags (``<answer>``): both are
read. No regular expression here can backtrack over the reply.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from llm_as_judge.operators.syntax import UnparsableError, parse_python

_FENCE = re.compile(r"^[ \t]*```[ \t]*([A-Za-z0-9_+.-]*)[^\n]*$", re.MULTILINE)
_WORDS_TRUE = {"true", "yes", "correct", "right", "pass", "passed", "1"}
_WORDS_FALSE = {"false", "no", "incorrect", "wrong", "fail", "failed", "0", "not"}


def fields(text: str, names: Sequence[str]) -> dict[str, str]:
    """The named fields found in ``text``, as tags or, failing that, as ``Name:`` labels.

    The last occurrence of a field counts. A label runs to the next known label.
    """
    found = {name: value for name in names if (value := _tagged(text, name)) is not None}
    return {**_labeled(text, names), **found}


def _tagged(text: str, name: str) -> str | None:
    lower = text.lower()
    start = lower.rfind(f"<{name}>")
    if start < 0:
        return None
    start += len(name) + 2
    end = lower.find(f"</{name}>", start)
    return text[start : end if end >= 0 else len(text)].strip()


def _labeled(text: str, names: Sequence[str]) -> dict[str, str]:
    labels = {name.replace("_", " "): name for name in names} | {name: name for name in names}
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        label = labels.get(head.strip(" \t*#_-").lower()) if colon and len(head) < 40 else None
        if label is not None:
            current = found[label] = [rest.strip(" \t*")]
        elif current is not None:
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def last_inline(text: str, name: str) -> str:
    """What follows the last ``name:`` to the end of its line, wherever in the line that is."""
    start = text.lower().rfind(f"{name}:")
    return "" if start < 0 else text[start + len(name) + 1 :].split("\n", 1)[0].strip(" \t*")


def boolean(text: str) -> bool | None:
    """The truth value that the first decisive word states; None where there is none."""
    words = re.findall(r"[a-z]+|[01]", text.lower()[:200])
    for word in words:
        if word in _WORDS_FALSE:
            return False
        if word in _WORDS_TRUE:
            return True
    return None


def letter(index: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA: labels of any number of options."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(65 + rest) + text
    return text


def choice(text: str, options: Sequence[str]) -> int | None:
    """Index of the option that the reply names, by letter (``A``, ``(A)``, ``Solution A.``) or
    by repeating its text; None if it names none or, outside a label, several."""
    stated = fields(text, ["solution_letter", "answer", "choice"])
    for value in (
        *(stated[k] for k in ("solution_letter", "choice", "answer") if k in stated),
        text,
    ):
        if (index := _named(value.strip(), options)) is not None:
            return index
    return None


def _named(text: str, options: Sequence[str]) -> int | None:
    labels = {letter(i): i for i in range(len(options))}
    bare = text.strip(" \t\n*().:`'\"[]<>")
    if bare.upper() in labels:
        return labels[bare.upper()]
    texts = [option.strip() for option in options]
    if text in texts:
        return texts.index(text)
    first_line = bare.splitlines()[0] if bare else ""
    head = re.match(r"\(?([A-Z]{1,2})[).:](?:\s|$)", first_line)
    if head and head[1] in labels:
        return labels[head[1]]
    named = re.findall(
        r"\b(?:solution|option|answer|choice|letter)(?: is)?:? *\(?([A-Z]{1,2})\b", bare, re.I
    )
    known = {word for word in named if word in labels}
    if not known:
        # "A" and "I" are also words: "A good one", "I think".
        words = re.findall(r"\b([A-Z]{1,2})\b( [a-z]+)?", bare)
        known = {
            word
            for word, following in words
            if word in labels and (word not in {"A", "I"} or following in ("", " or", " and"))
        }
    return labels[known.pop()] if len(known) == 1 else None


def boxed(text: str) -> str | None:
    r"""Content of the last ``\boxed{...}``, braces matched; None if there is none or it is open."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for position in range(start + 6, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 7 : position].strip()
    return None


def code_block(text: str) -> str | None:
    """The first fenced block, a Python one before others; an unclosed fence runs to the end."""
    marks = list(_FENCE.finditer(text))
    blocks: list[tuple[str, str]] = []
    for mark, closing in zip(marks[::2], [*marks[1::2], None], strict=False):
        body = text[mark.end() + 1 : closing.start() if closing else len(text)]
        blocks.append((mark[1].lower(), body.strip("\n")))
    python = [body for language, body in blocks if language in {"python", "py", "python3"}]
    return next(iter(python or [body for _, body in blocks]), None)


def python_code(text: str) -> str | None:
    """Python source in the reply: a fenced block, or the whole reply where it parses as code."""
    if (block := code_block(text)) is not None:
        return block.strip("\n") or None
    return text if function_names(text) else None


def _top_level(source: str) -> list[ast.stmt]:
    """Empty if the text is no Python."""
    try:
        return parse_python(source).body
    except UnparsableError:
        return []


def function_names(source: str) -> list[str]:
    """Names of the functions at the top level; empty if the text is no Python."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in _top_level(source) if isinstance(node, kinds)]


def names_defined(source: str) -> set[str]:
    """Names that a source defines at its top level: not those it imports."""
    found = set[str]()
    for node in _top_level(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found

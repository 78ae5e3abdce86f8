"""Writes docs/configuration.md anew, every key from its own description; a test keeps it up to date.

The first line of a description is the key's cell, so it is short. Its further lines stand below the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from llm_as_judge.config import Config
from llm_as_judge.config.endpoints import Endpoint
from llm_as_judge.config.loading import FLAT_KEYS
from llm_as_judge.config.reading import Section
from llm_as_judge.renamed import GONE, KEYS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"


def configuration_page() -> str:
    """One table a section: key, default, meaning."""
    flat = {place: name for name, place in FLAT_KEYS.items()}
    lines = [
        "# Configuration keys",
        "",
        "Every key of a YAML file or of `--set SECTION.KEY=VALUE`. Defaults are those of the tree; the",
        "files in `config/` change some. Written by `python scripts/reference_pages.py` from",
        "`src/llm_as_judge/config/`; in brackets the documented flat name, where there is one.",
    ]
    lines += ["", *_TABLE, _PROFILE]
    alone = {key: field for key, field in Config.model_fields.items() if _section(field) is None}
    lines += _rows(alone, flat)
    for section, info in Config.model_fields.items():
        if kind := _section(info):
            lines += ["", f"## {section}", " ".join((kind.__doc__ or "").split()), "", *_TABLE]
            lines += _rows({f"{section}.{k}": f for k, f in kind.model_fields.items()}, flat)
            for name, field in kind.model_fields.items():
                lines += _named_table(f"{section}.{name}", field, flat)
    for section, info in Config.model_fields.items():
        lines += _named_table(section, info, flat)
    lines += ["", "## endpoints", " ".join((Endpoint.__doc__ or "").split()), "", *_TABLE]
    lines += _rows({f"endpoints.NAME.{k}": f for k, f in Endpoint.model_fields.items()}, flat)
    lines += [
        "",
        "## Older names",
        "Read as the new ones; a hint on standard error names each.",
        "",
    ]
    lines += ["| before | now |", "|---|---|", *(f"| `{a}` | `{b}` |" for a, b in KEYS.items())]
    lines += [f"| `{key}` | nothing |" for key in GONE]
    return "\n".join(lines) + "\n"


_TABLE = ["| key | default | meaning |", "|---|---|---|"]
_PROFILE = (
    "| `profile` | - | In a file of your own: the shipped profile below it, such as `embedded`. "
    "`--set` does not take it. |"
)


def _section(field: Any) -> type[Section] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _named_section(field: Any) -> type[Section] | None:
    """Of a section for each name that a person gives."""
    of_name = get_args(field.annotation) if get_origin(field.annotation) is dict else ()
    return (
        of_name[1]
        if of_name and isinstance(of_name[1], type) and issubclass(of_name[1], Section)
        else None
    )


def _named_table(place: str, field: Any, flat: dict[str, str]) -> list[str]:
    """The table of a section for each name; no lines where the field is no such section."""
    kind = _named_section(field)
    if kind is None:
        return []
    head = ["", f"## {place}", " ".join((kind.__doc__ or "").split()), "", *_TABLE]
    return head + _rows({f"{place}.NAME.{k}": f for k, f in kind.model_fields.items()}, flat)


def _rows(fields: dict[str, Any], flat: dict[str, str]) -> list[str]:
    """The rows of a table, and below it what its cells have no room for."""
    notes = [line for name, field in fields.items() for line in _notes(name, field)]
    return [_row(name, field, flat) for name, field in fields.items()] + ["", *notes] * bool(notes)


def _row(name: str, field: Any, flat: dict[str, str]) -> str:
    shown = f"`{name}`" + (f" ({flat[name]})" if name in flat else "")
    meaning = field.description.partition("\n")[0] + _choices(field)
    meaning = meaning.replace("|", "\\|")
    return f"| {shown} | {_shown(field.default)} | {meaning} |"


def _notes(name: str, field: Any) -> list[str]:
    """The further lines of a description, as a list."""
    _, *notes = field.description.splitlines()
    return [f"- `{name}`: {note}" for note in notes]


def _shown(value: Any) -> str:
    if value is PydanticUndefined:
        return "wanted"
    if value is None or isinstance(value, SecretStr) or value in ((), {}, ""):
        return "-"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value.as_posix() if isinstance(value, Path) else value}`"


def _choices(field: Any) -> str:
    """The values of a Literal, where the description does not name them all."""
    values = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if all(value in field.description for value in values):
        return ""
    return f" One of {', '.join(f'`{value}`' for value in values)}."


if __name__ == "__main__":
    PAGE.write_text(configuration_page(), encoding="utf-8")

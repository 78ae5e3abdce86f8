"""Prompts of operators: templates filled in one pass, and the operator hints.

Values are problem texts and model replies: they hold braces (LaTeX, dicts), so a template is
filled once over the placeholders it is known to have and the values are never looked at again.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from llm_as_judge.config import config_file, parse_yaml
from llm_as_judge.errors import ConfigError
from llm_as_judge.refused import place_and_reason
from llm_as_judge.types import DOMAINS, Domain

GUIDANCE = "guidance"
"""Placeholder where operator hints add their lines; each is followed by a line break."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def placeholders(template: str) -> set[str]:
    """Names in single braces."""
    return set(_PLACEHOLDER.findall(template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """``template`` with each ``{name}`` of ``values`` replaced, in one pass; other braces stay."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


class Enhancement(BaseModel):
    """One operator hint: a line added to an operator's prompt where all conditions hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """Written into the trace of every call it changed."""
    add: str
    operators: tuple[str, ...] = ("*",)
    """Operator classes, with wildcards."""
    domains: tuple[Domain, ...] = DOMAINS
    executors: tuple[str, ...] = ("*",)
    """Names of executor models, with wildcards."""
    unless: re.Pattern[str] | None = None
    """Left out where the problem's question has this, whatever its case."""

    def applies(self, operator: str, domain: Domain, executor: str, question: str) -> bool:
        asked = self.unless is not None and re.search(self.unless.pattern, question, re.IGNORECASE)
        return (
            not asked
            and domain in self.domains
            and any(fnmatch.fnmatchcase(operator, pattern) for pattern in self.operators)
            and any(fnmatch.fnmatch(executor.lower(), p.lower()) for p in self.executors)
        )


@functools.cache
def load_enhancements(path: Path | None = None) -> tuple[Enhancement, ...]:
    """The operator hints of ``config/prompts/operators/enhancements.yaml``.

    Raises:
        ConfigError: the file is not a list of enhancements.
    """
    path = path or config_file("prompts/operators/enhancements.yaml")
    return tuple(read_yaml(list[Enhancement], path, empty=[]))


def read_yaml(kind: Any, path: Path, empty: object = None) -> Any:
    """A YAML file as a value of ``kind``; ``empty`` stands for one that holds nothing.

    Raises:
        ConfigError: it cannot be read, or is none.
    """
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"), str(path))
        return TypeAdapter(kind).validate_python(empty if raw is None else raw)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        place, reason = place_and_reason(error)
        raise ConfigError(f"{path}: {place or 'file'}: {reason}") from None


@dataclass(frozen=True, slots=True)
class OperatorPrompts:
    """The named prompts of one operator, from its description file."""

    operator: str
    templates: Mapping[str, str]

    def render(
        self,
        name: str,
        values: Mapping[str, str],
        *,
        enhancements: Iterable[Enhancement],
        domain: Domain,
        executor: str,
        question: str,
    ) -> tuple[str, tuple[str, ...]]:
        """The prompt, and the names of the enhancements in it."""
        template = self.templates[name]
        applied = [e for e in enhancements if e.applies(self.operator, domain, executor, question)]
        if GUIDANCE not in placeholders(template):
            applied = []
        guidance = "".join(e.add.strip() + "\n" for e in applied)
        prompt = fill(template, {**values, GUIDANCE: guidance})
        return prompt.strip(), tuple(e.name for e in applied)

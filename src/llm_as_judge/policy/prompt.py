"""Layer 1: the prompt the policy sees. Operator documentation, rules, examples, then the problem.

What is equal for all problems comes first, so that sampling and training compute it once.
Templates are data (config/prompts/policy/FORM.yaml) and are filled in one pass over known
placeholders: braces and markers inside a problem stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.errors import ConfigError
from llm_as_judge.types import Domain, Message, Problem

PLACEHOLDER = re.compile(r"<<([a-z_]+)>>")


class Example(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    problem: str
    program: str


class Template(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    user: str
    examples: Mapping[Domain, tuple[Example, ...]] = {}


class PolicyPrompt:
    """Makes the messages for one problem."""

    def __init__(
        self,
        folder: Path,
        form: Literal["class", "body"],
        docs: Mapping[Domain, str],
        *,
        problem_chars: int = 600,
    ) -> None:
        """
        Args:
            folder: holds FORM.yaml.
            docs: for each domain the text that replaces <<operators>>.
            problem_chars: longest problem text shown; the workflow itself gets all of it.
        Raises:
            ConfigError: template missing or not of the expected form.
        """
        self._template = _load(folder / f"{form}.yaml")
        self._docs = docs
        self._problem_chars = problem_chars

    def messages(self, problem: Problem) -> list[Message]:
        template = self._template
        docs = self._docs[problem.domain]
        turns = [Message("system", fill(template.system, {"operators": docs}))]
        for example in template.examples.get(problem.domain, ()):
            asked = {"domain": problem.domain, "problem": example.problem}
            turns.append(Message("user", fill(template.user, asked)))
            turns.append(Message("assistant", f"```python\n{example.program}\n```"))
        text = shorten(problem.statement(), self._problem_chars)
        turns.append(
            Message("user", fill(template.user, {"domain": problem.domain, "problem": text}))
        )
        return turns


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace <<name>> by ``values[name]`` in one pass; what a value contains is never filled.

    Raises:
        ConfigError: the template names a placeholder that has no value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            known = ", ".join(sorted(values))
            raise ConfigError(
                f"prompt template: unknown placeholder <<{match[1]}>> (known: {known})"
            )
        return values[match[1]]

    return PLACEHOLDER.sub(value, template)


def shorten(text: str, limit: int) -> str:
    """At most about ``limit`` characters: beginning and end kept, the cut named.

    The question stands at the end of a problem with passages, so the end is kept.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    cut = len(text) - limit
    return f"{text[:head]} [... {cut} characters left out ...] {text[-(limit - head) :]}"


def _load(path: Path) -> Template:
    try:
        return Template.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such prompt template") from None
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None

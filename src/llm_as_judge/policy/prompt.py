"""The policy prompt: what the policy sees. Operator documentation, rules, examples, then the problem.

What is equal for all problems comes first, so that sampling and training compute it once: of the
examples, the shipped ones stand before those that come from the experience buffer. Of the rotating ones (a
branch, a loop) each problem is shown one of each kind, chosen by its id and the seed, in the place of as many
others from the front. The word of a budget stands with the problem. A prompt that is
too long for the context loses examples from the front, and only then a part of the problem's
text; both are counted (``PromptFacts``) and the cut is marked in the text. Templates are data (config/prompts/policy/FORM.yaml) and are filled in one pass over known
placeholders: braces and markers inside a problem stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.config import parse_yaml
from llm_as_judge.errors import ConfigError
from llm_as_judge.refused import place_and_reason
from llm_as_judge.types import Budget, Domain, Message, Problem, Prompt, PromptFacts

LEAST_CHARS = 40
"""A problem is never cut to fewer characters."""
NO_BUDGET = "Use few calls."
_BUDGET_FOLLOWS = "The user says how much calls may cost."
"""In the place of the former where a word is in force: it stands with the problem, so that what is before it
stays equal for all problems."""
_CALLS: Mapping[Budget, str] = {
    "low": "The budget for calls is low: make as few as you can.",
    "middle": "The budget for calls is middle: make another one where it probably helps.",
    "high": "The budget for calls is high: make another one where it may help.",
}
PLACEHOLDER = re.compile(r"<<([a-z_]+)>>")


class Example(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    problem: str
    program: str
    problem_id: str = ""
    """Of an example that comes from the experience buffer."""


class Template(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    brief: str = ""
    """In the place of ``system`` where the policy knows rules and examples already."""
    user: str
    rules: Mapping[Domain, str] = {}
    """For each domain the text that replaces <<rules>> in ``system``."""
    examples: Mapping[Domain, tuple[Example, ...]] = {}
    rotating: Mapping[Domain, Mapping[str, tuple[Example, ...]]] = {}
    """For each domain by kind those of which a problem is shown one."""


class ExampleSource(Protocol):
    """Where examples other than the shipped ones come from."""

    @property
    def top_k(self) -> int:
        """Examples in a prompt at most, shipped ones among them."""
        ...

    def examples(self, problems_P: Sequence[Problem]) -> list[tuple[Example, ...]]: ...


CountTokens = Callable[[Sequence[Message]], int]


class PolicyPrompt:
    """Makes the messages for the problems of a step."""

    def __init__(
        self,
        folder: Path,
        form: Literal["class", "body"],
        docs: Mapping[Domain, str],
        *,
        problem_chars: int = 600,
        brief: bool = False,
        examples: bool = True,
        memory: ExampleSource | None = None,
        count_tokens: CountTokens | None = None,
        max_tokens: int | None = None,
        hidden: Collection[str] = (),
        seed: int = 0,
        budget: Budget | None = None,
    ) -> None:
        """
        Args:
            folder: holds FORM.yaml.
            docs: for each domain the text that replaces <<operators>>.
            problem_chars: longest problem text shown; the workflow itself gets all of it.
            brief: the short text for a policy that has learned the rest: no shipped examples either.
            examples: False = without the shipped examples.
            memory: its examples take the places that it has (``top_k``) from the back; shipped
                ones fill the rest.
            count_tokens: tokens of a prompt as the sampler makes them.
            max_tokens: greatest number of them; None = no limit.
            hidden: names of operators that ``docs`` leaves out: no shipped example calls them.
            seed: another one shows other examples of those that rotate.
            budget: the word that stands before a problem; None = none is in force: few calls.
        Raises:
            ConfigError: template missing, not of the expected form, or without the text wanted.
        """
        self._template = _load(folder / f"{form}.yaml")
        self._docs = docs
        self._problem_chars = problem_chars
        self._system = self._template.brief if brief else self._template.system
        if not self._system:
            raise ConfigError(
                f"{folder / form}.yaml: no text `brief`, which sampling.prompt_style=signatures wants; "
                "take it from the shipped template, or set another style"
            )
        self._with_shipped = examples and not brief
        self._hidden = re.compile("|".join(rf"\b{re.escape(name)}\(" for name in hidden) or "(?!)")
        self._seed = seed
        self.budget = budget
        """That a problem has for which none is said."""
        self._memory = memory
        self._count = count_tokens
        self._max_tokens = max_tokens

    @property
    def sha256(self) -> str:
        """Of every text that a prompt may hold beside its problem and retrieved examples."""
        template = self._template

        def told(every_of: Mapping[Any, tuple[Example, ...]]) -> dict[str, object]:
            return {
                name: [example.model_dump() for example in self._shown(every)]
                for name, every in every_of.items()
            }

        examples: dict[str, object] = {}
        if self._with_shipped:
            rotating = {domain: told(kinds) for domain, kinds in template.rotating.items()}
            examples = {**told(template.examples), "rotating": rotating}
        texts = [
            *(self._system, template.user, dict(template.rules), dict(self._docs), examples),
            *(NO_BUDGET, _BUDGET_FOLLOWS, dict(_CALLS)),
        ]
        return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()

    def write(
        self, problems_P: Sequence[Problem], budgets_P: Sequence[Budget | None] | None = None
    ) -> list[Prompt]:
        """The prompts of a step's problems, which may share retrieved examples.

        Args:
            budgets_P: the word of each problem; default: that of this prompt for all.
        Raises:
            ConfigError: rules and operators alone leave no room for the problem.
        """
        memory = self._memory
        retrieved_P = memory.examples(problems_P) if memory else [()] * len(problems_P)
        budgets_P = budgets_P or [self.budget] * len(problems_P)
        return [
            self._fitted(problem, self._examples(problem, retrieved), budget)
            for problem, retrieved, budget in zip(problems_P, retrieved_P, budgets_P, strict=True)
        ]

    def _examples(self, problem: Problem, retrieved: tuple[Example, ...]) -> tuple[Example, ...]:
        shipped = self._shipped(problem) if self._with_shipped else ()
        if self._memory is None or not retrieved:
            return shipped
        return shipped[: max(0, self._memory.top_k - len(retrieved))] + retrieved

    def _shipped(self, problem: Problem) -> tuple[Example, ...]:
        fixed = self._shown(self._template.examples.get(problem.domain, ()))
        kinds = self._template.rotating.get(problem.domain, {})
        picked = tuple(
            examples[zlib.crc32(f"{self._seed}/{kind}/{problem.id}".encode()) % len(examples)]
            for kind, every in kinds.items()
            if (examples := self._shown(every))
        )
        return picked + fixed[min(len(picked), max(0, len(fixed) - 1)) :]

    def _shown(self, examples: Sequence[Example]) -> tuple[Example, ...]:
        """Those that call no hidden operator."""
        return tuple(e for e in examples if not self._hidden.search(e.program))

    def _fitted(
        self, problem: Problem, examples: tuple[Example, ...], budget: Budget | None
    ) -> Prompt:
        whole = len(problem.statement())
        chars = min(self._problem_chars, whole)

        def written(left: int, chars: int) -> Prompt | None:
            """Without the first ``left`` examples; None: it is too long."""
            shown = examples[left:]
            messages = self._messages(problem, budget, shown, chars)
            most = self._max_tokens
            if self._count is not None and most is not None and self._count(messages) > most:
                return None
            facts = PromptFacts(
                examples=len(shown),
                retrieved=tuple(e.problem_id for e in shown if e.problem_id),
                examples_dropped=left,
                cut_characters=max(0, whole - chars),
                budget=budget,
            )
            return Prompt(messages, facts)

        for left in range(len(examples) + 1):
            if (found := written(left, chars)) is not None:
                return found
        low, high = LEAST_CHARS, chars  # greatest number of characters that fits, by halving
        while low < high:
            middle = (low + high + 1) // 2
            if written(len(examples), middle) is not None:
                low = middle
            else:
                high = middle - 1
        if (found := written(len(examples), low)) is not None:
            return found
        raise ConfigError(
            f"the prompt without examples and with {low} characters of the problem is longer "
            f"than {self._max_tokens} tokens; raise sampling.max_prompt_tokens, lower "
            "sampling.max_new_tokens or set sampling.prompt_style=short"
        )

    def _messages(
        self, problem: Problem, budget: Budget | None, examples: Sequence[Example], chars: int
    ) -> list[Message]:
        template, domain = self._template, problem.domain
        told = {
            "operators": self._docs[domain],
            "rules": template.rules.get(domain, ""),
            "calls": _BUDGET_FOLLOWS if budget else NO_BUDGET,
        }
        turns = [Message("system", fill(self._system, told))]
        for example in examples:
            asked = {"domain": domain, "problem": example.problem}
            turns.append(Message("user", fill(template.user, asked)))
            turns.append(Message("assistant", f"```python\n{example.program}\n```"))
        asked = {"domain": domain, "problem": shorten(problem.statement(), chars)}
        word = f"{_CALLS[budget]}\n" if budget else ""
        turns.append(Message("user", word + fill(template.user, asked)))
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
        template = Template.model_validate(parse_yaml(path.read_text(encoding="utf-8"), str(path)))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such prompt template") from None
    except ValidationError as error:
        place, reason = place_and_reason(error)
        raise ConfigError(f"{path}: {place or 'file'}: {reason}") from None
    if template.rules and "<<rules>>" not in template.system:
        raise ConfigError(f"{path}: there are rules by domain, but no <<rules>> in system")
    return template

"""Kinds of judge for what the rules leave open: ``judge.kind`` names one, ``@judge`` adds one of your own.

The rules come first whichever it is, and their word is final. Code never reaches it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.config.grading import JudgeConfig
from llm_as_judge.config.reading import config_file
from llm_as_judge.errors import ConfigError, GraderError
from llm_as_judge.grading.fingerprint import NOT_JUDGING, code_fingerprint
from llm_as_judge.grading.graders import as_verdict
from llm_as_judge.judge.cascade import LastJudge
from llm_as_judge.judge.endpoint_scorer import EndpointScorer
from llm_as_judge.judge.judge_file import JUDGE_FILE, JudgeFile, read_judge_file
from llm_as_judge.judge.llm_judge import LlmJudge, llm_fingerprint
from llm_as_judge.judge.records import JudgeRecords
from llm_as_judge.judge.scoring import (
    SHIPPED,
    InThread,
    OpenScorer,
    Scorer,
    ScoringJudge,
    ScoringOptions,
    scoring_fingerprint,
)
from llm_as_judge.plugins import Defined, Plugin, Registry, failing
from llm_as_judge.types import ChatModel, Problem, Verdict


@dataclass(frozen=True, slots=True)
class JudgePlace:
    """What a judge is made from."""

    config: JudgeConfig
    model: ChatModel | None = None
    """Of ``judge.model``; None where that is ``none``."""
    identity: str | None = None
    """What this model is known by: its name and, where known, the hash of its weights."""
    records: JudgeRecords = field(default_factory=JudgeRecords)
    open_scorer: OpenScorer | None = None
    """Loads a trained judge; None where nothing is opened."""
    weights_identity: Callable[[str], str] = str
    """What the weights of a base model are known by."""


@dataclass(frozen=True, slots=True)
class JudgeKind(Plugin):
    """A judge that a configuration may name.

    It makes, of a :class:`JudgePlace` and its options, an object with ``grade(problem, answer)``,
    asynchronous, which says True, False, None where it cannot tell, or a :class:`Verdict`.
    """

    kind = "judge"
    options_key = "judge.options"
    needs_model: bool = False
    """Without ``judge.model`` the rules grade alone."""

    def fingerprint(self, place: JudgePlace) -> str:
        """Changes whenever its verdicts may change: its code with all that it imports, its options,
        its model.

        Raises:
            ConfigError: it has no source file.
        """
        said = (place.identity, place.config.max_tokens, place.config.options)
        digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
        digest.update(code_fingerprint([self.defined.__module__], NOT_JUDGING).encode())
        return digest.hexdigest()

    def open(self, place: JudgePlace) -> LastJudge:
        """
        Raises:
            ConfigError: an option is wrong, it could not be made, or it cannot grade.
        """
        made = self.make(place, place.config.options, "judge.kind")
        made = self.able(made, "grade(problem, answer)", "judge.kind")
        return _OwnJudge(self.name, made, self.fingerprint(place))


@dataclass(frozen=True, slots=True)
class _LlmKind(JudgeKind):
    """The shipped one: asks in both orders, remembers verdicts, logs its calls."""

    def fingerprint(self, place: JudgePlace) -> str:
        assert place.identity is not None, "rules alone are not asked"
        return llm_fingerprint(place.identity, max_tokens=place.config.max_tokens)

    def open(self, place: JudgePlace) -> LastJudge:
        assert place.model is not None, "rules alone are not asked"
        tokens = place.config.max_tokens
        return LlmJudge(
            place.model, max_tokens=tokens, records=place.records, identity=place.identity
        )


@dataclass(frozen=True, slots=True)
class _ScoringKind(JudgeKind):
    """One forward pass, no text: a trained model here, or one behind an endpoint (docs/judge.md)."""

    def fingerprint(self, place: JudgePlace) -> str:
        folder = self._folder(place)
        made = self._fitting(folder, place)
        base = made.base if made.endpoint else place.weights_identity(made.base)
        return scoring_fingerprint(folder, base, endpoint=made.endpoint)

    def open(self, place: JudgePlace) -> LastJudge:
        folder = self._folder(place)
        made = self._fitting(folder, place)
        scorer: Scorer
        if made.endpoint:
            assert place.model is not None, "its identity is known"
            scorer = EndpointScorer(place.model, place.records)
        else:
            assert place.open_scorer is not None, "a judge is opened where weights can be loaded"
            scorer = InThread(place.open_scorer(folder, made))
        return ScoringJudge(folder, scorer, self.fingerprint(place), place.records)

    def _fitting(self, folder: Path, place: JudgePlace) -> JudgeFile:
        """
        Raises:
            ConfigError: thresholds of another model than judge.model.
        """
        made = read_judge_file(folder)
        wanted = made.base if made.endpoint else None
        if place.identity != wanted:
            do = (
                f"choose thresholds for it: llm-as-judge judge calibrate --judge OTHER_FOLDER --model {place.config.model}"
                if place.identity is not None
                else "name the model in judge.model"
            )
            raise ConfigError(
                f"judge.model: found {place.config.model}, wanted {wanted or 'none'}, the model of "
                f"{folder / JUDGE_FILE}; {do}"
            )
        return made

    def _folder(self, place: JudgePlace) -> Path:
        options = self.read_options(place.config.options)
        assert isinstance(options, ScoringOptions)
        return scoring_folder(options)


def scoring_folder(options: ScoringOptions) -> Path:
    """Where the judge of ``judge.kind: scoring`` lies; the shipped one in the folder of configuration."""
    if options.adapter != SHIPPED:
        return options.adapter
    return config_file(f"judge/{JUDGE_FILE}").parent


class _OwnJudge:
    """A judge of one's own as the cascade asks it."""

    def __init__(self, name: str, made: Any, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._name, self._made = name, made

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        """
        Raises:
            GraderError: it failed, or said something else than a verdict.
        """
        where = f"judge {self._name!r}: {problem.id}"
        with failing(where, "mend the judge", GraderError):
            said = await self._made.grade(problem, candidate)
        return replace(as_verdict(said, self._name, where, score), stage="llm")


JUDGES: Registry[JudgeKind] = Registry(JudgeKind.kind)


def judge(name: str, *, options: type[Any] | None = None) -> Callable[[Defined], Defined]:
    """Makes a class a judge; see :class:`JudgeKind`.

    Raises:
        ConfigError: another judge has this name.
    """
    return JUDGES.adding(lambda make: JudgeKind(name, make, options))


def judge_kind(config: JudgeConfig) -> JudgeKind:
    """The judge that a configuration names; starts nothing.

    Raises:
        ConfigError: there is none, or an option is not as wanted.
    """
    return JUDGES.chosen(config.kind, config.options, "judge.kind")


def rules_alone(config: JudgeConfig) -> bool:
    """Whether what the rules leave open stays open.

    Raises:
        ConfigError: see :func:`judge_kind`.
    """
    return config.model == "none" and judge_kind(config).needs_model


Mode = Literal["rules", "weights", "model"]
"""Who judges: rules alone; behind them a trained judge here, whose weights its fingerprint names; or a
model or program that may change behind its name."""


def judging_mode(config: JudgeConfig) -> Mode:
    """
    Raises:
        ConfigError: see :func:`judge_kind`.
    """
    if rules_alone(config):
        return "rules"
    return "weights" if config.kind == "scoring" and config.model == "none" else "model"


JUDGES.add(_LlmKind("llm", LlmJudge, needs_model=True))
JUDGES.add(_LlmKind("rules", LlmJudge, needs_model=True))  # without a model: nobody is asked
JUDGES.add(_ScoringKind("scoring", ScoringJudge, ScoringOptions))

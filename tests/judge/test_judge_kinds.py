"""Judges of one's own: asked for what the rules leave open; the fingerprint follows their code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly import judge_fingerprint, open_judge
from llm_as_judge.assembly.judge_gate import audit_command
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import ConfigError, GraderError
from llm_as_judge.judge.kinds import (
    JUDGES,
    JudgePlace,
    judge,
    judging_mode,
    rules_alone,
)
from llm_as_judge.types import Problem, Verdict
from restored import restored

OPEN = Problem("c/1", "colors", "qa", "Which color is the sky?", ("sky blue",))
ANSWER = "azure blue"


@dataclass(frozen=True)
class Options:
    words: tuple[str, ...] = ("azure",)


class ByWords:
    def __init__(self, place: JudgePlace, options: Options) -> None:
        self.place, self.words = place, options.words
        self.seen: list[str] = []

    async def grade(self, problem: Problem, answer: str) -> bool | None:
        self.seen.append(answer)
        return any(word in answer for word in self.words) or None


@pytest.fixture(autouse=True)
def _own_judges() -> Iterator[None]:
    with restored(JUDGES):
        judge("words", options=Options)(ByWords)
        yield


def config(tmp_path: Path, *overrides: str) -> Config:
    place = f"output.results={tmp_path}"
    return load_config(overrides=[place, "judge.kind=words", "judge.model=none", *overrides])


async def verdict(settings: Config, answer: str = ANSWER) -> Verdict:
    async with open_judge(settings) as opened:
        return await opened.grade(OPEN, answer)


@pytest.mark.slow
async def test_it_judges_what_the_rules_leave_open(tmp_path: Path) -> None:
    found = await verdict(config(tmp_path))
    assert (found.correct, found.stage, found.rule) == (True, "llm", "words.right")
    other = await verdict(config(tmp_path, "judge.options.words=[teal]"))
    assert (other.correct, other.rule) == (None, "words.open")


@pytest.mark.slow
async def test_the_word_of_a_rule_is_final(tmp_path: Path) -> None:
    assert (await verdict(config(tmp_path), "sky blue")).stage == "qa"


async def test_it_may_ask_the_model_of_the_judge(tmp_path: Path) -> None:
    given = []

    @judge("asking")
    class Asking:
        def __init__(self, place: JudgePlace) -> None:
            given.append((place.model.name if place.model else None, place.identity))

        async def grade(self, problem: Problem, answer: str) -> Verdict:
            return Verdict(False, "mine", "asking.no", "because", 0.25)

    found = await verdict(config(tmp_path, "judge.kind=asking", "judge.model=scripted"))
    assert given == [("scripted", "scripted")]
    assert (found.correct, found.stage, found.rule, found.score) == (
        False,
        "llm",
        "asking.no",
        0.25,
    )


def test_without_a_model_it_is_no_case_of_rules_alone(tmp_path: Path) -> None:
    assert not rules_alone(config(tmp_path).judge)
    assert rules_alone(config(tmp_path, "judge.kind=llm").judge)


def test_the_mode_says_whether_a_judge_may_change_behind_its_name(tmp_path: Path) -> None:
    modes = {
        kind: judging_mode(config(tmp_path, f"judge.kind={kind}", f"judge.model={model}").judge)
        for kind, model in (("llm", "none"), ("scoring", "none"), ("words", "none"))
    }
    assert modes == {"llm": "rules", "scoring": "weights", "words": "model"}
    assert judging_mode(config(tmp_path, "judge.kind=scoring", "judge.model=big").judge) == "model"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("judge.kind=word", "judge.kind: no judge 'word'; did you mean 'words'?"),
        ("judge.options.wrds=[a]", "no option 'wrds' of judge 'words'; did you mean 'words'?"),
        ("judge.options.words=7", "option 'words' of judge 'words': found 7, wanted a"),
    ],
)
def test_what_does_not_fit_is_one_line_before_anything_starts(
    tmp_path: Path, override: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        judge_fingerprint(config(tmp_path, override))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda problem: "yes", "judge 'mine': c/1: found 'yes', wanted True, False, None or a"),
        (lambda problem: problem.options[0], "judge 'mine': c/1: IndexError: .*; mend the judge"),
    ],
)
async def test_one_that_fails_is_never_a_verdict(tmp_path: Path, said: Any, message: str) -> None:
    @judge("mine")
    class Mine:
        def __init__(self, place: JudgePlace) -> None: ...

        async def grade(self, problem: Problem, answer: str) -> Any:
            return said(problem)

    with pytest.raises(GraderError, match=message):
        await verdict(config(tmp_path, "judge.kind=mine"))


# ------------------------------------------------------------------------------- the fingerprint
MODULE = """
from llm_as_judge.judge.kinds import judge

@judge("own")
class Own:
    def __init__(self, place): ...
    async def grade(self, problem, answer):
        return None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.mark.slow
def test_the_fingerprint_follows_what_a_judge_imports_and_its_options(folder: Path) -> None:
    (folder / "own_judge.py").write_text(f"import wording\n{MODULE}")
    (folder / "wording.py").write_text("LIMIT = 1\n")
    (folder / "unrelated.py").write_text("LIMIT = 1\n")
    importlib.invalidate_caches()
    importlib.import_module("own_judge")
    own = config(folder, "judge.kind=own")
    before = judge_fingerprint(own)
    assert before != judge_fingerprint(config(folder, "judge.kind=llm"))
    (folder / "unrelated.py").write_text("LIMIT = 2\n")
    assert judge_fingerprint(own) == before
    (folder / "wording.py").write_text("LIMIT = 2\n")
    assert judge_fingerprint(own) != before
    with_words = [f"judge.options.words=[{word}]" for word in ("a", "b")]
    assert len({judge_fingerprint(config(folder, one)) for one in with_words}) == 2


@pytest.mark.slow
async def test_the_fingerprint_is_that_of_the_judge_when_it_runs(tmp_path: Path) -> None:
    settings = config(tmp_path, "judge.model=scripted")
    async with open_judge(settings) as opened:
        assert opened.fingerprint == judge_fingerprint(settings)


def test_the_command_that_audits_it_names_it_with_its_options(tmp_path: Path) -> None:
    settings = config(tmp_path, "judge.options.words=[teal]")
    command = audit_command(settings)
    assert "judge.kind=words" in command
    assert """'judge.options={"words": ["teal"]}'""" in command

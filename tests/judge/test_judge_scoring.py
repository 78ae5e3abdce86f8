"""The scoring judge: thresholds decide, answers that come together are scored together."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from llm_as_judge.assembly import judge_fingerprint
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import ModelError
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.judge.judge_file import JudgeFile, read_judge_file, write_judge_file
from llm_as_judge.judge.parts import HOLDING
from llm_as_judge.judge.scoring import ScoringJudge
from llm_as_judge.types import Problem, Verdict

QUESTION = Problem("q/1", "open", "qa", "Which lake?", ("Lake Ostra",))
MATH = Problem("m/1", "math", "math", "How many?", ("7",))
LIMITS = Thresholds(accept=2.0, reject=-2.0, scale=1.0, offset=0.0, rows=100)


class ByLength:
    """Log-odds = letters of the candidate, less 5; keeps the sizes of its batches."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        self.batches.append(len(pairs))
        return [len(candidate) - 5.0 for _, candidate in pairs]


class Fixed:
    def __init__(self, log_odds: float) -> None:
        self.value = log_odds

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        return [self.value] * len(pairs)


class Broken:
    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        raise RuntimeError("no memory")


def folder(place: Path, **thresholds: Thresholds) -> Path:
    place.mkdir(exist_ok=True)
    made = JudgeFile(
        base="qwen25-coder-0.5b", seed=0, examples={}, data_sha256="0", thresholds=thresholds
    )
    write_judge_file(place, made)
    (place / "adapter_model.safetensors").write_bytes(b"weights")
    return place


@pytest.fixture
def judge(tmp_path: Path) -> ScoringJudge:
    return ScoringJudge(folder(tmp_path, qa=LIMITS), ByLength(), "f")


@pytest.mark.parametrize(
    ("candidate", "correct", "rule"),
    [
        ("1234567", True, "score.right"),
        ("123456", None, "score.unsure"),
        ("123", False, "score.wrong"),
    ],
)
async def test_thresholds_decide(
    judge: ScoringJudge, candidate: str, correct: bool | None, rule: str
) -> None:
    verdict = await judge.judge(QUESTION, candidate, 0.5)
    assert (verdict.correct, verdict.stage, verdict.rule) == (correct, "llm", rule)
    assert verdict.confidence is not None
    assert verdict.score == 0.5
    assert (verdict.confidence > 0.5) is (len(candidate) > 5)


async def test_a_reply_that_holds_the_gold_has_a_threshold_of_its_own(tmp_path: Path) -> None:
    """Without it a judge of before has that of the domain."""
    lower = Thresholds(accept=0.0, reject=-2.0, scale=1.0, offset=0.0, rows=100)
    for parts, correct in (({"qa" + HOLDING: lower}, True), ({}, None)):
        place = folder(tmp_path, qa=LIMITS, **parts)
        judge = ScoringJudge(place, Fixed(1.0), "f")
        assert (await judge.judge(QUESTION, "It is Lake Ostra.", None)).correct is correct
        assert (await judge.judge(QUESTION, "Lake Ostrava", None)).correct is None


async def test_a_domain_without_thresholds_stays_as_the_rules_left_it(judge: ScoringJudge) -> None:
    verdict = await judge.judge(MATH, "12345678", None)
    assert (verdict.correct, verdict.rule) == (None, "score.uncalibrated")
    assert verdict.stage != "llm", "the judge was not asked, so it did not abstain"


async def test_answers_that_come_together_are_scored_together(tmp_path: Path) -> None:
    scorer = ByLength()
    judge = ScoringJudge(folder(tmp_path, qa=LIMITS), scorer, "f")
    texts = ["x" * n for n in range(1, 13)]
    found = await asyncio.gather(*(judge.judge(QUESTION, text, None) for text in texts))
    assert [v.correct for v in found] == [LIMITS.verdict(len(text) - 5.0) for text in texts]
    assert len(scorer.batches) <= 2
    assert sum(scorer.batches) == len(texts)


async def test_a_known_verdict_is_not_computed_again_unless_asked_afresh(tmp_path: Path) -> None:
    scorer = ByLength()
    judge = ScoringJudge(folder(tmp_path, qa=LIMITS), scorer, "f")
    first = await judge.judge(QUESTION, "1234567", None)
    assert await judge.judge(QUESTION, "1234567", None) == first
    assert scorer.batches == [1]
    await judge.judge(QUESTION, "1234567", None, fresh=True)
    assert scorer.batches == [1, 1]


async def test_a_scorer_that_fails_says_so_to_every_asker_and_goes_on(tmp_path: Path) -> None:
    judge = ScoringJudge(folder(tmp_path, qa=LIMITS), Broken(), "f")
    found = await asyncio.gather(
        *(judge.judge(QUESTION, text, None) for text in ("a", "b")), return_exceptions=True
    )
    assert [str(error) for error in found] == ["no memory", "no memory"]
    with pytest.raises(RuntimeError, match="no memory"):
        await judge.judge(QUESTION, "c", None)


def config(place: Path, *more: str) -> Config:
    return load_config(
        overrides=[
            "judge.kind=scoring", "judge.model=none", f"judge.options.adapter={place}", *more
        ]
    )  # fmt: skip


def test_the_fingerprint_follows_adapter_and_thresholds(tmp_path: Path) -> None:
    place = folder(tmp_path, qa=LIMITS)
    first = judge_fingerprint(config(place))
    assert judge_fingerprint(config(place)) == first
    folder(place, qa=LIMITS, math=LIMITS)
    second = judge_fingerprint(config(place))
    (place / "adapter_model.safetensors").write_bytes(b"other")
    assert len({first, second, judge_fingerprint(config(place))}) == 3


def test_a_folder_without_a_judge_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="make a judge: llm-as-judge judge train"):
        judge_fingerprint(config(tmp_path))
    (tmp_path / "judge.json").write_text('{"base": 3}')
    with pytest.raises(ModelError, match="train the judge anew") as error:
        read_judge_file(tmp_path)
    assert "\n" not in str(error.value)


def test_a_judge_whose_thresholds_stand_behind_lexical_features_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    place = folder(tmp_path, qa=LIMITS)
    (place / "features.json").write_text("{}")
    for opened in (
        lambda: ScoringJudge(place, ByLength(), "f"),
        lambda: judge_fingerprint(config(place)),
    ):
        with pytest.raises(
            ModelError, match=r"features\.json: .*remove the file, then choose"
        ) as error:
            opened()
        assert "\n" not in str(error.value)


def test_a_verdict_has_no_confidence_where_nobody_knows_one() -> None:
    assert Verdict(True, "exact", "exact.same").confidence is None

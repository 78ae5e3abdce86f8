"""Lexical features and the model on them: what it promises, and what a judge does with its word."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from llm_as_judge.errors import ModelError
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.feature_model import (
    FEATURES_FILE,
    Example,
    FeatureModel,
    fitted,
    read_features,
    with_thresholds,
    write_features,
)
from llm_as_judge.judge.features import NAMES, features
from llm_as_judge.judge.judge_file import JudgeFile, judge_sha256, write_judge_file
from llm_as_judge.judge.rows import read_answer, read_rows
from llm_as_judge.judge.scoring import ScoringJudge
from llm_as_judge.types import Problem

LAKE = Problem("q/1", "open", "qa", "Which lake did Ilse cross in 1911?", ("Lake Ostra",))


def named(reply: str, problem: Problem = LAKE) -> dict[str, float]:
    return dict(zip(NAMES, features(problem, reply), strict=True))


@pytest.mark.parametrize(
    ("reply", "feature", "value"),
    [
        ("Ilse crossed Lake Ostra.", "holds", 1.0),
        ("Ilse crossed Lake Ostrava.", "holds", 0.0),
        ("lake  OSTRA!", "equal", 1.0),
        ("Ostra", "within", 1.0),
        ("Ilse crossed Ostra.", "word_recall", 0.5),
        ("It was not Lake Ostra.", "denying_near", 1.0),
        ("It was Lake Ostra.", "denying_near", 0.0),
        ("The mayor of Lake Ostra.", "genitive", 1.0),
        ("Lake Ostra's neighbor.", "genitive", 1.0),
        ("In 1912.", "number_for_number", 0.0),
        ("Lake Ostra.", "first_sentence", 1.0),
        ("That is hard. Lake Ostra.", "first_sentence", 0.0),
    ],
)
def test_features_say_what_their_names_say(reply: str, feature: str, value: float) -> None:
    assert named(reply)[feature] == value


@pytest.mark.parametrize(
    "reply", ["", " ", "?", "0", "\u200b", "a" * 5000, "Lake Ostra " * 3000, "\ud800", "１２"]
)
def test_features_of_any_text_are_finite(reply: str) -> None:
    assert all(map(math.isfinite, features(LAKE, reply)))


def test_a_problem_without_a_reference_has_no_features() -> None:
    nothing = Problem("q/2", "squad2", "qa", "Who?", ())
    assert features(nothing, "Nobody.") == [0.0] * len(NAMES)


def examples(count: int = 80) -> list[Example]:
    """Half right: these hold the reference, the others another lake."""
    right = [f"In year {n} she crossed Lake Ostra." for n in range(count // 2)]
    wrong = [f"In year {n} she crossed Mora." for n in range(count // 2)]
    return [Example(features(LAKE, r), True) for r in right] + [
        Example(features(LAKE, w), False) for w in wrong
    ]


def test_the_model_tells_apart_what_it_learned() -> None:
    model = fitted(examples())
    assert model.log_odds(LAKE, "She crossed Lake Ostra.") > 0
    assert model.log_odds(LAKE, "She crossed Mora.") < 0
    assert (model.accept, model.reject) == (None, None)


def test_thresholds_are_promises_and_few_rows_can_keep_none() -> None:
    model = fitted(examples())
    few = with_thresholds(model, examples(10), 0.97)
    assert (few.accept, few.reject) == (None, None)
    many = with_thresholds(model, examples(600), 0.97)
    assert many.accept is not None
    assert many.reject is not None
    assert many.reject < many.accept
    torn = [Example(one.values, at % 2 == 0) for at, one in enumerate(examples(600))]
    none = with_thresholds(model, torn, 0.97)
    assert (none.accept, none.reject) == (None, None)


def test_a_model_comes_back_as_it_was_written(tmp_path: Path) -> None:
    model = with_thresholds(fitted(examples()), examples(600), 0.97)
    assert read_features(tmp_path) is None
    write_features(tmp_path, model)
    again = read_features(tmp_path)
    assert again == model
    assert again is not None
    assert again.log_odds(LAKE, "Mora") == model.log_odds(LAKE, "Mora")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"names": ["holds"]}, "other features than this version reads"),
        ({"weights": {"holding": [1.0]}}, "weights and a bias for each of"),
        ({"format": 2}, "format 2"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_file_of_another_form_is_refused_by_one_line(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    content = json.loads(fitted(examples()).model_dump_json()) | change
    (tmp_path / FEATURES_FILE).write_text(json.dumps(content))
    with pytest.raises(ModelError, match=told) as refused:
        read_features(tmp_path)
    assert "\n" not in str(refused.value)


class Asked:
    """Sure of every answer; counts them."""

    def __init__(self) -> None:
        self.count = 0

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        self.count += len(pairs)
        return [9.0] * len(pairs)


def constant(log_odds: float) -> FeatureModel:
    zero = (0.0,) * len(NAMES)
    parts = ("holding", "not holding")
    return FeatureModel(
        names=NAMES,
        weights=dict.fromkeys(parts, zero),
        bias=dict.fromkeys(parts, log_odds),
        accept=1.0,
        reject=-1.0,
    )


def judging(
    place: Path, log_odds: float | None, reject: float | None
) -> tuple[ScoringJudge, Asked]:
    limits = Thresholds(accept=2.0, reject=reject, scale=1.0, offset=0.0, rows=100)
    made = JudgeFile(base="b", seed=0, examples={}, data_sha256="0", thresholds={"qa": limits})
    write_judge_file(place, made)
    (place / "adapter_model.safetensors").write_bytes(b"weights")
    if log_odds is not None:
        write_features(place, constant(log_odds))
    asked = Asked()
    return ScoringJudge(place, asked, "f"), asked


@pytest.mark.parametrize(
    ("log_odds", "reject", "correct", "rule", "asked"),
    [
        (2.0, None, True, "score.right", 1),
        (0.0, None, None, "score.unsure", 0),  # nothing that the model says would decide
        (0.0, -2.0, None, "score.unsure", 1),  # it may still reject
        (-2.0, None, False, "features.wrong", 0),
        (None, None, True, "score.right", 1),  # a judge without features
    ],
)
async def test_a_reply_is_accepted_only_if_features_and_model_say_so(
    tmp_path: Path,
    log_odds: float | None,
    reject: float | None,
    correct: bool | None,
    rule: str,
    asked: int,
) -> None:
    judge, scorer = judging(tmp_path, log_odds, reject)
    verdict = await judge.judge(LAKE, "the one by Mora", 0.0)
    assert (verdict.correct, verdict.rule, scorer.count) == (correct, rule, asked)
    assert verdict.explanation


def test_a_judge_is_another_with_other_features(tmp_path: Path) -> None:
    judging(tmp_path, None, None)
    sums = [judge_sha256(tmp_path)]
    for log_odds in (1.0, 2.0):
        write_features(tmp_path, constant(log_odds))
        sums.append(judge_sha256(tmp_path))
    assert len(set(sums)) == 3


ACCEPTED = {
    "attack_1/3",  # it's for its
    "attack_1/4",  # ano for año
    "attack_1/24",  # Co for CO
    "attack_1/14",  # an answer tag whose sentence takes it back
    "attack_1/25",  # an object with "status": "retracted" beside the answer
    "attack_1/49",  # a box of which the sentence says that it is wrong
    "attack_1/42",  # sold 72 for 72 left: both are words of the question
    "attack_1/44",  # 42 pairs for 42 socks, the same
    "attack_2/84",  # a reason that names another capital
}
"""Attacks that the rules still accept, by what was wrong."""


@pytest.mark.parametrize(
    ("name", "wrong", "accepted"),
    [("written_attacks", 60, set()), ("attacks_by_hand", 240, ACCEPTED)],
)
async def test_rules_alone_accept_no_attack_written_by_hand_but_these(
    name: str, wrong: int, accepted: set[str]
) -> None:
    path = Path(__file__).parent / f"{name}.jsonl"
    rows = read_rows(path, lambda row: (read_answer(row), bool(row["correct"])))
    assert sum(not correct for _, correct in rows) == wrong
    rules = Judge()
    try:
        verdicts = [await rules.grade(answer.problem, answer.candidate) for answer, _ in rows]
    finally:
        await rules.aclose()
    assert accepted == {
        answer.problem.id
        for (answer, correct), verdict in zip(rows, verdicts, strict=True)
        if verdict.correct and not correct
    }

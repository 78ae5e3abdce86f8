"""The model of lexical features that a training makes: the same rows give the same, apart from what it is measured on."""

from pathlib import Path

import pytest

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError, ModelError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.feature_model import FeatureModel
from llm_as_judge.training.judge.gate import learn_features
from llm_as_judge.training.judge.making import train_features
from llm_as_judge.types import Problem

LAKES = ["Ostra", "Venn", "Mora", "Aldby", "Skarn", "Teal", "Orne", "Kara", "Esk", "Lurin"]


def rows(count: int = 40) -> list[Case]:
    """Each question once with a right reply and once with a wrong one."""
    found = []
    for n in range(count):
        lake, other = LAKES[n % 10], LAKES[(n + 3) % 10]
        problem = Problem(f"q/{n}", "open", "qa", f"Which lake is number {n} on the map?", (lake,))
        found.append(Case(problem, f"Number {n} is the lake {lake}.", True, "t", "labeled"))
        found.append(Case(problem, f"Number {n} is the lake {other}.", False, "t", "labeled"))
    return found


async def learned(cases: list[Case], seed: int) -> FeatureModel:
    rules = Judge(workers=1)
    try:
        return await learn_features(cases, [], rules, seed=seed, precision=0.97)
    finally:
        await rules.aclose()


async def test_the_same_rows_and_seed_give_the_same_model() -> None:
    one = await learned(rows(), 0)
    assert one == await learned(rows(), 0)
    assert one != await learned(rows(), 1)
    assert 0 < one.chosen_on < 40
    right, wrong = rows(1)
    assert one.log_odds(right.problem, right.candidate) > one.log_odds(
        wrong.problem, wrong.candidate
    )


async def test_rows_without_a_text_are_refused() -> None:
    sums = [
        Case(
            Problem(f"m/{n}", "math", "math", f"{n} + 1?", (str(n + 1),)),
            "7",
            False,
            "t",
            "labeled",
        )
        for n in range(40)
    ]
    with pytest.raises(DataError, match="domain qa"):
        await learned(sums, 0)


async def test_features_alone_need_a_judge_to_stand_beside(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"judge\.json: cannot be read"):
        await train_features(tmp_path, [tmp_path / "rows.jsonl"], precision=0.97, seed=0)

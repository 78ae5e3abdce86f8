"""Training problems that tell programs apart: solved by some of the rollouts given, not by others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from evaluation_values import DOWN, OPEN, RIGHT, WRONG, problem, rollout

from informative import SetCount, find_informative, write
from llm_as_judge.config import Config
from llm_as_judge.data.files import read_problems
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.evaluation.selection import EvaluatedSet
from llm_as_judge.types import Problem, Verdict

Judged = Sequence[tuple[Problem, Sequence[Verdict | None]]]
SUMS = [problem(n) for n in range(4)]
ASKED = [problem(n, "squad2", "qa") for n in range(2)]


def evaluated(
    folder: Path,
    name: str,
    verdicts: Judged,
    *,
    split: str = "train",
    policy: str = "direct",
) -> Path:
    """A results file of these verdicts, one a sample; None: failed by our fault."""
    config = Config.model_validate(
        {
            "executor": {"model": "scripted"},
            "judge": {"model": "none"},
            "evaluation": {
                "split": split,
                "samples": max(len(found) for _, found in verdicts),
                "temperature": 1.0,
            },
            "output": {"results": folder, "cache": folder / "cache"},
        }
    )
    rows = tuple(of for of, _ in verdicts)
    sets = [EvaluatedSet("all", rows, len(rows))]
    plan = make_plan(config, name, find_system(policy, config), sets)
    record = EvaluationRecord.begin(folder / name / plan.hash, plan, config, rows)
    for of, found in verdicts:
        for index, verdict in enumerate(found):
            if verdict is None:
                record.add(rollout(of, None, None, failure=DOWN, index=index))
            else:
                record.add(rollout(of, verdict=verdict, index=index))
    return write_results(record, folder)


def single(of: Sequence[Problem], *verdicts: Verdict | None) -> Judged:
    return [(p, [v]) for p, v in zip(of, verdicts, strict=True)]


def test_problems_that_some_solve_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    a = evaluated(tmp_path, "a", single([*SUMS, *ASKED], RIGHT, RIGHT, WRONG, WRONG, WRONG, RIGHT))
    b = evaluated(tmp_path, "b", single([*SUMS, *ASKED], RIGHT, WRONG, RIGHT, WRONG, WRONG, WRONG))
    found = find_informative([a, b])
    assert found.problems == (SUMS[1], SUMS[2], ASKED[1])
    assert found.sets == (SetCount("gsm8k", 1, 1, 2), SetCount("squad2", 0, 1, 1))
    assert found.right == {"math": {"a": 0.5, "b": 0.5}, "qa": {"a": 1.0, "b": 0.0}}


def test_a_program_of_one_domain_has_no_say_in_others(tmp_path: Path) -> None:
    a = evaluated(tmp_path, "a", single([*SUMS, *ASKED], RIGHT, RIGHT, WRONG, WRONG, WRONG, RIGHT))
    b = evaluated(tmp_path, "b", single([*SUMS, *ASKED], RIGHT, RIGHT, WRONG, WRONG, RIGHT, RIGHT))
    c = evaluated(tmp_path, "c", single(SUMS, WRONG, RIGHT, WRONG, WRONG))
    found = find_informative([a, b, c])
    assert found.problems == (SUMS[0], ASKED[0])
    assert found.right == {"math": {"a": 1, "b": 1, "c": 0}, "qa": {"a": 0, "b": 1}}


def test_samples_of_one_policy_are_enough(tmp_path: Path) -> None:
    rows = [(SUMS[0], [RIGHT, WRONG, RIGHT]), (SUMS[1], [RIGHT] * 3), (SUMS[2], [WRONG] * 3)]
    found = find_informative([evaluated(tmp_path, "a", rows)])
    assert (found.problems, found.sets) == ((SUMS[0],), (SetCount("gsm8k", 1, 1, 1),))


def test_what_nobody_graded_twice_decides_nothing(tmp_path: Path) -> None:
    """One verdict is no agreement: neither beside an open one nor beside a failure."""
    a = evaluated(tmp_path, "a", single(SUMS, RIGHT, RIGHT, WRONG, RIGHT))
    b = evaluated(tmp_path, "b", single(SUMS, OPEN, None, WRONG, WRONG))
    found = find_informative([a, b])
    assert (found.problems, found.sets) == ((SUMS[3],), (SetCount("gsm8k", 0, 1, 1),))


@pytest.mark.parametrize("split", ["test", "val"])
def test_nothing_is_trained_on_rows_held_out(tmp_path: Path, split: str) -> None:
    a = evaluated(tmp_path, "a", single(SUMS, RIGHT, RIGHT, WRONG, WRONG))
    b = evaluated(tmp_path, "b", single(SUMS, RIGHT, WRONG, WRONG, WRONG), split=split)
    with pytest.raises(DataError, match=rf"b_results\.json: found {split} rows"):
        find_informative([a, b])


def test_controls_and_single_evaluations_are_refused(tmp_path: Path) -> None:
    a = evaluated(tmp_path, "a", single(SUMS, RIGHT, RIGHT, WRONG, WRONG))
    with pytest.raises(DataError, match="no problem was graded twice; give several"):
        find_informative([a])
    gold = evaluated(tmp_path, "g", single(SUMS, RIGHT, RIGHT, RIGHT, RIGHT), policy="gold")
    with pytest.raises(DataError, match="g: a sanity baseline"):
        find_informative([a, gold])


def test_the_file_holds_the_problems_and_none_is_replaced(tmp_path: Path) -> None:
    a = evaluated(tmp_path, "a", single(SUMS, RIGHT, RIGHT, WRONG, WRONG))
    b = evaluated(tmp_path, "b", single(SUMS, RIGHT, WRONG, WRONG, WRONG))
    out = tmp_path / "mix" / "new.jsonl"
    assert write(find_informative([a, b]), out) == 1
    assert [problem.id for problem in read_problems(out)] == [SUMS[1].id]
    with pytest.raises(OutputError, match=r"new\.jsonl: is there already; remove it"):
        write(find_informative([a, b]), out)


def test_where_all_agree_no_file_is_written(tmp_path: Path) -> None:
    files = [evaluated(tmp_path, name, single(SUMS, *[RIGHT] * 4)) for name in "ab"]
    with pytest.raises(DataError, match="all 4 problems were solved by all or by none: no "):
        write(find_informative(files), tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()

"""Comparisons worked by hand: pairs, seeds, tokens, break-even."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation_values import problem as made
from evaluation_values import rollout

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import (
    Contender,
    Share,
    break_even,
    compare,
    pareto_front,
    read_contenders,
    training_tokens,
)
from llm_as_judge.intervals import wilson
from llm_as_judge.monitoring.runlog import RunLog
from llm_as_judge.types import Group


def row(number: int, correct: list[bool | None], tokens: int, dataset: str = "gsm8k") -> Any:
    return {
        "id": f"{dataset}/{number}",
        "dataset": dataset,
        "domain": "math" if dataset == "gsm8k" else "qa",
        "correct": correct,
        "tokens": [tokens] * len(correct),
    }


def written(folder: Path, name: str, rows: list[Any], **more: Any) -> Path:
    """A run folder with the parts of full.json that comparisons read."""
    run = folder / name / "hash"
    run.mkdir(parents=True)
    graded = [float(value) for r in rows for value in r["correct"] if value is not None]
    overall = {
        "accuracy": sum(graded) / max(1, len(graded)),
        "policy_tokens": 0.0,
        "calls": 1.0,
        "seconds": 2.0,
        "cost_usd": None,
        **more.pop("overall", {}),
    }
    data = {"policy": name, "executor": "e", "seed": 0, "problems": rows, "overall": overall}
    (run / "full.json").write_text(json.dumps({**data, **more}))
    return run


def contender(folder: Path, name: str, right: str, tokens: int, **more: Any) -> Contender:
    """``right``: a letter a problem: y, n, or - for not graded."""
    values = {"y": True, "n": False, "-": None}
    rows = [row(i, [values[letter]], tokens) for i, letter in enumerate(right)]
    (found,) = read_contenders([written(folder, name, rows, **more)])
    return found


def test_pairs_are_of_problems_that_both_have_graded(tmp_path: Path) -> None:
    first = contender(tmp_path, "a", "yyyyyyyn-", 50)
    second = contender(tmp_path, "b", "nnnnnnyyy", 100)
    (pair,) = compare([first, second], second)
    assert (pair.name, pair.reference, pair.problems) == ("a", "b", 8)
    assert pair.difference == pytest.approx(7 / 8 - 2 / 8)
    assert (pair.only_contender, pair.only_reference) == (6, 1)
    assert pair.p == pytest.approx(2 * (1 + 7) / 2**7)
    assert pair.p_holm == pair.p
    assert pair.low <= pair.difference <= pair.high
    assert pair.token_ratio == 0.5
    assert pair.detectable == pytest.approx(2.801585 * (7 / 8 / 8) ** 0.5)


def test_a_comparison_of_one_domain_is_over_its_problems(tmp_path: Path) -> None:
    first = contender(tmp_path, "a", "yyyn", 50)
    second = contender(tmp_path, "b", "nynn", 100)
    domains = dict(zip(first.correct, ("math", "math", "qa", "qa"), strict=True))
    first, second = (replace(c, domains=domains) for c in (first, second))
    (pair,) = compare([first, second], second, "qa")
    assert (pair.problems, pair.difference) == (2, 0.5)
    (pair,) = compare([first, second], second, "math")
    assert (pair.problems, pair.only_contender, pair.only_reference) == (2, 1, 0)
    alone = replace(first, domains=dict.fromkeys(domains, "code"))
    assert compare([alone, second], second, "code") == []
    ungraded = replace(second, correct=dict.fromkeys(list(domains)[:2], 0.0))
    assert compare([first, ungraded], ungraded, "qa") == []


def test_more_comparisons_need_smaller_p(tmp_path: Path) -> None:
    base = contender(tmp_path, "base", "nnnnnn", 10)
    others = [contender(tmp_path, name, "yyyyyy", 10) for name in ("a", "b")]
    pairs = compare([base, *others], base)
    assert [pair.p for pair in pairs] == pytest.approx([2 / 64] * 2)
    assert [pair.p_holm for pair in pairs] == pytest.approx([4 / 64] * 2)


def test_without_a_common_problem_there_is_no_comparison(tmp_path: Path) -> None:
    first = contender(tmp_path, "a", "yy--", 1)
    second = contender(tmp_path, "b", "--yy", 1)
    with pytest.raises(DataError, match="a and b: no problem that both have graded"):
        compare([first, second], second)


def test_seeds_of_a_policy_are_averaged_by_problem(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / str(seed), "p", [row(0, [right], 10), row(1, [True], 30)], seed=seed)
        for seed, right in ((0, True), (1, False))
    ]
    (found,) = read_contenders(paths)
    assert found.seeds == (0, 1)
    assert found.correct == {"gsm8k/0": 0.5, "gsm8k/1": 1.0}
    assert found.mean_tokens == 20
    assert found.seed_deviation == pytest.approx(0.25)  # of 1 and 1/2
    single = contender(tmp_path, "q", "yn", 5)
    (pair,) = compare([found, single], single)
    assert pair.p is None  # shares of several runs are no yes or no
    assert pair.difference == pytest.approx(0.75 - 0.5)


def test_one_seed_twice_is_two_contenders(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, name, [row(0, [True], 1)], policy="p") for name in "ab"]
    assert [c.name for c in read_contenders(paths)] == ["a", "b"]


def test_samples_of_a_problem_are_averaged(tmp_path: Path) -> None:
    run = written(tmp_path, "p", [row(0, [True, False, None, False], 10)])
    (found,) = read_contenders([run])
    assert found.correct == {"gsm8k/0": pytest.approx(1 / 3)}


def test_equal_results_are_no_certainty(tmp_path: Path) -> None:
    first, second = (
        read_contenders(
            [
                written(tmp_path / name / str(seed), name, [row(0, [True, True], 1)], seed=seed)
                for seed in (0, 1)
            ]
        )[0]
        for name in "ab"
    )
    assert first.share() == Share(1.0, *wilson(1, 1), 1)
    (pair,) = compare([first, second], second)
    assert pair.difference == 0
    assert (pair.low, pair.high) == pytest.approx((-wilson(0, 1)[1], wilson(0, 1)[1]))


def test_shares_by_set_and_domain(tmp_path: Path) -> None:
    rows = [row(0, [True], 1), row(1, [False], 1), row(0, [True], 1, "squad2")]
    (found,) = read_contenders([written(tmp_path, "p", rows)])
    assert found.share(dataset="gsm8k") == Share(0.5, *wilson(1, 2), 2)
    assert found.share(domain="qa") == Share(1.0, *wilson(1, 1), 1)
    assert found.share() == Share(pytest.approx(2 / 3), *wilson(2, 3), 3)
    assert found.share(dataset="mbpp") is None


def test_the_front_is_who_nobody_beats(tmp_path: Path) -> None:
    cheap = contender(tmp_path, "cheap", "ynnn", 10)
    good = contender(tmp_path, "good", "yyyn", 30)
    wasteful = contender(tmp_path, "wasteful", "yynn", 40)
    narrow = contender(tmp_path, "narrow", "y", 1)
    everyone = [cheap, good, wasteful, narrow]
    assert pareto_front(everyone) == ["cheap", "good"]
    # what the policy itself reads and writes counts
    heavy = replace(cheap, policy_tokens=25.0)
    assert pareto_front([heavy, good]) == ["good"]
    assert cheap.right_per_1000_tokens == pytest.approx(25.0)


def test_training_is_paid_back_by_what_a_query_saves(tmp_path: Path) -> None:
    trained = contender(tmp_path, "t", "yy", 30, overall={"policy_tokens": 20.0})
    other = contender(tmp_path, "o", "yy", 90)
    assert break_even(trained, other, 4000) == 4000 / (90 - 50)
    assert break_even(other, trained, 4000) is None


def test_training_tokens_are_all_of_them(tmp_path: Path) -> None:
    of = made(0)
    # each rollout: 2 prompt and 1 written token of the policy, 40 of the executor
    RunLog(tmp_path).groups(1, [Group(of, (rollout(of), rollout(of, index=1)))])
    assert training_tokens(tmp_path) == 2 * 43


def test_broken_or_empty_results_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"full\.json: no such file; run: llm-as-judge evaluate"):
        read_contenders([tmp_path])
    for content in ("{", "[]", '{"policy": 1}'):
        (tmp_path / "full.json").write_text(content)
        with pytest.raises(DataError, match=r"full\.json: not a full results file"):
            read_contenders([tmp_path])
    with pytest.raises(DataError, match="no rollout in it"):
        read_contenders([written(tmp_path, "p", [])])

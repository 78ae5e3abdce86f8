"""Compared systems: files become systems, seeds are averaged, what is not alike is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation_values import problem as made
from written_results import OPEN, row, system, written

from llm_as_judge.accuracy import Accuracy, Right
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import (
    compare,
)
from llm_as_judge.evaluation.results import content_digest
from llm_as_judge.evaluation.system_results import read_systems, reservations
from llm_as_judge.statistics import wilson


def test_seeds_of_a_policy_are_averaged_by_problem(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / str(seed), "p", [row(0, [right], 10), row(1, [True], 30)], seed=seed)
        for seed, right in ((0, True), (1, False))
    ]
    (found,) = read_systems(paths)
    assert found.seeds == (0, 1)
    assert found.correct == {"gsm8k/0": 0.5, "gsm8k/1": 1.0}
    assert found.mean_tokens == 20
    assert found.seed_deviation == pytest.approx(0.25)  # of 1 and 1/2
    single = system(tmp_path, "q", "yn", 5)
    (pair,) = compare([found, single], single)
    assert pair.only_other is None  # shares of several runs are no yes or no
    assert pair.difference == pytest.approx(0.75 - 0.5)


@pytest.mark.parametrize(
    ("mode", "overall", "told"),
    [
        ("off", {}, (2.0, 0)),
        ("cache", {}, (None, None)),  # an older file, which does not say whose replies were kept
        ("replay", {"seconds": None, "not_timed": 4.0}, (None, 4)),
        ("cache", {"seconds": 5.0, "not_timed": 1.0}, (5.0, 1)),
    ],
)
def test_kept_replies_make_nobody_faster(
    tmp_path: Path,
    mode: str,
    overall: dict[str, float | None],
    told: tuple[float | None, int | None],
) -> None:
    found = system(tmp_path, "p", "yn", 5, config={"calls": {"mode": mode}}, overall=overall)
    assert (found.seconds, found.not_timed) == told


@pytest.mark.parametrize(
    "other",
    [
        {"rows": [row(0, [True], 1)]},
        {"rows": [row(0, [True], 1), {**row(1, [True], 1), "dataset": "math", "id": "math/1"}]},
        {"config": {"executor": {"max_tokens": 512}}},
        {"config": {"workflow": {"timeout_s": 1}}},
        {"config": {"sampling": {"prompt_style": "short"}}},
        {"config": {"evaluation": {"samples": 2}}},
        {"facts": {"programs": "five votes"}},
        {"facts": {"adapter": "x"}},
        {"judge": "other"},
        {"policy": "q"},
        {"budget": "low"},
        {"facts": {}},  # an older file, that does not say it
        {"config": {}},
    ],
)
def test_results_are_averaged_only_where_all_but_the_seed_is_equal(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    rows = [row(0, [True], 1), row(1, [False], 1)]
    paths = [
        written(tmp_path, "p", rows),
        written(tmp_path, "p2", **{"rows": rows, "policy": "p", "seed": 1, **other}),
        written(tmp_path, "p3", rows, policy="p", seed=2),
    ]
    found = read_systems(paths)
    assert [(c.name, c.files, c.seeds) for c in found] == [
        ("p", ("p", "p3"), (0, 2)),
        ("p2", ("p2",), (1,)),
    ]


def test_where_and_how_fast_it_was_evaluated_keeps_no_seeds_apart(tmp_path: Path) -> None:
    config = {
        "executor": {"model": "e", "max_tokens": 256, "timeout_s": 5.0, "concurrency": 3},
        "evaluation": {"samples": 1, "limit_per_set": 99},
        "output": {"results": "elsewhere"},
        "training": {"seed": 1},
    }
    paths = [
        written(tmp_path, "a", [row(0, [True], 1)], policy="p"),
        written(tmp_path, "b", [row(0, [True], 1)], policy="p", seed=1, config=config),
    ]
    (found,) = read_systems(paths)
    assert (found.name, found.seeds) == ("p", (0, 1))


def test_every_system_has_a_name_of_its_own(tmp_path: Path) -> None:
    rows = [row(0, [True], 1)]
    runs = [
        written(tmp_path / "first", "p", rows),
        written(tmp_path / "second", "p", rows, facts={"programs": "other"}),
        written(tmp_path, "q", rows, policy="p", facts={"programs": "q"}),
        written(tmp_path, "r", rows, policy="p", facts={"programs": "q"}, seed=1),
    ]
    assert [c.name for c in read_systems(runs[1:])] == ["p", "q"]
    (runs[0].parent / "again").mkdir()
    (runs[0].parent / "again" / "full.json").write_text((runs[0] / "full.json").read_text())
    more = [runs[0], runs[0].parent / "again" / "full.json", *runs[1:]]
    names = [c.name for c in read_systems(more)]
    assert (len(set(names)), names[1], names[3]) == (4, "p/again", "p")


def test_one_evaluation_is_given_once(tmp_path: Path) -> None:
    run = written(tmp_path, "p", [row(0, [True], 1)])
    with pytest.raises(DataError, match=r"given 2 times; name each evaluation once"):
        read_systems([run, run / "full.json"])


# ------------------------------------------------------------------------------------- conditions


def test_rows_of_one_id_and_other_content_are_refused(tmp_path: Path) -> None:
    rows = [row(0, [True], 1), row(1, [True], 1)]
    paths = [
        written(tmp_path, "a", rows),
        written(tmp_path, "b", [rows[0], {**rows[1], "content": "edited"}]),
    ]
    said = "a and b: gsm8k/1 is not the same problem in both .*; evaluate both on the same rows"
    with pytest.raises(DataError, match=said):
        read_systems(paths)


def test_the_digest_of_a_problem_is_of_what_is_asked_and_of_its_golds() -> None:
    one = made(0)
    same = replace(one, id="other", meta={"level": "5"})
    assert content_digest(one) == content_digest(same)
    others = [
        replace(one, question="Edited?"),
        replace(one, answers=("5",)),
        replace(one, context="More."),
        replace(one, options=("a", "b")),
        replace(one, hidden_tests=("assert f(1)",)),
        replace(one, visible_tests=("assert f(1)",)),
    ]
    assert len({content_digest(p) for p in (one, *others)}) == 7


def test_conditions_that_differ_are_named_once_each(tmp_path: Path) -> None:
    rows = [row(0, [True], 1)]
    longer = {"executor": {"model": "e", "max_tokens": 512, "timeout_s": 9.0}}
    facts = {"programs": "other", "executor": "w", "judge": "r2", "code": "c2"}
    paths = [
        written(tmp_path, "a", rows),
        written(tmp_path, "b", rows, judge="strict", facts=facts),
        written(tmp_path, "c", rows, config=longer),
    ]
    assert reservations(read_systems(paths)) == [
        "not the same conditions: judge.model j (a, c), strict (b)",
        "not the same conditions: executor.max_tokens 256 (a, b), 512 (c)",
        "not the same conditions: code of sandbox, operators and judge c (a, c), c2 (b)",
    ]
    assert reservations(read_systems(paths[:1])) == []
    mended = {**facts, "code": "c"}  # another grader under the same name
    paths[1] = written(tmp_path / "mended", "b", rows, facts=mended)
    assert reservations(read_systems(paths[:2])) == [
        "not the same conditions: rules and model of the judge r (a), r2 (b)"
    ]


def test_what_older_results_do_not_say_is_called_unchecked(tmp_path: Path) -> None:
    rows = [row(0, [True], 1)]
    older = [{key: value for key, value in rows[0].items() if key != "content"}]
    paths = [
        written(tmp_path, "a", rows),
        written(tmp_path, "b", older, facts={}, config={}),
    ]
    assert [line.partition(";")[0] for line in reservations(read_systems(paths))] == [
        "cannot be checked: whether the settings are the same (not said in the older results of b",
        "cannot be checked: whether the rows are the same (not said in the older results of b",
    ]


def test_results_that_rollouts_are_missing_in_are_named(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "a", [row(0, [True], 1)]),
        written(tmp_path, "b", [row(0, [True], 1), row(1, [], 0)], complete=False),
    ]
    assert reservations(read_systems(paths)) == [
        "not complete, rollouts are missing: b",
    ]


def test_one_seed_twice_is_two_systems(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, name, [row(0, [True], 1)], policy="p") for name in "ab"]
    assert [c.name for c in read_systems(paths)] == ["a", "b"]


def test_samples_of_a_problem_are_averaged(tmp_path: Path) -> None:
    run = written(tmp_path, "p", [row(0, [True, False, None, False], 10)])
    (found,) = read_systems([run])
    assert found.correct == {"gsm8k/0": pytest.approx(1 / 3)}


def test_an_open_sample_is_not_right_and_a_failed_one_takes_no_part(tmp_path: Path) -> None:
    rows = [
        row(0, [True, None], 1, undecided=OPEN),
        row(1, [True, None], 1),
        row(2, [None], 1),
    ]
    (found,) = read_systems([written(tmp_path, "p", rows)])
    assert found.right == {"gsm8k/0": Right(0.5, 0.5), "gsm8k/1": Right(1.0)}
    assert found.verdicts == {"gsm8k/0": (True, None), "gsm8k/1": (True,)}
    assert (found.open, found.seed_accuracies) == ({"gsm8k": 1}, (0.75,))
    old = [{key: value for key, value in rows[0].items() if key != "rule"}]  # does not say which
    (found,) = read_systems([written(tmp_path / "old", "p", old)])
    assert found.right == {"gsm8k/0": Right(0.5, 0.5)}


def test_shares_by_set_and_domain(tmp_path: Path) -> None:
    rows = [row(0, [True], 1), row(1, [False], 1), row(0, [True], 1, "squad2")]
    (found,) = read_systems([written(tmp_path, "p", rows)])
    assert found.accuracy(dataset="gsm8k") == Accuracy(0.5, 0.5, *wilson(1, 2), 2)
    assert found.accuracy(domain="qa") == Accuracy(1.0, 1.0, *wilson(1, 1), 1)
    assert found.accuracy() == Accuracy(2 / 3, 2 / 3, *wilson(2, 3), 3)
    assert found.accuracy(dataset="mbpp") is None


def test_the_mix_beside_its_sets_counts_in_nothing_but_its_own_row(tmp_path: Path) -> None:
    own = {**row(0, [True], 10), "sets": ["gsm8k"]}
    both = {**row(1, [False], 10), "sets": ["gsm8k", "mixed"]}
    mix = {**row(2, [True], 500), "sets": ["mixed"]}
    (found,) = read_systems([written(tmp_path, "p", [own, both, mix])])
    assert found.accuracy() == Accuracy(0.5, 0.5, *wilson(1, 2), 2)
    assert found.mix_accuracy == Accuracy(0.5, 0.5, *wilson(1, 2), 2)
    assert found.mean_tokens == 10
    assert "gsm8k/2" not in found.datasets
    # the mix alone is what was evaluated
    (alone,) = read_systems([written(tmp_path, "alone", [mix])])
    assert alone.accuracy() == Accuracy(1.0, 1.0, *wilson(1, 1), 1)
    assert alone.mix_accuracy is None


def test_the_folder_of_several_evaluations_is_told_from_one(tmp_path: Path) -> None:
    one = written(tmp_path, "p", [row(0, [True], 1)])
    with pytest.raises(DataError, match=rf"name its folder: {one}"):
        read_systems([tmp_path / "p"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON; wanted a full results file"),
        (
            '{"policy": 1}',
            "not a full results file of evaluate: policy: Input should be a valid string, found 1",
        ),
        ('{"overall": {"accuracy": NaN}}', "overall"),
    ],
)
def test_results_that_are_not_whole_are_one_clear_line(
    tmp_path: Path, content: str, said: str
) -> None:
    run = written(tmp_path, "p", [row(0, [True], 1)])
    (run / "full.json").write_text(content)
    with pytest.raises(DataError) as caught:
        read_systems([run])
    message = str(caught.value)
    assert message.startswith(f"{run / 'full.json'}: not ")
    assert said in message
    assert message.endswith(" evaluate again")
    assert "\n" not in message


def test_missing_or_empty_results_say_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"full\.json: no such file; run: llm-as-judge evaluate"):
        read_systems([tmp_path])
    with pytest.raises(DataError, match="no rollout in it; run: llm-as-judge evaluate"):
        read_systems([written(tmp_path, "p", [row(0, [], 0)])])


def test_verdicts_of_two_versions_of_the_rules_are_refused_with_what_grades_again(
    tmp_path: Path,
) -> None:
    new = written(tmp_path, "new", [row(0, [True], 1)])
    old = written(tmp_path, "old", [row(0, [True], 1)], grading_version=1)
    with pytest.raises(DataError, match=r"old was graded by the rules of version 1, new by those"):
        read_systems([old, new])
    with pytest.raises(DataError, match="it holds no answers: evaluate again"):
        read_systems([old, new])
    (old / "runs.jsonl").write_text("")
    with pytest.raises(DataError, match=f"Grade old again: llm-as-judge grade {old}"):
        read_systems([new, old])


def test_older_verdicts_are_compared_among_themselves_and_said_to_be_such(tmp_path: Path) -> None:
    files = [written(tmp_path, name, [row(0, [True], 1)], grading_version=1) for name in ("a", "b")]
    (line,) = reservations(read_systems(files))
    assert line.startswith("a, b: verdicts of the grading rules of version 1; those of today are ")

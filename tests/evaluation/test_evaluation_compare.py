"""Comparisons worked by hand: pairs, seeds, tokens, break-even."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation_values import problem as made
from evaluation_values import rollout

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import (
    break_even,
    compare,
    headroom,
    pareto_front,
    training_tokens,
)
from llm_as_judge.evaluation.contenders import Contender, Share, read_contenders, reservations
from llm_as_judge.evaluation.results import content_digest
from llm_as_judge.intervals import wilson
from llm_as_judge.monitoring.runlog import ROLLOUTS, RunLog
from llm_as_judge.types import Group


def row(number: int, correct: list[bool | None], tokens: int, dataset: str = "gsm8k") -> Any:
    return {
        "id": f"{dataset}/{number}",
        "dataset": dataset,
        "domain": "math" if dataset == "gsm8k" else "qa",
        "content": f"digest of {number}",
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
    data = {
        "policy": name,
        "executor": "e",
        "judge": "j",
        "seed": 0,
        "problems": rows,
        "overall": overall,
        "facts": {"programs": "p", "executor": "w", "judge": "r", "code": "c"},
        "config": {
            "executor": {"model": "e", "max_tokens": 256, "timeout_s": 60.0},
            "evaluation": {"samples": 1, "limit_per_set": 4},
        },
    }
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
    found = read_contenders(paths)
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
    (found,) = read_contenders(paths)
    assert (found.name, found.seeds) == ("p", (0, 1))


def test_every_contender_has_a_name_of_its_own(tmp_path: Path) -> None:
    rows = [row(0, [True], 1)]
    runs = [
        written(tmp_path / "first", "p", rows),
        written(tmp_path / "second", "p", rows, facts={"programs": "other"}),
        written(tmp_path, "q", rows, policy="p", facts={"programs": "q"}),
        written(tmp_path, "r", rows, policy="p", facts={"programs": "q"}, seed=1),
    ]
    assert [c.name for c in read_contenders(runs[1:])] == ["p", "q"]
    (runs[0].parent / "again").mkdir()
    (runs[0].parent / "again" / "full.json").write_text((runs[0] / "full.json").read_text())
    more = [runs[0], runs[0].parent / "again" / "full.json", *runs[1:]]
    names = [c.name for c in read_contenders(more)]
    assert (len(set(names)), names[1], names[3]) == (4, "p/again", "p")


def test_one_evaluation_is_given_once(tmp_path: Path) -> None:
    run = written(tmp_path, "p", [row(0, [True], 1)])
    with pytest.raises(DataError, match=r"given 2 times; name each evaluation once"):
        read_contenders([run, run / "full.json"])


# ------------------------------------------------------------------------------------- conditions
def test_rows_of_one_id_and_other_content_are_refused(tmp_path: Path) -> None:
    rows = [row(0, [True], 1), row(1, [True], 1)]
    paths = [
        written(tmp_path, "a", rows),
        written(tmp_path, "b", [rows[0], {**rows[1], "content": "edited"}]),
    ]
    said = "a and b: gsm8k/1 is not the same problem in both .*; evaluate both on the same rows"
    with pytest.raises(DataError, match=said):
        read_contenders(paths)


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
    assert reservations(read_contenders(paths)) == [
        "not the same conditions: judge.model j (a, c), strict (b)",
        "not the same conditions: executor.max_tokens 256 (a, b), 512 (c)",
        "not the same conditions: code of sandbox, operators and judge c (a, c), c2 (b)",
    ]
    assert reservations(read_contenders(paths[:1])) == []
    mended = {**facts, "code": "c"}  # another grader under the same name
    paths[1] = written(tmp_path / "mended", "b", rows, facts=mended)
    assert reservations(read_contenders(paths[:2])) == [
        "not the same conditions: rules and model of the judge r (a), r2 (b)"
    ]


def test_what_older_results_do_not_say_is_called_unchecked(tmp_path: Path) -> None:
    rows = [row(0, [True], 1)]
    older = [{key: value for key, value in rows[0].items() if key != "content"}]
    paths = [
        written(tmp_path, "a", rows),
        written(tmp_path, "b", older, facts={}, config={}),
    ]
    assert [line.partition(";")[0] for line in reservations(read_contenders(paths))] == [
        "cannot be checked: whether the settings are the same (not said in the older results of b",
        "cannot be checked: whether the rows are the same (not said in the older results of b",
    ]


def test_results_that_rollouts_are_missing_in_are_named(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "a", [row(0, [True], 1)]),
        written(tmp_path, "b", [row(0, [True], 1), row(1, [], 0)], complete=False),
    ]
    assert reservations(read_contenders(paths)) == [
        "not complete, rollouts are missing: b",
    ]


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
    front = pareto_front(everyone)
    assert (front.names, front.problems, front.apart) == (("cheap", "good"), 4, ("narrow",))
    # what the policy itself reads and writes counts
    heavy = replace(cheap, policy_tokens=25.0)
    assert pareto_front([heavy, good]).names == ("good",)
    assert cheap.right_per_1000_tokens == pytest.approx(25.0)


def test_an_answer_that_could_not_be_graded_puts_nobody_out_of_the_front(tmp_path: Path) -> None:
    good = contender(tmp_path, "good", "yyy-", 30)
    poor = contender(tmp_path, "poor", "nnny", 20)
    wasteful = contender(tmp_path, "wasteful", "nnyn", 40)
    hardly = contender(tmp_path, "hardly", "y---", 1)
    front = pareto_front([good, poor, wasteful, hardly])
    assert (front.names, front.problems, front.apart) == (("good", "poor"), 3, ("hardly",))
    assert pareto_front([]).names == ()


def two_domains(folder: Path, name: str, right: str, tokens: int) -> Contender:
    """Two letters of mathematics, then two of questions; a shorter word knows no questions."""
    rows = [
        row(i, [{"y": True, "n": False, "-": None}[letter]], tokens, "gsm8k" if i < 2 else "squad2")
        for i, letter in enumerate(right)
    ]
    (found,) = read_contenders([written(folder, name, rows)])
    return found


def test_headroom_is_what_choosing_for_everything_a_domain_and_a_problem_would_reach(
    tmp_path: Path,
) -> None:
    math = two_domains(tmp_path, "math", "ynnn", 10)
    questions = two_domains(tmp_path, "questions", "nnyy", 10)
    dear = two_domains(tmp_path, "dear", "nnyy", 90)
    room = headroom([math, dear, questions])
    assert room is not None
    assert (room.problems, room.best, room.accuracy) == (4, "questions", 0.5)
    assert room.chosen == {"math": "math", "qa": "questions"}
    assert (room.by_domain, room.by_problem) == (0.75, 0.75)
    # who was evaluated on one domain alone has its say there, and on the single problem
    narrow = two_domains(tmp_path, "narrow", "yy", 500)
    room = headroom([math, questions, narrow])
    assert room is not None
    assert (room.problems, room.chosen["math"]) == (4, "narrow")
    assert (room.by_domain, room.by_problem) == (1.0, 1.0)


def test_headroom_counts_what_all_have_graded_and_shares_over_seeds(tmp_path: Path) -> None:
    first = two_domains(tmp_path, "first", "ynn-", 10)
    often = two_domains(tmp_path, "often", "nnny", 10)
    often = replace(often, correct={**often.correct, "gsm8k/1": 0.5})
    room = headroom([first, often])
    assert room is not None
    assert (room.problems, room.by_problem) == (3, pytest.approx(0.5))
    # graded of one of the two problems only: not a choice for the domain
    half = two_domains(tmp_path, "half", "-y", 1)
    room = headroom([first, often, half])
    assert room is not None
    assert (room.chosen["math"], room.by_problem) == ("first", pytest.approx(2 / 3))
    assert headroom([first]) is None
    assert headroom([]) is None
    assert headroom([first, two_domains(tmp_path, "other", "nnnn", 1)]) is not None


def test_the_mix_beside_its_sets_counts_in_nothing_but_its_own_row(tmp_path: Path) -> None:
    own = {**row(0, [True], 10), "sets": ["gsm8k"]}
    both = {**row(1, [False], 10), "sets": ["gsm8k", "mixed"]}
    mix = {**row(2, [True], 500), "sets": ["mixed"]}
    (found,) = read_contenders([written(tmp_path, "p", [own, both, mix])])
    assert found.share() == Share(0.5, *wilson(1, 2), 2)
    assert found.mix_share == Share(0.5, *wilson(1, 2), 2)
    assert found.mean_tokens == 10
    assert "gsm8k/2" not in found.datasets
    # the mix alone is what was evaluated
    (alone,) = read_contenders([written(tmp_path, "alone", [mix])])
    assert alone.share() == Share(1.0, *wilson(1, 1), 1)
    assert alone.mix_share is None


def test_who_shares_no_problem_is_left_out_unless_nobody_does(tmp_path: Path) -> None:
    reference = contender(tmp_path, "ref", "yn", 10)
    other = contender(tmp_path, "other", "yy", 10)
    (apart,) = read_contenders([written(tmp_path, "apart", [row(0, [True], 1, "squad2")])])
    assert [pair.name for pair in compare([reference, other, apart], reference)] == ["other"]
    with pytest.raises(DataError, match="apart and ref: no problem that both have graded"):
        compare([reference, apart], reference)
    assert compare([reference], reference) == []


def test_the_folder_of_several_evaluations_is_told_from_one(tmp_path: Path) -> None:
    one = written(tmp_path, "p", [row(0, [True], 1)])
    with pytest.raises(DataError, match=rf"name its folder: {one}"):
        read_contenders([tmp_path / "p"])


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


def test_a_run_without_rollouts_has_no_break_even(tmp_path: Path) -> None:
    for said in (f"no run there (no {ROLLOUTS}); ", "no rollout in it; "):
        wanted = "--training-run wants the folder of a training run, logs/train_MODEL_TIME"
        with pytest.raises(DataError, match=re.escape(said + wanted)):
            training_tokens(tmp_path)
        (tmp_path / ROLLOUTS).touch()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Invalid JSON"),
        ("[]", "Input should be an object, found []"),
        ('{"policy": 1}', "policy: Input should be a valid string, found 1"),
        ({"problems": 5}, "problems: Input should be a valid array, found 5"),
        ({"problems": [1]}, "problems.0: Input should be an object, found 1"),
        ({"problems": [{"id": "a"}]}, "problems.0.dataset: Field required"),
        ({"problems": [row(0, ["x"], 1)]}, "problems.0.correct.0: Input should be a valid boolean"),  # type: ignore[list-item]
        ({"overall": {"cost_usd": "x"}}, "overall.cost_usd: Input should be a valid number"),
        ({"overall": {"accuracy": float("nan")}}, "overall.accuracy: Input should be a finite"),
    ],
    ids=str,
)
def test_results_that_are_not_whole_are_one_clear_line(
    tmp_path: Path, content: Any, said: str
) -> None:
    run = written(tmp_path, "p", [row(0, [True], 1)])
    if isinstance(content, dict):
        data = json.loads((run / "full.json").read_text())
        overall = {**data["overall"], **content.get("overall", {})}
        content = json.dumps({**data, **content, "overall": overall})
    (run / "full.json").write_text(content)
    with pytest.raises(DataError) as caught:
        read_contenders([run])
    message = str(caught.value)
    assert message.startswith(f"{run / 'full.json'}: not a full results file of evaluate: ")
    assert said in message
    assert message.endswith("; evaluate again")
    assert "\n" not in message


def test_missing_or_empty_results_say_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"full\.json: no such file; run: llm-as-judge evaluate"):
        read_contenders([tmp_path])
    with pytest.raises(DataError, match="no rollout in it; run: llm-as-judge evaluate"):
        read_contenders([written(tmp_path, "p", [row(0, [], 0)])])

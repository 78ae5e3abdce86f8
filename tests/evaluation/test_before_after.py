"""The verdict sentence, worked by hand, and before and after found beside a run without naming files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from written_results import row, written

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.before_after import (
    evaluations_of,
    pair_verdict,
    sentences,
    verdict,
)
from llm_as_judge.evaluation.system_results import read_systems
from llm_as_judge.runs.runlog import RunLog

RIGHT_BEFORE, ALL = 9, 36


def evaluated(folder: Path, name: str, right: int, **more: Any) -> Path:
    """NAME_results.json of 36 problems, the first ``right`` of them right, each of 100 written tokens."""
    costs = more.pop("cost", 100.0)
    rows = [{**row(i, [i < right], 50), "cost": [costs]} for i in range(ALL)]
    policy = more.pop("policy", name)
    run = written(folder, name, rows, policy=policy, split="test", **more)
    told = json.loads((run / "full.json").read_text())
    for key in ("problems", "facts", "config"):
        del told[key]
    path = folder / f"{name}_results.json"
    path.write_text(json.dumps({**told, "run": f"{name}/hash"}))
    return path


@pytest.mark.parametrize(
    ("right", "said"),
    [
        pytest.param(
            22,  # 13 won, none lost: p = 2 / 2 ** 13
            "Training helped: 9 of 36 right before, 22 of 36 after; +36 points [+22, +52], wins : losses 13 : 0, "
            "p < 0.001. A problem costs 100 written tokens before, 120 after.",
            id="helped",
        ),
        pytest.param(
            12,  # 3 won, none lost: p = 2 / 2 ** 3
            "Training made no difference that is shown: 9 of 36 right before, 12 of 36 after; +8 points [-2, +22], "
            "wins : losses 3 : 0, p = 0.250. A problem costs 100 written tokens before, 120 after. Take more test "
            "rows; or more steps.",
            id="not shown",
        ),
        pytest.param(0, "Training did harm: 9 of 36 right before, 0 of 36 after;", id="harm"),
    ],
)
def test_the_verdict_says_before_after_difference_p_n_and_cost(
    tmp_path: Path, right: int, said: str
) -> None:
    before = evaluated(tmp_path, "m_untrained", RIGHT_BEFORE)
    after = evaluated(tmp_path, "m", right, cost=120.0)
    assert verdict(before, after).startswith(said)


def test_two_that_are_not_before_and_after_are_called_by_their_names(tmp_path: Path) -> None:
    files = {name: evaluated(tmp_path, name, n) for name, n in (("direct", 9), ("cot", 22))}
    said = pair_verdict(files)
    assert said.startswith(
        "cot is better than direct: 9 of 36 right with direct, 22 of 36 with cot; +36"
    )
    assert pair_verdict({**files, "third": evaluated(tmp_path, "third", 3)}) == ""


@pytest.mark.slow
def test_a_trained_policy_is_told_against_the_untrained_one_and_the_best_fixed_program(
    tmp_path: Path,
) -> None:
    of = {"m": {"checkpoint": "step_5"}, "m_untrained": {"policy": "untrained"}}
    right = {"direct": 9, "cot": 12, "m_untrained": 9, "m": 22}
    files = [evaluated(tmp_path, name, n, **of.get(name, {})) for name, n in right.items()]
    systems = read_systems(files)
    assert [line.split(";")[0] for line in sentences(systems)] == [
        "Training helped: 9 of 36 right before, 22 of 36 after",
        "m is better than cot: 12 of 36 right with cot, 22 of 36 with m",
    ]
    assert len(sentences(systems[2:])) == 1
    assert sentences(systems[:3]) == []


SAMPLED = {"evaluation": {"samples": 1, "temperature": 0.9}}


def quickstart_results(folder: Path) -> dict[str, Path]:
    """Those that a quickstart leaves: two untrained ones, one of them sampled, and two checkpoints."""
    given: dict[str, tuple[int, dict[str, Any]]] = {
        "best_fixed": (12, {}),
        "direct": (9, {}),
        "trained": (22, {"checkpoint": "ck/step_10"}),
        "untrained": (9, {"policy": "untrained"}),
        "untrained_sampled": (8, {"policy": "untrained", "config": SAMPLED}),
        "warm_started": (20, {"checkpoint": "ck/step_0"}),
        "half_way": (21, {"checkpoint": "ck/step_9"}),
    }
    return {name: evaluated(folder, name, right, **of) for name, (right, of) in given.items()}


@pytest.mark.slow
def test_after_is_the_policy_of_the_most_steps_and_before_the_greedy_untrained_one(
    tmp_path: Path,
) -> None:
    files = quickstart_results(tmp_path)
    first, second = sentences(read_systems(list(files.values())))
    assert first.startswith("Training helped: 9 of 36 right before, 22 of 36 after")
    assert first.endswith(" Before: untrained, after: trained.")
    assert second.startswith(
        "trained is better than best_fixed: 12 of 36 right with best_fixed, 22"
    )
    assert "Before:" not in sentences(read_systems([files["untrained"], files["trained"]]))[0]


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        pytest.param(
            ("untrained", "trained"),
            {"checkpoint": "other/step_10"},
            "trained, more may each be the last of training; give compare one of them",
            id="as many steps",
        ),
        pytest.param(
            ("untrained", "trained"),
            {"checkpoint": "exported"},
            "trained, more may each be the last",
            id="no step",
        ),
        pytest.param(
            ("untrained", "trained"),
            {"policy": "untrained"},
            "untrained, more may each be the policy before; give compare one of them",
            id="two untrained",
        ),
        pytest.param(
            ("untrained_sampled", "trained"),
            {},
            "untrained_sampled: sampled programs; evaluate --untrained --set evaluation.temperature=0",
            id="sampled before",
        ),
        pytest.param(
            ("untrained",),
            {"checkpoint": "ck/step_10", "config": SAMPLED},
            "more: sampled programs; evaluate with --set evaluation.temperature=0",
            id="sampled after",
        ),
    ],
)
def test_where_before_or_after_is_not_plain_one_line_says_why_and_what_gives_a_sentence(
    tmp_path: Path, names: tuple[str, ...], more: dict[str, Any], said: str
) -> None:
    files = quickstart_results(tmp_path)
    given = [*(files[name] for name in names), evaluated(tmp_path, "more", 23, **more)]
    line = sentences(read_systems(given))[0]
    assert line.startswith("No sentence on what training changed: ")
    assert said in line


def test_an_untrained_policy_of_another_model_is_not_before(tmp_path: Path) -> None:
    after = evaluated(tmp_path, "m", 22, checkpoint="ck/step_4", model="m")
    before = evaluated(tmp_path, "m_untrained", 9, policy="untrained", model="m")
    other = evaluated(tmp_path, "o_untrained", 30, policy="untrained", model="o")
    (said,) = sentences(read_systems([after, other, before]))
    assert "9 of 36 right before" in said
    assert said.endswith("Before: m_untrained, after: m.")


def test_figures_alone_are_no_error(tmp_path: Path) -> None:
    first, second = (evaluated(tmp_path, name, 9) for name in ("a", "b"))
    folder = tmp_path / "b" / "hash"
    (folder / "full.json").unlink()
    said = pair_verdict({"a": first, "b": second})
    assert said.startswith(f"Figures alone: the rows of {second} are not here")
    assert said.endswith(f"Nothing has to be done; for the test copy {folder} here as well.")
    folder.rmdir()
    assert pair_verdict({"a": first, "b": second}) == said


def test_what_keeps_two_from_a_verdict_is_said(tmp_path: Path) -> None:
    first, second = (evaluated(tmp_path, name, 9) for name in ("a", "b"))
    (tmp_path / "b" / "hash" / "full.json").write_text("{")
    assert pair_verdict({"a": first, "b": second}).startswith("No verdict: ")


def run_with(place: Path, *, results: str, checkpoints: Path) -> Path:
    log = RunLog(place / "logs" / "train_m_1")
    log.write_config({"output": {"results": results}})
    log.step(1, {"reward/mean": 1.0})
    for step in (2, 4):
        folder = checkpoints / f"step_{step}"
        folder.mkdir(parents=True)
        state = {"step": step, "run_dir": "logs/train_m_1"}
        (folder / "state.json").write_text(json.dumps(state))
    return log.folder


def test_before_and_after_of_a_run_are_found_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # not where the run was started
    place = tmp_path / "mine"
    run = run_with(place, results="results", checkpoints=place / "ck")
    assert evaluations_of(run) == {}
    folder = place / "results" / "evaluation"
    folder.mkdir(parents=True)
    evaluated(folder, "direct", 9)
    early = evaluated(folder, "early", 10, checkpoint="ck/step_2")
    assert evaluations_of(run) == {}  # nothing of before
    sampled = {"evaluation": {"temperature": 1.0}}
    evaluated(folder, "a_sampled", 9, policy="untrained", config=sampled)
    before = evaluated(folder, "m_untrained", 9, policy="untrained")
    evaluated(folder, "other_split", 9, policy="untrained", model="another")
    evaluated(folder, "foreign", 30, checkpoint="ck/step_9")
    assert evaluations_of(run) == {"before": before, "after": early}
    after = evaluated(folder, "m", 22, checkpoint="ck/step_4")
    (folder / "broken_results.json").write_text("{")
    assert evaluations_of(run) == {"before": before, "after": after}
    assert pair_verdict(evaluations_of(run)).startswith("Training helped: 9 of 36 right before, 22")
    (place / "ck" / "earlier_1").mkdir()  # another run has begun since
    (place / "ck" / "step_4").replace(place / "ck" / "earlier_1" / "step_4")
    assert evaluations_of(run) == {"before": before, "after": after}


def test_a_folder_that_holds_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        evaluations_of(tmp_path / "none")

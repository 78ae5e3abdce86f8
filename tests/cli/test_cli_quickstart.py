"""The quickstart's lines, and its answers to bad input."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from called_verbs import Verbs, written

from llm_as_judge.cli import quickstarting
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.quickstarting import verdict
from llm_as_judge.evaluation.compare import Comparison
from llm_as_judge.evaluation.quickstart import (
    PARTS,
    SYSTEMS,
    TRAINED,
    WARM,
    Outcome,
    judged,
    quickstart,
)
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.judge.scoring import RIGHT, UNSURE, WRONG
from llm_as_judge.views.progress import Progress


def pair(difference: float, p: float) -> Comparison:
    return Comparison(
        name="trained",
        reference="untrained",
        problems=48,
        difference=difference,
        low=-0.1,
        high=0.5,
        only_other=16,
        only_reference=0,
        p=p,
        p_holm=p,
        token_ratio=1.1,
        cost_ratio=None,
        detectable=0.2,
        open=0,
        least=difference,
        most=difference,
        p_most=p,
        p_most_holm=p,
    )


def outcome(warm: Comparison, fixed: Comparison) -> Outcome:
    return Outcome((), BETTER, warm, warm, fixed, {}, Path("run"), Path("step_6"))


BETTER, SAME, WORSE = pair(0.3, 0.0001), pair(0.1, 0.2), pair(-0.3, 0.0001)


def test_the_verdict_says_what_grpo_taught_and_what_to_do_where_nothing_is_shown() -> None:
    taught, start, fixed = verdict(outcome(BETTER, BETTER))
    assert taught == (
        "GRPO taught the policy to choose: 16 : 0 rows won : lost against the warm-started policy, "
        "16 : 0 with drawn programs."
    )
    assert start.startswith("The warm start had taught it to write each program")
    assert fixed.startswith("The trained policy beats the best fixed programs")
    assert verdict(outcome(BETTER, SAME))[-1].startswith("The trained policy is not shown to beat")
    for nothing in (SAME, replace(BETTER, p_most=0.02)):
        said, todo, _ = verdict(outcome(nothing, BETTER))
        assert said.startswith("GRPO's part is not shown on this seed")
        assert "--steps 16" in todo
    lost, todo, _ = verdict(outcome(WORSE, SAME))
    assert lost.startswith("GRPO did harm")
    assert "step_0" in lost
    assert "training.learning_rate" in todo


def test_the_trained_judge_s_verdicts_are_counted(folder: Path) -> None:
    rows = [
        {"id": str(n), "dataset": "lookups", "domain": "qa", "correct": [correct], "rule": [rule]}
        | {"tokens": [1]}
        for n, (correct, rule) in enumerate(
            [(True, RIGHT), (False, WRONG), (None, UNSURE), (True, "qa.exact")]
        )
    ]
    names = "accuracy accuracy_low accuracy_high strictly_valid executed calls tokens"
    figures = dict.fromkeys([*names.split(), "policy_tokens", "seconds", "cost_usd"], 0.5)
    content = {"policy": "p", "executor": "e", "seed": 0, "datasets": [], "overall": figures}
    written("full.json", json.dumps(content | {"problems": rows}))
    assert judged(folder / "full.json") == 2
    (said,) = quickstarting._graded_how(outcome(BETTER, BETTER))
    assert said == quickstarting._verdicts(0, 0, 0)
    assert quickstarting._verdicts(280, 2, 11).startswith(
        "verdicts on 280 answers: 267 by rules and tests, 2 by the trained judge, "
    )


def test_each_system_is_a_part_and_so_is_what_comes_between() -> None:
    assert len(set(PARTS)) == len(PARTS)
    assert set(SYSTEMS) < set(PARTS)
    assert (
        PARTS.index("warm start") < PARTS.index(WARM) < PARTS.index("GRPO") < PARTS.index(TRAINED)
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "training.stepz=3"), "training.stepz"),
        (("--config", "nosuch"), "no profile 'nosuch'"),
        (("--set", "executor.model=nosuch"), "nosuch"),
        (("--out", "a_file"), "a_file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    verb: Verbs, folder: Path, options: tuple[str, ...], said: str
) -> None:
    written("a_file", "not a folder")
    assert said in verb.refused("quickstart", *options)
    assert [path.name for path in folder.iterdir()] == ["a_file"]


class Interrupted(BaseException):
    """As a signal is."""


@pytest.mark.slow
def test_a_quickstart_that_was_stopped_goes_on_and_ends_with_tests_page_and_commands(
    verb: Verbs, folder: Path, tiny_weights: Path
) -> None:
    sets = [
        f"policy.name={tiny_weights}",
        "policy.device=cpu",
        "policy.dtype=float32",
        "executor.model=scripted",
        "judge.kind=llm",
        "evaluation.limit_per_set=1",
        "training.problems_per_step=1",
    ]
    begun = 0

    def until_training(coroutine: Coroutine[Any, Any, Any]) -> Any:
        nonlocal begun
        begun += 1
        # recorded run, bank, warm start and all systems but the trained two come before
        if begun == len(SYSTEMS) + 2:
            coroutine.close()
            raise Interrupted
        return asyncio.run(coroutine)

    settings = quickstarting._settings(
        Path("quick"),
        Asked("quickstart", None, sets, {"training.seed": 3, "training.steps": 1}),
    )
    with pytest.raises(Interrupted):
        quickstart(settings, Progress(parts=PARTS), until_training)
    before = kept_rollouts(folder)
    assert len(before) == len(SYSTEMS) - 2

    given = [part for text in sets for part in ("--set", text)]
    again = ("quickstart", "--out", "quick", "--steps", "1", "--seed", "3", *given)
    out, _ = verb.done(*again)
    after = kept_rollouts(folder)
    assert len(after) == len(SYSTEMS)
    assert {path: after[path] for path in before} == before  # paid for once
    assert "It was made to have room" in out
    assert "a run of seed 0 that ended before: right best_fixed " in out
    shown = folder / "quick" / "seed_3" / "recorded" / "report.html"
    assert f"this is what the end looks like: {shown.relative_to(folder)}" in out
    assert "trained is better than warm_started" in shown.read_text()
    numbers = [int(n) for n in re.findall(rf"  part (\d+) of {len(PARTS)}, ", out)]
    assert list(dict.fromkeys(numbers)) == list(range(1, len(PARTS) + 1))
    assert "bank of 6 rows: right cot " in out
    assert "warm start: " in out
    assert re.search(r"step 1 of 1: \d+ s, right ", out)
    assert "trained - untrained: " in out
    assert "trained - warm-started: " in out
    assert "the same with drawn programs: " in out
    assert "trained - best fixed programs: " in out
    assert (folder / "quick" / "seed_3" / "report.html").is_file()
    assert out.split("What next:\n")[1].count("llm-as-judge ") == 3
    cells = JsonLines(folder / "quick" / "seed_3" / "bank" / "runs.jsonl").rows()
    assert {row["problem"].split("/")[1] for row in cells} == {"train", "val"}
    chosen = {path.name for path in (folder / "quick" / "seed_3" / "best_fixed").glob("*.py")}
    assert chosen == {"math.py", "qa.py", "code.py"}


def kept_rollouts(folder: Path) -> dict[Path, str]:
    kept = folder.glob("quick/seed_3/results/evaluation/*/*/runs.jsonl")
    return {path: path.read_text() for path in kept}

"""Whole training runs of a real tiny policy: complete records, the same twice, the same resumed."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import (
    GROUPS,
    PROBLEMS,
    SAMPLES,
    STEPS,
    Shown,
    lines,
    require_same_records,
    run_config,
    train,
)

from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import AuditError, ConfigError, DataError, ModelError, TrainingError
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.runlog import read_rollouts, read_steps
from llm_as_judge.training.view import SilentView
from llm_as_judge.types import Problem
from metric_names import meaning_of
from own_config import only_models
from running_app import running
from tiny_models import windowed
from vllm_server import ScriptedVllm, TwinOfPolicy


def config(
    place: Path, name: str, max_ungraded: float = 0.5, sampling: Any = None, **training: Any
) -> Config:
    """Of a run that tells and pays budgets."""
    return run_config(
        place,
        name,
        sampling=sampling or {},
        judge={"max_ungraded_fraction": max_ungraded},
        reward={"scheme": "priced"},
        training={"max_staleness": 0, **training},
    )


WHOLE: dict[str, Any] = {"save_every": 1, "schedule": "cosine", "keep_checkpoints": 9}


@pytest.fixture(scope="module")
def whole(shared_place: Path) -> TrainingResult:
    """An unbroken run, which tests look at or compare theirs with."""
    return asyncio.run(train(config(shared_place, "whole", **WHOLE)))


@pytest.mark.slow
def test_a_run_leaves_metrics_rollouts_and_a_checkpoint(whole: TrainingResult) -> None:
    result = whole
    assert result.steps == STEPS
    assert [row["step"] for row in lines(result.run_dir, "metrics.jsonl")] == [1, 2, 3]
    logged = [*lines(result.run_dir, "metrics.jsonl"), *lines(result.run_dir, "timings.jsonl")]
    names = {name for row in logged for name in row} - {"step", "warnings"}
    assert [name for name in sorted(names) if meaning_of(name) is None] == []  # docs/metrics.md

    rollouts = list(read_rollouts(result.run_dir))
    assert len(rollouts) == STEPS * GROUPS * SAMPLES
    assert {step for step, _, _ in rollouts} == {1, 2, 3}
    assert {rollout.completion.policy_version for _, _, rollout in rollouts} <= {0, 1, 2}
    steps = read_steps(result.run_dir)
    for step in steps:
        shares = {k: v for k, v in step.items() if k.startswith(("accuracy/", "execution/"))}
        assert all(0.0 <= share <= 1.0 for share in shares.values())
        assert step["rollout/count"] == GROUPS * SAMPLES
        assert step["time/step_s"] > 0
        assert step["rollout/failed"] == 0

    ledger = json.loads((result.run_dir / "ledger.json").read_text())
    bills = lines(result.run_dir, "ledger.jsonl")
    assert ledger["total"]["calls"] > 0
    assert sum(row["calls"] for row in bills) == ledger["total"]["calls"]
    assert sum(row["ledger/calls"] for row in steps) == ledger["total"]["calls"]
    assert {row["problem"] for row in bills} <= {problem.id for problem in PROBLEMS}
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert facts["policy"] == "tiny"
    assert len(facts["train_file_sha256"]) == 64
    assert facts["update_path"]["name"] == "packed"

    root = result.run_dir.with_name("checkpoints") / "tiny" / "grpo_mixed"
    assert result.checkpoint == root / "step_3"
    assert (root / "latest").read_text() == "step_3\n"
    assert sum(step["update/groups"] for step in steps) > 0, "the tiny policy taught nothing"
    fresh, taught = (
        load_file(root / n / "adapter_model.safetensors") for n in ("step_0", "step_3")
    )
    assert any(not torch.equal(fresh[name], taught[name]) for name in fresh)


@pytest.mark.slow
def test_each_problem_is_told_a_budget_whose_price_it_pays(whole: TrainingResult) -> None:
    told: dict[tuple[int, int], set[str]] = {}
    for row in lines(whole.run_dir, "rollouts.jsonl"):
        word = row["prompt"]["budget"]
        told.setdefault((row["step"], row["group"]), set()).add(word)
        if reward := row["rollout"]["reward"]:
            assert reward["parts"]["cost"]["weight"] == PRICES[word]
    assert {len(words) for words in told.values()} == {1}
    assert len(set().union(*told.values())) > 1
    metrics = {name for row in lines(whole.run_dir, "metrics.jsonl") for name in row}
    assert {name for name in metrics if name.startswith("budget/")} == {
        f"budget/{word}_{figure}" for words in told.values() for word in words
        for figure in ("cost", "accuracy")
    }  # fmt: skip


@pytest.mark.slow
async def test_a_resumed_run_equals_the_unbroken_one_and_another_seed_does_not(
    place: Path, whole: TrainingResult
) -> None:
    await train(config(place, "broken", **WHOLE), 2)
    other = {"prompt_style": "full", "form": "class"}  # the policy keeps its prompt
    resumed = await train(config(place, "broken", sampling=other, **WHOLE), resume=True)
    assert resumed.steps == STEPS
    require_same_records(resumed.run_dir, whole.run_dir)
    paid = [json.loads((r.run_dir / "ledger.json").read_text()) for r in (resumed, whole)]
    assert paid[0]["total"]["calls"] == paid[1]["total"]["calls"]
    seeded = await train(config(place, "seeded", seed=5, **WHOLE), 1)
    first = [row for row in lines(whole.run_dir, "rollouts.jsonl") if row["step"] == 1]
    assert lines(seeded.run_dir, "rollouts.jsonl") != first


@pytest.mark.slow
async def test_a_run_that_takes_the_naive_path_says_so(place: Path, tiny_weights: Path) -> None:
    only_models(place / "config", tiny=windowed(tiny_weights, place / "windowed"))
    view = Shown()
    result = await train(config(place, "windowed"), 1, view=view)
    (said,) = [line for line in view.stages if "naive" in line]
    assert "sliding-window" in said
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert facts["update_path"]["name"] == "naive"
    assert facts["update_path"]["reason"] in said


def test_overlap_needs_an_objective_that_corrects_for_it(place: Path) -> None:
    with pytest.raises(ConfigError, match="reinforce has no ratio to correct programs of older"):
        GRPOTrainer(config=config(place, "x", loss_type="reinforce", max_staleness=1))


@pytest.mark.slow
async def test_a_killed_run_is_gone_on_with_after_its_checkpoint_and_by_its_own_data_alone(
    place: Path,
) -> None:
    run = (await train(config(place, "killed"), 1)).run_dir
    rows = lines(run, "rollouts.jsonl")
    pending = run / "pending.jsonl"
    pending.write_text(
        "".join(json.dumps({**row, "step": 2}) + "\n" for row in rows)  # of step 1's problems
    )
    with pytest.raises(DataError, match=r"pending\.jsonl: step 2, group . is .*, this run draws"):
        await train(config(place, "killed"), 2, resume=True)
    pending.unlink()  # as the message says
    (row,) = lines(run, "metrics.jsonl")
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({**row, "step": 2}) + '\n{"step": 3, "cut')
    with (run / "rollouts.jsonl").open("a") as file:
        file.write('{"step": 2, "group": 0, "cut')
    await train(config(place, "killed"), 2, resume=True)
    assert [row["step"] for row in lines(run, "metrics.jsonl")] == [1, 2]
    assert len(lines(run, "rollouts.jsonl")) == 2 * GROUPS * SAMPLES


@pytest.mark.slow
async def test_too_many_ungraded_rollouts_stop_the_run_and_are_kept(place: Path) -> None:
    ungradable = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "2 + 2?") for n in range(4)]
    write_problems(place / "train.jsonl", ungradable)
    with pytest.raises(TrainingError, match="the problem has no gold answer"):
        await train(config(place, "ungraded", max_ungraded=0.05), 5)
    run = place / "ungraded" / "run"
    rows = lines(run, "rollouts.jsonl")
    stopped_at = rows[-1]["step"]  # the first step with a program that runs
    assert len(rows) == stopped_at * GROUPS * SAMPLES
    learned = lines(run, "metrics.jsonl") if (run / "metrics.jsonl").exists() else []
    assert [row["step"] for row in learned] == list(range(1, stopped_at))


@pytest.mark.slow
async def test_rollouts_nobody_can_grade_are_counted_and_the_run_goes_on(place: Path) -> None:
    known = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "2 + 2?", ("4",)) for n in range(4)]
    known[0] = Problem("gsm8k/train/0", "gsm8k", "math", "2 + 2?")
    write_problems(place / "train.jsonl", known)
    result = await train(config(place, "partly"), 2)
    seen = [r for _, _, r in read_rollouts(result.run_dir) if r.problem_id == known[0].id]
    runnable = [r for r in seen if r.program.runnable]
    assert runnable
    assert all(r.verdict is not None and r.verdict.correct is None for r in runnable)
    shares = sum(row["rollout/not_graded"] for row in lines(result.run_dir, "metrics.jsonl"))
    assert shares * GROUPS * SAMPLES == pytest.approx(len(runnable))


@pytest.mark.slow
async def test_a_forced_judge_is_written_into_the_run_and_every_later_checkpoint(
    place: Path,
) -> None:
    async def run(judge: str, steps: int, **options: Any) -> TrainingResult:
        plain = config(place, "forced", save_every=1, problems_per_step=1)
        judged = plain.judge.model_copy(update={"model": judge})
        return await train(plain.model_copy(update={"judge": judged}), steps, **options)

    def noted(result: TrainingResult) -> list[Any]:
        state = json.loads((result.checkpoint / "state.json").read_text())
        facts = json.loads((result.run_dir / "run.json").read_text())
        assert state["judges"] == facts["judges"]
        return [(one["from_step"], one["audit"], one["forced"]) for one in state["judges"]]

    with pytest.raises(AuditError, match="no audit report"):
        await run("scripted", 1)
    assert not (place / "forced" / "run").exists()
    forced = await run("scripted", 1, force_unaudited_judge=True)
    assert noted(forced) == [(1, "missing", True)]
    resumed = await run("none", 2, resume=True)
    assert noted(resumed) == [(1, "missing", True), (2, "passed", False)]


@pytest.mark.slow
async def test_a_second_run_leaves_the_checkpoints_of_the_first_and_says_where(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(SilentView, "warning", lambda view, text: warned.append(text))
    both = config(place, "twice", save_every=1, problems_per_step=1)
    first = await train(both, 1)
    wanted = (first.checkpoint / "adapter_model.safetensors").read_bytes()
    first.run_dir.rename(first.run_dir.with_name("first_run"))
    second = await train(both, 1)
    aside = second.checkpoint.parent / "earlier_1"
    assert sum(f"an earlier run are in {aside} now" in line for line in warned) == 1
    assert (aside / "step_1" / "adapter_model.safetensors").read_bytes() == wanted
    assert sorted(path.name for path in aside.iterdir()) == ["latest", "step_0", "step_1"]


@pytest.mark.slow
async def test_a_server_writes_with_the_adapter_of_each_update_while_the_next_is_computed(
    place: Path, tiny_weights: Path
) -> None:
    server = ScriptedVllm(TwinOfPolicy(tiny_weights))
    async with running(server.app) as url:
        sampling = {"backend": "vllm", "server": f"{url}/v1"}
        server.faults = ["", "drop"]
        result = await train(config(place, "served", sampling=sampling, max_staleness=1))
    versions = [r.completion.policy_version for _, _, r in read_rollouts(result.run_dir)]
    steps = read_steps(result.run_dir)
    updates = [step["update/groups"] > 0 for step in steps]
    assert updates[0], "the first step of this policy has groups that teach"
    assert versions == [v for v in (0, 0, 1) for _ in range(GROUPS * SAMPLES)]
    assert [step["rollout/staleness"] for step in steps][:2] == [0, 1]
    assert steps[0]["update/logprob_gap_max"] < 1e-4  # by the very weights it teaches
    assert server.faults == []  # the drop was met, and its program asked for again
    # At least: httpcore closes an idle connection now and then that was just given to a request.
    assert sum(step["sampling/resent"] for step in steps) >= 1
    asked = {body["model"].rpartition("-")[0] for body in server.asked}
    assert asked == {"policy-v0", "policy-v1"}
    assert server.adapters == {}  # left as it was found


@pytest.mark.parametrize("spoil", ["template", "quantized", "system role"])
async def test_a_policy_that_cannot_be_used_is_refused_before_a_run_folder_is_made(
    place: Path, tiny_weights: Path, spoil: str
) -> None:
    copy = Path(shutil.copytree(tiny_weights, place / "weights"))
    only_models(place / "config", tiny=copy)
    template = copy / "chat_template.jinja"
    words = "has no chat template"
    if spoil == "template":
        template.unlink()
    elif spoil == "quantized":
        words = r"its weights are quantized \(gptq\)"
        file = copy / "config.json"
        quantized = {"quantization_config": {"quant_method": "gptq"}}
        file.write_text(json.dumps({**json.loads(file.read_text()), **quantized}))
    else:
        words = "its chat template cannot be used: no roles at all"
        template.write_text("{{ raise_exception('no roles at all') }}")
    with pytest.raises(ModelError, match=words):
        await train(config(place, "refused"))
    assert not (place / "refused").exists()


@pytest.mark.slow
async def test_weights_that_a_step_breaks_leave_the_last_checkpoint_as_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(optimizer: torch.optim.AdamW) -> None:
        optimizer.param_groups[0]["params"][0].data.fill_(torch.inf)

    monkeypatch.setattr(torch.optim.AdamW, "step", breaking)
    with pytest.raises(TrainingError, match="made weights that are no finite numbers; nothing was"):
        await train(config(place, "broken"))
    root = place / "broken" / "checkpoints" / "tiny" / "grpo_mixed"
    assert [path.name for path in root.glob("step_*")] == ["step_0"]
    saved = load_file(root / "step_0" / "adapter_model.safetensors")
    assert all(bool(tensor.isfinite().all()) for tensor in saved.values())
    assert not (place / "broken" / "run" / "metrics.jsonl").exists()

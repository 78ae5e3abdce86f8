"""Whole training runs of a real tiny policy: complete records, the same twice, the same resumed."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file
from tiny_runs import tiny_settings

from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.config import Config, shipped_dir
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import AuditError, ConfigError, DataError, ModelError, TrainingError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import load_policy
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.runlog import read_rollouts, read_steps
from llm_as_judge.training.view import SilentView
from llm_as_judge.types import Problem
from metric_names import meaning_of
from running_app import running
from tiny_models import windowed
from vllm_server import ScriptedVllm, TwinOfPolicy

PROBLEMS = (
    *(
        Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
        for n in range(4)
    ),
    *(
        Problem(f"hotpotqa/train/{n}", "hotpotqa", "qa", f"Who lit lamp {n}?", ("Edna Moss",))
        for n in range(4)
    ),
)
STEPS, GROUPS, SAMPLES = 3, 2, 4


def prepared(place: Path, weights: Path, patch: pytest.MonkeyPatch) -> Path:
    """``place`` with configuration and data; the tiny policy is its only model."""
    folder = place / "config"
    shutil.copytree(shipped_dir(), folder)
    entry = {"format": "safetensors", "sources": [{"path": str(weights)}]}
    (folder / "models.yaml").write_text(yaml.safe_dump({"models": {"tiny": entry}}))
    patch.setenv("LLM_AS_JUDGE_CONFIG", str(folder))
    write_problems(place / "data" / "mixed" / "train_mixed.jsonl", PROBLEMS)
    return place


@pytest.fixture
def place(
    tmp_path: Path, tiny_weights: Path, audited: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    return prepared(tmp_path, tiny_weights, monkeypatch)


def config(
    place: Path,
    output: str,
    *,
    max_ungraded_fraction: float = 0.5,
    sampling: dict[str, Any] | None = None,
    reward: dict[str, Any] | None = None,
    **training: Any,
) -> Config:
    shape = {"steps": STEPS, "problems_per_step": GROUPS, "samples_per_problem": SAMPLES}
    settings = tiny_settings("scripted", **{**shape, "max_staleness": 0, **training})
    settings["sampling"].update(sampling or {})
    return Config.model_validate(
        {
            **settings,
            "reward": reward or {},
            "judge": {"model": "none", "max_ungraded_fraction": max_ungraded_fraction},
            "data": {"train_file": place / "data" / "mixed" / "train_mixed.jsonl"},
            "output": {
                "checkpoints": place / output,
                "cache": place / "cache",
                "results": place / "results",
            },
        }
    )


async def train(
    place: Path, name: str, steps: int = STEPS, *, resume: bool = False, **training: Any
) -> TrainingResult:
    trainer = GRPOTrainer(
        config=config(place, f"checkpoints_{name}", **training),
        run_dir=place / f"run_{name}",
        resume=resume,
    )
    return await trainer.train(num_steps=steps)


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, tiny_weights: Path, audits: Path
) -> TrainingResult:
    """An unbroken run, which tests look at or compare theirs with."""
    place = tmp_path_factory.mktemp("whole")
    (place / "results").mkdir()
    (place / "results" / "audit").symlink_to(audits)
    with pytest.MonkeyPatch.context() as patch:
        return asyncio.run(train(prepared(place, tiny_weights, patch), "whole", save_every=1))


def lines(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@pytest.mark.slow
def test_a_run_leaves_metrics_rollouts_and_a_checkpoint(
    whole: TrainingResult, tiny_weights: Path
) -> None:
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
    for step in read_steps(result.run_dir):
        shares = {k: v for k, v in step.items() if k.startswith(("accuracy/", "execution/"))}
        assert all(0.0 <= share <= 1.0 for share in shares.values())
        assert step["rollout/count"] == GROUPS * SAMPLES
        assert step["time/step_s"] > 0
        assert step["rollout/failed"] == 0

    root = result.run_dir.with_name("checkpoints_whole") / "tiny" / "grpo_mixed"
    assert result.checkpoint == root / "step_3"
    assert (root / "latest").read_text() == "step_3\n"
    assert load_file(result.checkpoint / "adapter_model.safetensors")
    ledger = json.loads((result.run_dir / "ledger.json").read_text())
    bills = lines(result.run_dir, "ledger.jsonl")
    assert ledger["total"]["calls"] > 0
    assert sum(row["calls"] for row in bills) == ledger["total"]["calls"]
    steps = read_steps(result.run_dir)
    assert sum(row["ledger/calls"] for row in steps) == ledger["total"]["calls"]
    assert {row["problem"] for row in bills} <= {problem.id for problem in PROBLEMS}
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert facts["policy"] == "tiny"
    assert len(facts["train_file_sha256"]) == 64
    assert facts["update_path"]["name"] == "packed"

    groups = sum(step["update/groups"] for step in read_steps(result.run_dir))
    assert groups > 0, "the tiny policy wrote nothing that could teach"
    fresh = AdapterSpec(4, 8)
    states = [
        load_policy(tiny_weights, adapter=adapter, device="cpu", dtype="float32").adapter_state()
        for adapter in (fresh, result.checkpoint)
    ]
    assert any(not torch.equal(states[0][name], states[1][name]) for name in states[0])


class Stages(SilentView):
    """Keeps what the terminal would say."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.slow
async def test_a_run_that_takes_the_naive_path_says_so(place: Path, tiny_weights: Path) -> None:
    folder = windowed(tiny_weights, place / "windowed")
    entry = {"format": "safetensors", "sources": [{"path": str(folder)}]}
    (place / "config" / "models.yaml").write_text(yaml.safe_dump({"models": {"tiny": entry}}))
    view = Stages()
    trainer = GRPOTrainer(config=config(place, "out"), run_dir=place / "run_windowed", view=view)
    result = await trainer.train(num_steps=1)
    (said,) = [line for line in view.said if "naive" in line]
    assert "sliding-window" in said
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert facts["update_path"]["name"] == "naive"
    assert facts["update_path"]["reason"] in said


@pytest.mark.slow
async def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(
    place: Path, whole: TrainingResult
) -> None:
    again = await train(place, "again")
    for name in ("metrics.jsonl", "rollouts.jsonl"):
        assert (again.run_dir / name).read_bytes() == (whole.run_dir / name).read_bytes()
    other = await train(place, "other", 1, seed=5)
    first = [row for row in lines(whole.run_dir, "rollouts.jsonl") if row["step"] == 1]
    assert lines(other.run_dir, "rollouts.jsonl") != first


@pytest.mark.slow
async def test_a_run_with_overlap_repeats_too_and_learns_from_older_weights(place: Path) -> None:
    options: dict[str, Any] = {"max_staleness": 1, "loss_type": "truncated_is"}
    one, two = await train(place, "ahead", **options), await train(place, "again", **options)
    for name in ("metrics.jsonl", "rollouts.jsonl"):
        assert (one.run_dir / name).read_bytes() == (two.run_dir / name).read_bytes()
    steps = read_steps(one.run_dir)
    assert [step["rollout/staleness"] for step in steps] == [0.0, 1.0, 1.0]
    versions = {
        step: {
            r.completion.policy_version
            for number, _, r in read_rollouts(one.run_dir)
            if number == step
        }
        for step in (1, 2, 3)
    }
    assert versions == {1: {0}, 2: {0}, 3: {1}}


def test_overlap_needs_an_objective_that_corrects_for_it(place: Path) -> None:
    with pytest.raises(ConfigError, match="reinforce has no ratio to correct programs of older"):
        GRPOTrainer(config=config(place, "x", loss_type="reinforce", max_staleness=1))


@pytest.mark.slow
async def test_a_resumed_run_equals_the_unbroken_one(place: Path) -> None:
    options: dict[str, Any] = {"save_every": 1, "schedule": "cosine"}
    unbroken = await train(place, "unbroken", **options)
    await train(place, "broken", 2, **options)
    other = {
        "prompt_style": "full",
        "form": "class",
    }  # as a file may say; the policy keeps its prompt
    resumed = await train(place, "broken", resume=True, sampling=other, **options)
    assert resumed.steps == STEPS
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        assert lines(resumed.run_dir, name) == lines(unbroken.run_dir, name)
    paid = [json.loads((r.run_dir / "ledger.json").read_text()) for r in (resumed, unbroken)]
    assert paid[0]["total"]["calls"] == paid[1]["total"]["calls"]


@pytest.mark.slow
async def test_each_problem_is_told_a_budget_and_a_resumed_run_tells_the_same(place: Path) -> None:
    options: dict[str, Any] = {"save_every": 1, "reward": {"scheme": "priced"}}
    unbroken = await train(place, "unbroken", **options)
    await train(place, "broken", 1, **options)
    resumed = await train(place, "broken", resume=True, **options)
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        assert lines(resumed.run_dir, name) == lines(unbroken.run_dir, name)
    told: dict[tuple[int, int], set[str]] = {}
    for row in lines(unbroken.run_dir, "rollouts.jsonl"):
        word = row["prompt"]["budget"]
        told.setdefault((row["step"], row["group"]), set()).add(word)
        if reward := row["rollout"]["reward"]:
            assert reward["parts"]["cost"]["weight"] == PRICES[word]
    assert {len(words) for words in told.values()} == {1}
    assert len(set().union(*told.values())) > 1
    metrics = {name for row in lines(unbroken.run_dir, "metrics.jsonl") for name in row}
    assert {name for name in metrics if name.startswith("budget/")} == {
        f"budget/{word}_{figure}" for words in told.values() for word in words
        for figure in ("cost", "accuracy")
    }  # fmt: skip


@pytest.mark.slow
async def test_resuming_drops_what_a_killed_run_wrote_after_its_checkpoint(place: Path) -> None:
    first = await train(place, "killed", 1)
    path = first.run_dir / "metrics.jsonl"
    row = json.loads(path.read_text())
    path.write_text(path.read_text() + json.dumps({**row, "step": 2}) + '\n{"step": 3, "cut')
    with (first.run_dir / "rollouts.jsonl").open("a") as file:
        file.write('{"step": 2, "group": 0, "cut')
    resumed = await train(place, "killed", 2, resume=True)
    assert [row["step"] for row in lines(resumed.run_dir, "metrics.jsonl")] == [1, 2]
    assert len(lines(resumed.run_dir, "rollouts.jsonl")) == 2 * GROUPS * SAMPLES


@pytest.mark.slow
async def test_finished_rollouts_of_other_data_are_refused(place: Path) -> None:
    first = await train(place, "moved", 1)
    rows = lines(first.run_dir, "rollouts.jsonl")
    (first.run_dir / "pending.jsonl").write_text(
        "".join(json.dumps({**row, "step": 2}) + "\n" for row in rows)  # of step 1's problems
    )
    with pytest.raises(DataError, match=r"pending\.jsonl: step 2, group . is .*, this run draws"):
        await train(place, "moved", 2, resume=True)
    (first.run_dir / "pending.jsonl").unlink()  # as the message says
    assert (await train(place, "moved", 2, resume=True)).steps == 2


@pytest.mark.slow
async def test_too_many_ungraded_rollouts_stop_the_run_and_are_kept(place: Path) -> None:
    ungradable = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "2 + 2?") for n in range(4)]
    write_problems(place / "data" / "mixed" / "train_mixed.jsonl", ungradable)
    with pytest.raises(TrainingError, match="the problem has no gold answer"):
        await train(place, "ungraded", 5, max_ungraded_fraction=0.05)
    rows = lines(place / "run_ungraded", "rollouts.jsonl")
    stopped_at = rows[-1]["step"]  # the first step with a program that runs
    assert len(rows) == stopped_at * GROUPS * SAMPLES
    metrics = place / "run_ungraded" / "metrics.jsonl"
    learned = lines(metrics.parent, metrics.name) if metrics.exists() else []
    assert [row["step"] for row in learned] == list(range(1, stopped_at))


@pytest.mark.slow
async def test_rollouts_nobody_can_grade_are_counted_and_the_run_goes_on(place: Path) -> None:
    known = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "2 + 2?", ("4",)) for n in range(8)]
    known[0] = Problem("gsm8k/train/0", "gsm8k", "math", "2 + 2?")
    write_problems(place / "data" / "mixed" / "train_mixed.jsonl", known)
    result = await train(place, "partly", 4)
    seen = [r for _, _, r in read_rollouts(result.run_dir) if r.problem_id == known[0].id]
    runnable = [r for r in seen if r.program.runnable]
    assert seen
    assert all(r.verdict is not None and r.verdict.correct is None for r in runnable)
    shares = sum(row["rollout/not_graded"] for row in lines(result.run_dir, "metrics.jsonl"))
    assert shares * GROUPS * SAMPLES == pytest.approx(len(runnable))


@pytest.mark.slow
async def test_a_forced_judge_is_written_into_the_run_and_every_later_checkpoint(
    place: Path,
) -> None:
    async def run(judge: str, steps: int, **options: Any) -> TrainingResult:
        plain = config(place, "checkpoints_forced", save_every=1)
        settings = plain.model_copy(
            update={"judge": plain.judge.model_copy(update={"model": judge})}
        )
        trainer = GRPOTrainer(config=settings, run_dir=place / "run_forced", **options)
        return await trainer.train(num_steps=steps)

    def noted(result: TrainingResult) -> list[Any]:
        assert result.checkpoint is not None
        state = json.loads((result.checkpoint / "state.json").read_text())
        facts = json.loads((result.run_dir / "run.json").read_text())
        assert state["judges"] == facts["judges"]
        return [(one["from_step"], one["audit"], one["forced"]) for one in state["judges"]]

    with pytest.raises(AuditError, match="no audit report"):
        await run("scripted", 1)
    assert not (place / "run_forced").exists()
    forced = await run("scripted", 1, force_unaudited_judge=True)
    assert noted(forced) == [(1, "missing", True)]
    resumed = await run("none", 2, resume=True)
    assert noted(resumed) == [(1, "missing", True), (2, "passed", False)]


@pytest.mark.slow
async def test_a_server_writes_with_the_adapter_of_each_update_while_the_next_is_computed(
    place: Path, tiny_weights: Path
) -> None:
    server = ScriptedVllm(TwinOfPolicy(tiny_weights))
    async with running(server.app) as url:
        sampling = {"backend": "vllm", "server": f"{url}/v1"}
        server.faults = ["", "drop"]
        result = await train(place, "served", sampling=sampling, max_staleness=1)
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


def spoiled(place: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the policy, which is the only model from now on."""
    copy = Path(shutil.copytree(weights, place / "weights"))
    entry = {"format": "safetensors", "sources": [{"path": str(copy)}]}
    models = place / "config" / "models.yaml"
    models.write_text(yaml.safe_dump({"models": {"tiny": entry}}))
    return copy


@pytest.mark.parametrize("spoil", ["template", "quantized", "system role"])
async def test_a_policy_that_cannot_be_used_is_refused_before_a_run_folder_is_made(
    place: Path, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    copy = spoiled(place, tiny_weights, monkeypatch)
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
        await train(place, "refused")
    assert not (place / "run_refused").exists()
    assert not (place / "checkpoints_refused").exists()


@pytest.mark.slow
async def test_weights_that_a_step_breaks_leave_the_last_checkpoint_as_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(optimizer: torch.optim.AdamW) -> None:
        optimizer.param_groups[0]["params"][0].data.fill_(torch.inf)

    monkeypatch.setattr(torch.optim.AdamW, "step", breaking)
    with pytest.raises(TrainingError, match="made weights that are no finite numbers; nothing was"):
        await train(place, "broken")
    root = place / "checkpoints_broken" / "tiny" / "grpo_mixed"
    assert [path.name for path in root.glob("step_*")] == ["step_0"]
    saved = load_file(root / "step_0" / "adapter_model.safetensors")
    assert all(bool(tensor.isfinite().all()) for tensor in saved.values())
    assert not (place / "run_broken" / "metrics.jsonl").exists()

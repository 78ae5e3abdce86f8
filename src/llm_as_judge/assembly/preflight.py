"""Checks before a run starts, done in a moment: files and folders, without torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from llm_as_judge.assembly.chat_models import require_known_models
from llm_as_judge.assembly.documents import open_library
from llm_as_judge.assembly.workbench import tracking_options
from llm_as_judge.config import Config, known_model
from llm_as_judge.data.files import how_rows_come
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.files import read_json, require_writable
from llm_as_judge.grading.graders import GRADERS
from llm_as_judge.policy.backends import SamplerBackend, sampler_backend
from llm_as_judge.policy.checkpoint import STATE, latest_checkpoint
from llm_as_judge.policy.launched import launched
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.runs.runlog import is_used
from llm_as_judge.runs.sinks import require_sinks
from llm_as_judge.types import (
    Completion,
    Execution,
    OperatorCall,
    Problem,
    Rollout,
    Verdict,
)
from llm_as_judge.workflow.program import parse_program


def checkpoint_root(config: Config) -> Path:
    return config.output.checkpoints / config.policy.label / "grpo_mixed"


def check_before_training(config: Config, *, run_dir: Path | None, resume: bool) -> Path | None:
    """Everything that would otherwise be found out after the models have been loaded.

    Returns:
        The checkpoint to go on from; None for a new run.
    Raises:
        DataError: the training file is missing, or a document cannot be read.
        ConfigError: a model is unknown, a tracker not installed, there is nothing to resume,
            ``run_dir`` already holds a run, several processes cannot train like this, or
            the folder of checkpoints holds those of another model.
        OutputError: the folder of checkpoints or of the run cannot be written.
    """
    if not config.data.train_file.is_file():
        raise DataError(how_rows_come(config.data.train_file))
    known_model(config.policy.name, "policy.name")
    require_known_models(config)
    open_library(config)
    require_sinks(tracking_options(config))
    require_writable(config.output.checkpoints)
    require_writable(run_dir or config.output.logs)
    sampler = sampler_backend(config.sampling)
    if config.training.loss_type == "reinforce" and (
        config.training.max_staleness or not sampler.own_weights
    ):
        raise ConfigError(
            "training.loss_type: reinforce has no ratio to correct programs of older weights or of "
            "another engine by; take truncated_is, or training.max_staleness 0 and sampling.backend hf"
        )
    _check_processes(config, sampler)
    root = checkpoint_root(config)
    found = latest_checkpoint(root)
    _refuse_another_base(root, found, config.policy.name)
    if not resume:
        if run_dir is not None:
            refuse_used(run_dir)
        return None
    if found is None:
        raise ConfigError(f"{root}: no checkpoint to resume from; train without --resume")
    return found


def _refuse_another_base(root: Path, checkpoint: Path | None, policy: str) -> None:
    """Two folders of weights may have the same last name; their checkpoints are not mixed."""
    try:
        base = read_json(checkpoint / STATE)["base_model"] if checkpoint else None
    except (OSError, ValueError, TypeError, KeyError):  # damaged, of which `--resume` speaks
        return
    if base not in (None, policy):
        raise ConfigError(
            f"{root}: holds checkpoints of {base}, and the policy is {policy}; name another folder: "
            "--set output.checkpoints=FOLDER"
        )


def _check_processes(config: Config, sampler: SamplerBackend) -> None:
    place = launched()
    if place.rank:
        raise ConfigError(
            f"this is rank {place.rank} of {place.count}: runs are started by rank 0; the others "
            "call llm_as_judge.training.worker.serve_gradients"
        )
    if place.local_count > 1 and config.policy.device.startswith("cuda"):
        raise ConfigError(
            f"policy.device: {config.policy.device} for all {place.local_count} processes of this "
            "machine; leave it at auto, and each takes its own"
        )


def refuse_used(run_dir: Path) -> None:
    """
    Raises:
        ConfigError: the folder holds a run.
    """
    if is_used(run_dir):
        raise ConfigError(
            f"{run_dir}: holds a run already; go on with it by --resume, "
            "or name another folder by --run-dir"
        )


def idle_graders(problems: Collection[tuple[str, str]]) -> list[str]:
    """A line for each of one's own graders that no problem of these (domain, data set) is asked of."""
    there = ", ".join(sorted({name for both in problems for name in both}))
    return [
        f"grader {one.name!r} grades none of these rows: "
        + " and ".join(
            f"{key}={value!r}" for key in ("domain", "dataset") if (value := getattr(one, key))
        )
        + f"; there are {there}"
        for one in GRADERS.all().values()
        if not any(
            one.domain in (None, domain) and one.dataset in (None, dataset)
            for domain, dataset in problems
        )
    ]


PROGRAM = """reply = await custom(input=problem, instruction="Answer.")
return reply["response"]"""
READ, WRITTEN = 200, 100
"""Tokens of the made program's one call."""
WRONG_ANSWER = "a made answer that is wrong"
NO_PROGRAM = "There is no program here."
CASES = ("right", "wrong", "no program")


def rehearsed_reward(config: Config, problem: Problem) -> list[str]:
    """A table of the reward of three rollouts of ``problem``: a right program of one call, the same one
    wrong, and a text that is no program.

    Raises:
        ConfigError: a part of the reward fails, or scores off the scale.
    """
    program = parse_program(PROGRAM, problem.domain, "body")
    other = replace(program, hash="another text: copies would cost the reward of variety")
    asked = OperatorCall(program.operators[0], READ, WRITTEN, llm_calls=1)
    answer = problem.answers[0] if problem.answers else ""
    made = [
        (program, Execution("ok", answer, (asked,))),
        (other, Execution("ok", WRONG_ANSWER, (asked,))),
        (parse_program(NO_PROGRAM, problem.domain), Execution("rejected")),
    ]
    group = []
    for n, (one, execution) in enumerate(made):
        completion = Completion((1,), (2, 3), (-1.0, -1.0), one.source, "stop")
        verdict = Verdict(n == 0, "exact", "rehearsal")
        group.append(Rollout(problem.id, n, completion, one, execution, verdict))
    try:
        rewarded = reward_group(group, RewardOptions(**config.reward.model_dump()))
    except ConfigError as error:
        cases = ", ".join(f"{n} {case}" for n, case in enumerate(CASES))
        raise ConfigError(f"{error} (on made programs, before anything runs: {cases})") from None
    rewards = [rollout.reward for rollout in rewarded if rollout.reward is not None]
    head = f"reward of a program of one call ({READ} + {WRITTEN} tokens)"
    width = max(len(head), *map(len, rewards[0].parts))
    lines = [_row(head, CASES, width)]
    for name, part in rewards[0].parts.items():
        scores = [f"{reward.parts[name].score:+.2f}" for reward in rewards]
        lines.append(_row(f"  {name} x {part.weight:g}", scores, width))
    return [*lines, _row("  sum", [f"{reward.total:+.2f}" for reward in rewards], width)]


def _row(name: str, cells: Sequence[str], width: int) -> str:
    return f"{name:{width}}" + "".join(f"{cell:>12}" for cell in cells)

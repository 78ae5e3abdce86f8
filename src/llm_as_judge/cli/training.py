"""train: the run that makes a policy."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from shlex import quote

from llm_as_judge.assembly import load_policy_of, problem_sampler, under_trained_prompt
from llm_as_judge.assembly.chat_models import require_endpoints
from llm_as_judge.assembly.executor_settings import limits_of, training_estimate
from llm_as_judge.assembly.judge_gate import require_measured_model
from llm_as_judge.assembly.preflight import (
    check_before_training,
    checkpoint_root,
    idle_graders,
    rehearsed_reward,
)
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.dry_run import NOT_CHECKED, policy_lines, require_policy
from llm_as_judge.config import Config
from llm_as_judge.data.selection import problem_file
from llm_as_judge.grading.graders import GRADERS
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.policy.launched import launched
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.runlog import read_steps
from llm_as_judge.views.console import console, say, warn, warn_of_judges
from llm_as_judge.views.live import step_table
from llm_as_judge.views.progress import Progress


def train(
    asked: Asked, *, resume: bool, run_dir: Path | None, force_unaudited_judge: bool, dry_run: bool
) -> None:
    settings = asked.settings()
    place = launched()
    if place.rank:  # rank 0 does all of what follows; this process only computes gradients for it
        from llm_as_judge.training.worker import serve_gradients

        serve_gradients(partial(load_policy_of, settings), place, settings.training.rank_timeout_s)
        return
    if dry_run:  # before rows and audit, which may be missing
        for line in policy_lines(settings):
            say(line)
    # before torch is loaded
    latest = check_before_training(settings, run_dir=run_dir, resume=resume)
    if GRADERS.all():
        rows = problem_file(settings.data.train_file)
        for line in idle_graders({*zip(rows.domains, rows.datasets, strict=True)}):
            warn(line)
    if not force_unaudited_judge:
        require_measured_model(settings)
    if dry_run:
        for line in [*_estimate(settings, latest), NOT_CHECKED]:
            say(line)
        require_policy(settings)
        return
    asyncio.run(require_endpoints(settings))
    from llm_as_judge.assembly.trainer import GRPOTrainer

    with Progress(console) as view:
        trainer = GRPOTrainer(
            config=settings,
            run_dir=run_dir,
            resume=resume,
            force_unaudited_judge=force_unaudited_judge,
            view=view,
        )
        result = asyncio.run(trainer.train())
    console.print(step_table(read_steps(result.run_dir), title="training"))
    say(f"run directory  {result.run_dir}")
    say(f"checkpoint     {result.checkpoint}")
    say(f"next           llm-as-judge evaluate{_same_policy(asked)}")
    warn_of_judges(judges_of(result.run_dir))


_WHERE = ("policy.name=", "output.checkpoints=")
"""Begin the settings by which a checkpoint is found."""


def _same_policy(asked: Asked) -> str:
    """The options by which another verb finds what this one trained."""
    given = [("--config", asked.config), ("--model", asked.model)]
    given += [("--set", one) for one in asked.overrides if one.startswith(_WHERE)]
    return "".join(f" {option} {quote(value)}" for option, value in given if value)


def _estimate(settings: Config, latest: Path | None) -> list[str]:
    """What the steps after the checkpoint ``latest`` will ask of the executor, what the warm start teaches,
    and what the reward says of made programs; no model is loaded or asked."""
    from llm_as_judge.assembly.learning import warm_start_options
    from llm_as_judge.training.resuming import resumable  # torch
    from llm_as_judge.training.warm_start import WarmStartPlan, foretold

    problems = problem_file(settings.data.train_file)
    saved = resumable(checkpoint_root(settings), warn) if latest else None
    settings = under_trained_prompt(settings, saved.folder if saved else None)
    sampler = problem_sampler(problems, settings)
    if saved is not None:
        sampler.load_state_dict(saved.state["sampler"])
    warm_start = warm_start_options(settings)
    plan = WarmStartPlan.of(warm_start, problems, saved)
    done = saved.state["step"] if saved else 0
    left = max(0, settings.training.steps - done)
    found = training_estimate(settings, left, problems, None)
    return [
        *found.lines_within(limits_of(settings), Ledger().total),
        *([foretold(warm_start, plan)] if isinstance(plan, WarmStartPlan) else []),
        *rehearsed_reward(settings, problems[0]),
    ]

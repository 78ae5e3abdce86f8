"""Training as a library call.

trainer = GRPOTrainer(config_path="config/training.yaml")
await trainer.train(num_steps=500)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.assembly.chat_models import embedded_weights
from llm_as_judge.assembly.judge_gate import judge_entry, judge_history, require_audit
from llm_as_judge.assembly.learning import (
    learner_of,
    run_options,
    warm_start_options,
    watch_options,
)
from llm_as_judge.assembly.models import require_usable_policy
from llm_as_judge.assembly.preflight import check_before_training, checkpoint_root, refuse_used
from llm_as_judge.assembly.problems import problem_sampler, rows_file
from llm_as_judge.assembly.system import open_system
from llm_as_judge.assembly.trained_prompt import under_trained_prompt
from llm_as_judge.assembly.workbench import tracking_options
from llm_as_judge.config import Config, known_model, load_config
from llm_as_judge.config.grading import RewardConfig
from llm_as_judge.data.selection import problem_file
from llm_as_judge.files import exclusive
from llm_as_judge.grading.version import older_verdicts
from llm_as_judge.llm.weights import installed
from llm_as_judge.operators import Operator
from llm_as_judge.policy.checkpoint import SavedState
from llm_as_judge.policy.launched import launched
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.runs.sinks import open_sinks
from llm_as_judge.runs.table import grading_version
from llm_as_judge.training.additions import Additions
from llm_as_judge.training.imitation import Imitation
from llm_as_judge.training.judge_watch import JudgeWatch
from llm_as_judge.training.resuming import resumable
from llm_as_judge.training.run import Run
from llm_as_judge.training.stopping import heeding_sigterm
from llm_as_judge.training.view import SilentView, TrainingView
from llm_as_judge.training.warm_start import WarmStartPlan
from llm_as_judge.types import Problem

if TYPE_CHECKING:
    from llm_as_judge.training.ranks import Ranks


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a finished call of :meth:`GRPOTrainer.train` leaves."""

    steps: int
    """Steps done in all, those before a resume included."""
    run_dir: Path
    checkpoint: Path
    metrics: dict[str, float]
    """Of the last step."""


class GRPOTrainer:
    """Trains the policy of one configuration."""

    def __init__(
        self,
        config_path: Path | str | None = None,
        *,
        config: Config | None = None,
        run_dir: Path | None = None,
        resume: bool = False,
        force_unaudited_judge: bool = False,
        view: TrainingView | None = None,
        reward_funcs: Sequence[Callable[..., float]] = (),
        graders: Sequence[Callable[..., Any]] = (),
        operators: Sequence[type[Operator]] = (),
        train_dataset: Iterable[Problem | Mapping[str, Any]] | None = None,
    ) -> None:
        """
        Args:
            config_path: YAML file or profile name; ``config`` is an already resolved one instead.
            run_dir: folder of metrics and rollouts; default ``logs/train_MODEL_TIME``, or the
                resumed run's own.
            resume: go on from the latest checkpoint of this model.
            force_unaudited_judge: train with a judge that has no fresh passing audit; run.json
                and every checkpoint say so.
            reward_funcs, graders, operators: for this trainer alone, see docs/extending.md.
            train_dataset: problems, or rows ``{"problem", "answer", "type"}`` (docs/DATA.md), in the
                place of ``data.train_file``.
        Raises:
            DataError: the training file is missing, or a row is broken.
            ConfigError: the configuration is wrong, this is not the first process of a run,
                there is nothing to resume, or ``run_dir`` holds another run.
            ModelError: no checkpoint is whole; of a damaged one the view is told, and the run
                goes on from the one before it.
        """
        self._additions = Additions.of(reward_funcs, graders, operators)
        with self._additions.in_force():
            self.config = self._with_additions(config or load_config(config_path), train_dataset)
        self._run_dir = run_dir
        self._force = force_unaudited_judge
        self._view = view or SilentView()
        found = check_before_training(self.config, run_dir=run_dir, resume=resume)
        self._resume_from = resumable(self.checkpoint_root, self._view.warning) if found else None
        if self._resume_from is not None:
            with self._additions.in_force():
                self.config = under_trained_prompt(self.config, self._resume_from.folder)

    def _with_additions(
        self, config: Config, rows: Iterable[Problem | Mapping[str, Any]] | None
    ) -> Config:
        """The configuration that says the weights of added parts and the file of added rows."""
        self._additions.require_here(config.workers.backend)
        reward = RewardConfig.model_validate(config.reward.model_dump())
        data = config.data
        if rows is not None:
            file = rows_file(rows, config.output.cache_dir() / "train_dataset")
            data = data.model_copy(update={"train_file": file})
        return config.model_copy(update={"reward": reward, "data": data})

    @property
    def checkpoint_root(self) -> Path:
        return checkpoint_root(self.config)

    async def train(self, num_steps: int | None = None) -> TrainingResult:
        """Run until ``num_steps`` steps are done in all (default: ``training.steps``); 0 = the warm
        start alone.

        Raises:
            UserError: something a person can mend (data, model, endpoint, folder, a judge that
                is unaudited or failed its audit).
            TrainingError: the run must not go on; the last checkpoint is intact.
        """
        steps = self.config.training.steps if num_steps is None else num_steps
        saved = self._resume_from
        folder = self._folder(saved)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._additions.in_force())
            problems = problem_file(self.config.data.train_file)
            sampler = await asyncio.to_thread(problem_sampler, problems, self.config)
            warm_start = warm_start_options(self.config)
            plan = await asyncio.to_thread(WarmStartPlan.of, warm_start, problems, saved)
            bank = self.config.training.warm_start
            if bank is not None and (line := older_verdicts(bank, grading_version(bank))):
                self._view.warning(line)
            await asyncio.to_thread(require_usable_policy, self.config)
            audit_status = await require_audit(self.config, force=self._force, say=self._view.stage)
            ranks = self._ranks(stack)
            stack.enter_context(exclusive(self.checkpoint_root, "set another output.checkpoints"))
            stack.enter_context(exclusive(folder, "name another folder by --run-dir"))
            if saved is None:
                refuse_used(folder)
            sinks = stack.enter_context(
                open_sinks(
                    tracking_options(self.config), folder, self.config.model_dump(mode="json")
                )
            )
            self._view.part(_loading(self.config))
            system = await stack.enter_async_context(
                open_system(self.config, adapter=saved.folder if saved else None, training=True)
            )
            earlier = saved.state.get("judges", []) if saved else []
            first = saved.state["step"] + 1 if saved else 1
            learner = learner_of(self.config, system.policy, steps, ranks)
            stage = (
                Imitation(warm_start, system, plan, learner.path, ranks)
                if isinstance(plan, WarmStartPlan)
                else plan
            )
            run = Run(
                run_options(self.config, problems),
                system,
                learner,
                problems,
                sampler,
                RunLog(folder, sinks),
                self._view,
                steps=steps,
                root=self.checkpoint_root,
                facts=system.facts(),
                judges=judge_history(
                    earlier, judge_entry(audit_status, self.config, step=first, forced=self._force)
                ),
                warm_start=stage,
            )
            run.watch = JudgeWatch(
                watch_options(self.config),
                system.judge.fresh,
                audit_status,
                saved.state.get("judge_watch") if saved else None,
            )
            stack.push_async_callback(run.aclose)
            self._view.stage(f"run directory {folder}")
            await run.start(saved)
            with heeding_sigterm(self.config.training.grace_s, self._view.stage) as run.notice:
                going = run.steps()
                if ranks is not None:
                    going = ranks.watch(going, system.on_policy)
                checkpoint, metrics = await going
                run.notice.obey()
            return TrainingResult(run.step, folder, checkpoint, metrics)

    def _ranks(self, stack: AsyncExitStack) -> Ranks | None:
        """The other processes of this run, if the launcher started some."""
        place = launched()
        if place.count == 1:
            return None
        from llm_as_judge.training.ranks import Link, Ranks

        self._view.stage(f"meeting {place.count - 1} other processes")
        ranks = Ranks(Link(place, self.config.training.rank_timeout_s))
        stack.push(ranks.left)
        return ranks

    def _folder(self, saved: SavedState | None) -> Path:
        if self._run_dir is not None:
            return self._run_dir
        if saved is not None:
            return Path(saved.state["run_dir"])
        stamp = time.strftime("%Y%m%d-%H%M%S")
        return self.config.output.logs / f"train_{self.config.policy.label}_{stamp}"


def _loading(config: Config) -> str:
    """What takes long before the first step."""
    policy = known_model(config.policy.name, "policy.name")
    weights = {policy.name: policy}
    if executor := embedded_weights(config.executor.model):
        weights[executor.name] = executor
    missing = [n for n, one in weights.items() if not installed(one, config.output.cache_dir())]
    fetching = f"; first fetching {' and '.join(missing)}" if missing else ""
    return f"loading {' and '.join(weights)}{fetching}"

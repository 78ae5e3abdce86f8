"""The training loop: rollouts, update, log, checkpoint; one step after the other.

trainer = GRPOTrainer(config_path="config/training.yaml")
await trainer.train(num_steps=500)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from llm_as_judge.build import System, open_system, problem_file, problem_sampler
from llm_as_judge.chat_models import estimate_of
from llm_as_judge.config import Config, load_config
from llm_as_judge.data.files import ProblemFile
from llm_as_judge.errors import BudgetError, TrainingError
from llm_as_judge.llm.estimate import measured_means
from llm_as_judge.monitoring.runlog import METRICS, RunLog, read_steps
from llm_as_judge.policy.checkpoint import (
    SavedState,
    load_state,
    save_checkpoint,
)
from llm_as_judge.rollout import SamplingOptions, group_metrics
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.judge_gate import admit_judge, judge_entry, judge_history
from llm_as_judge.training.judge_watch import JudgeWatch
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.preflight import check_before_training, checkpoint_root
from llm_as_judge.types import Group, Rollout


class TrainingView(Protocol):
    """What a terminal or a notebook shows of a run."""

    def stage(self, text: str) -> None: ...

    def rollout(self, rollout: Rollout) -> None: ...

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None: ...


class SilentView:
    """Shows nothing."""

    def stage(self, text: str) -> None:
        pass

    def rollout(self, rollout: Rollout) -> None:
        pass

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a finished call of :meth:`GRPOTrainer.train` leaves."""

    steps: int
    """Steps done in all, those before a resume included."""
    run_dir: Path
    checkpoint: Path | None
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
    ) -> None:
        """
        Args:
            config_path: YAML file or profile name; ``config`` is an already resolved one instead.
            run_dir: folder of metrics and rollouts; default ``logs/train_MODEL_TIME``, or the
                resumed run's own.
            resume: go on from the latest checkpoint of this model.
            force_unaudited_judge: train with a judge that has no fresh passing audit; run.json
                and every checkpoint say so.
        Raises:
            DataError: the training file is missing.
            ConfigError: the configuration is wrong, there is nothing to resume, or ``run_dir``
                holds another run.
        """
        self.config = config or load_config(config_path)
        self._run_dir = run_dir
        self._force = force_unaudited_judge
        self._view = view or SilentView()
        found = check_before_training(self.config, run_dir=run_dir, resume=resume)
        self._resume_from = load_state(found) if found else None

    @property
    def checkpoint_root(self) -> Path:
        return checkpoint_root(self.config)

    async def train(self, num_steps: int | None = None) -> TrainingResult:
        """Run until ``num_steps`` steps are done in all (default: ``training.steps``).

        Raises:
            UserError: something a person can mend (data, model, endpoint, folder, a judge that
                is unaudited or failed its audit).
            TrainingError: the run must not go on; the last checkpoint is intact.
        """
        steps = num_steps or self.config.training.steps
        saved = self._resume_from
        async with AsyncExitStack() as stack:
            problems = problem_file(self.config.data.train_file)
            standing = await admit_judge(self.config, force=self._force, say=self._view.stage)
            self._view.stage("loading models")
            system = await stack.enter_async_context(
                open_system(self.config, adapter=saved.folder if saved else None, training=True)
            )
            run = _Run(self.config, system, problems, steps)
            log = RunLog(self._folder(saved))
            earlier = saved.state.get("judges", []) if saved else []
            first = saved.state["step"] + 1 if saved else 1
            entry = judge_entry(standing, self.config, step=first, forced=self._force)
            run.judges = judge_history(earlier, entry)
            run.watch = JudgeWatch(
                self.config,
                system.bench.judge.fresh,
                system.bench.second_judge,
                standing,
                saved.state.get("judge_watch") if saved else None,
            )
            run.start(log, saved)
            run.announce_path(self._view)
            self._view.stage(f"run directory {log.folder}")
            for line in run.estimate(log, saved is not None):
                self._view.stage(line)
            checkpoint = saved.folder if saved else None
            metrics: dict[str, float] = {}
            while run.step < steps:
                cursor = run.cursor()
                try:
                    metrics = await run.one_step(log, self._view)
                except BudgetError:  # the step is done again when there is money for it
                    run.save(self.checkpoint_root, log, cursor)
                    raise
                finally:
                    run.write_bills(log)
                self._view.step(run.step, steps, metrics)
                if run.step % self.config.training.save_every == 0 or run.step == steps:
                    checkpoint = run.save(self.checkpoint_root, log)
            return TrainingResult(run.step, log.folder, checkpoint, metrics)

    def _folder(self, saved: SavedState | None) -> Path:
        if self._run_dir is not None:
            return self._run_dir
        if saved is not None:
            return Path(saved.state["run_dir"])
        stamp = time.strftime("%Y%m%d-%H%M%S")
        return self.config.output.logs / f"train_{self.config.policy.name}_{stamp}"


class _Run:
    """The live state of one run."""

    def __init__(self, config: Config, system: System, problems: ProblemFile, steps: int) -> None:
        training = config.training
        self._config = config
        self._system = system
        self._ledger = system.bench.ledger
        self._problems = problems
        self._sampler = problem_sampler(problems, config)
        self._learner = Learner(
            system.policy,
            LossOptions(
                centre=training.centre,
                scale=training.scale,
                aggregate=training.aggregate,
                objective=training.objective,
                clip_low=training.clip_low,
                clip_high=training.clip_high,
                is_floor=training.is_floor,
                is_cap=training.is_cap,
                kl_weight=training.kl_weight,
                constant_tokens=config.sampling.max_new_tokens,
            ),
            OptimizerOptions(
                learning_rate=training.learning_rate,
                warmup_steps=training.warmup_steps,
                schedule=training.schedule,
                # not `steps` alone: a run in two parts has the learning rates of the whole
                total_steps=max(steps, training.steps),
                weight_decay=training.weight_decay,
                max_grad_norm=training.max_grad_norm,
                epochs=training.epochs_per_step,
                row_tokens=training.row_tokens,
                max_logprob_gap=training.max_logprob_gap,
            ),
        )
        self.step = 0
        self._steps = steps
        self.judges: list[dict[str, Any]] = []
        self.watch: JudgeWatch | None = None

    def start(self, log: RunLog, saved: SavedState | None) -> None:
        """Write what the run is made of; load what a checkpoint holds."""
        if saved is not None:
            self.step = saved.state["step"]
            self._learner.load_state(saved.state["learner"], saved.tensors)
            self._sampler.load_state_dict(saved.state["sampler"])
            log.cut_after(self.step)
            paid = log.ledger() or saved.state.get("ledger")
            if paid:
                self._ledger.restore(paid)
        log.write_config(self._config.model_dump(mode="json"))
        path = asdict(self._learner.path)
        log.write_facts({**self._system.facts(), "judges": self.judges, "update_path": path})
        self._system.bench.judge.log_calls(log.folder / "judge_calls.jsonl")

    def estimate(self, log: RunLog, resumed: bool) -> list[str]:
        """What the steps to come will ask of the executor, and whether the budget suffices."""
        training = self._config.training
        left = max(0, self._steps - self.step)
        sample = [self._problems[i] for i in range(min(200, len(self._problems)))]
        known = resumed and (log.folder / METRICS).is_file()
        found = estimate_of(
            self._config,
            left * training.problems_per_step * training.samples_per_problem,
            sample,
            measured_means(read_steps(log.folder)) if known else None,
        )
        too_much = found.exceeds(self._ledger.budget, self._ledger.total)
        return [str(found), *([too_much] if too_much else [])]

    def announce_path(self, view: TrainingView) -> None:
        """Say so if the update has to take the slow path."""
        path = self._learner.path
        if path.name != "packed":
            view.stage(f"updates take the {path.name} path (right, but slower): {path.reason}")

    async def one_step(self, log: RunLog, view: TrainingView) -> dict[str, float]:
        training, started = self._config.training, time.perf_counter()
        step, paid_before = self.step + 1, replace(self._ledger.total)
        problems = [self._problems[i] for i in self._sampler.next_batch()]
        view.stage(f"step {step}: sampling and running programs")
        groups = await self._system.runner.groups(
            problems,
            training.samples_per_problem,
            SamplingOptions(
                self._config.sampling.temperature, self._config.sampling.max_new_tokens
            ),
            seed=training.seed * 1_000_003 + step,
            on_rollout=view.rollout,
        )
        log.groups(step, groups)  # paid for: kept before anything else can fail
        self._check_graded(groups)
        judged = await self.watch.after_rollouts(step, groups) if self.watch else {}
        view.stage(f"step {step}: update")
        metrics = {**group_metrics(groups), **judged}
        metrics.update(self._learner.update(groups, temperature=self._config.sampling.temperature))
        if self._system.memory is not None:
            metrics.update(self._system.memory.remember(step, groups))
        times = self._system.runner.times
        metrics["time/sample_s"] = times.sample_s
        metrics["time/execute_and_grade_s"] = times.execute_and_grade_s
        metrics.update(self._ledger.total.since(paid_before).metrics())
        metrics["time/step_s"] = time.perf_counter() - started
        self.step = step
        log.step(step, metrics)
        return metrics

    def _check_graded(self, groups: Sequence[Group]) -> None:
        """A step that lost too much teaches nothing; what broke must be mended first."""
        rollouts = [r for g in groups for r in g.rollouts]
        failed = [r.failure.message for r in rollouts if r.failure]
        undecided = [
            r.verdict.explanation
            for r in rollouts
            if r.failure is None and r.verdict is not None and r.verdict.correct is None
        ]
        for lost, key, allowed, what in (
            (failed, "training.max_failed_share", self._config.training.max_failed_share, "failed"),
            (
                undecided,
                "judge.max_ungraded_share",
                self._config.judge.max_ungraded_share,
                "could not be graded",
            ),
        ):
            if len(lost) > allowed * len(rollouts):
                raise TrainingError(
                    f"step {self.step + 1}: {len(lost)} of {len(rollouts)} rollouts {what}, more "
                    f"than {key} = {allowed}; the first: {lost[0]}. Mend that and go on with "
                    "--resume"
                )

    def cursor(self) -> Any:
        """Which problems come next."""
        return self._sampler.state_dict()

    def write_bills(self, log: RunLog) -> None:
        rollouts = {name: sums.as_json() for name, sums in self._ledger.take_rollouts().items()}
        log.bills(self._ledger.snapshot(), rollouts, self.step)

    def save(self, root: Path, log: RunLog, cursor: Any = None) -> Path:
        """Args:
        cursor: which problems come next; default: those after the last step.
        """
        plain, tensors = self._learner.state()
        state: dict[str, Any] = {
            "step": self.step,
            "learner": plain,
            "sampler": cursor or self._sampler.state_dict(),
            "ledger": self._ledger.snapshot(),
            "run_dir": str(log.folder),
            "base_model": self._config.policy.name,
            "judges": self.judges,
            "judge_watch": self.watch.state_dict() if self.watch else {},
        }
        return save_checkpoint(
            root,
            self.step,
            self._system.policy,
            state=state,
            tensors=tensors,
            config=self._config.model_dump(mode="json"),
            keep=self._config.training.keep_checkpoints,
            experience=self._system.memory.files() if self._system.memory else None,
        )

"""One run: its steps, what it writes down, and how a later process goes on with it.

A checkpoint holds the state after a step. What was written and finished of later steps is in the
run's folder (``runs/pending.py``), so that a resumed run samples nothing that was sampled and
pays for nothing that was finished.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from llm_as_judge.data.files import ProblemFile
from llm_as_judge.data.mix import StratifiedSampler
from llm_as_judge.errors import BudgetError, DataError
from llm_as_judge.grading.version import GRADING_VERSION, older_verdicts
from llm_as_judge.llm.estimate import measured_means
from llm_as_judge.policy.checkpoint import PROMPT, SavedState, save_checkpoint, set_aside
from llm_as_judge.rollout import Batch
from llm_as_judge.runs.judges import grading_version_of
from llm_as_judge.runs.pending import Kept, PendingRollouts, Place
from llm_as_judge.runs.runlog import LEDGER, RunLog, read_steps
from llm_as_judge.training.early_warning import early_warnings, news
from llm_as_judge.training.imitation import Imitation
from llm_as_judge.training.judge_watch import JudgeWatch
from llm_as_judge.training.learner import Learner
from llm_as_judge.training.options import RunOptions, TrainingContext
from llm_as_judge.training.pipeline import Pipeline, StartedStep
from llm_as_judge.training.resuming import Recovered
from llm_as_judge.training.step_metrics import (
    group_metrics,
    refuse_too_many_lost,
    stage_times,
    staleness,
)
from llm_as_judge.training.stopping import StopNotice
from llm_as_judge.training.view import StepProgress, TrainingView
from llm_as_judge.training.warm_start import WarmStartState
from llm_as_judge.types import MeasuredSampler, Sampling, to_json

WARM_START, GRPO = "warm start", "GRPO"
"""The two parts of a run, as a view is told of them."""


class Run:
    """The live state of one run.

    Args:
        learner: with its other processes, where it has some.
        sampler: draws the problems of each step.
        steps: at which it ends.
        root: folder of its checkpoints.
        facts: what it is made of, for run.json.
        judges: who graded from which step on, for run.json and the checkpoints.
        warm_start: what it imitates before its first step, or has imitated; default: nothing.
    """

    def __init__(
        self,
        options: RunOptions,
        context: TrainingContext,
        learner: Learner,
        problems: ProblemFile,
        sampler: StratifiedSampler,
        log: RunLog,
        view: TrainingView,
        *,
        steps: int,
        root: Path,
        facts: Mapping[str, Any],
        judges: list[dict[str, Any]],
        warm_start: Imitation | WarmStartState | None = None,
    ) -> None:
        self._options, self._context, self._problems = options, context, problems
        self._log, self._view = log, view
        self._steps, self._root, self._judges = steps, root, judges
        self._ledger = context.ledger
        self._sampler = sampler
        self._learner = learner
        self._imitation: Imitation | None = None
        """Until that stage is over."""
        self._summary = ""
        """What it teaches, in a line; empty: no such stage."""
        self._warm_start: WarmStartState | None = None
        if isinstance(warm_start, Imitation):
            self._warm_start = warm_start.progress
            self._summary = warm_start.summary
            self._imitation = None if warm_start.progress.done else warm_start
        else:
            self._warm_start = warm_start
        self._pending = PendingRollouts(log.folder, GRADING_VERSION)
        self._recovered = Recovered(self._pending)
        self._cursor = self._sampler.state_dict()
        self._progress = StepProgress(view)
        self._facts: Mapping[str, Any] = facts
        self._history: list[dict[str, float]] = []
        self._warned: list[dict[str, str]] = []
        self._pipeline = self._pipeline_from(0)
        self.step = 0
        self.watch: JudgeWatch | None = None
        """Looks at the judge while it rewards."""
        self.notice: StopNotice | None = None
        """Whether the run has been asked to end."""

    @property
    def _learner_now(self) -> Learner:
        """Of the stage in hand."""
        return self._imitation.learner if self._imitation else self._learner

    def _pipeline_from(self, step: int) -> Pipeline:
        staleness = self._options.max_staleness
        return Pipeline(self._start_step, done=step, last=self._steps, staleness=staleness)

    # ------------------------------------------------------------------------------ start, resume
    async def start(self, saved: SavedState | None) -> Path:
        """Write what the run is made of; load what a checkpoint holds, or write the first one.

        Raises:
            ConfigError, DataError: what was finished after the checkpoint does not fit this run.
        """
        if saved is not None:
            self.step = saved.state["step"]
            self._learner_now.load_state(saved.state["learner"], saved.tensors)
            self._sampler.load_state_dict(saved.state["sampler"])
            self._cursor = saved.state["sampler"]
            self._pipeline = self._pipeline_from(self.step)
            older = older_verdicts(saved.folder, grading_version_of(saved.folder))
            self._recovered, said = Recovered.after(
                self.step,
                self._pending,
                self._log,
                self._options.changed_setting,
                grade_again=bool(older),
            )
            if older:
                self._view.warning(f"{older}; steps from {self.step + 1} on are rewarded by them")
            if said:
                self._view.stage(said)
            for row in self._log.steps():
                self._warned.append(row.pop("warnings", {}))
                self._history.append(row)
            if paid := self._log.ledger() or saved.state.get("ledger"):
                self._restore_bill(paid)
        self._log.write_config(self._options.resolved)
        path = self._learner.path
        facts = {**self._facts, "judges": self._judges, "update_path": asdict(path)}
        facts["grading_version"] = GRADING_VERSION
        self._facts = {**facts, "learner_processes": self._learner.processes}
        self._write_facts()
        if path.name != "packed":
            self._view.stage(
                f"updates take the {path.name} path (right, but slower): {path.reason}"
            )
        await self._context.on_policy(self._learner.prepare)
        self._context.judge.log_calls(self._log.folder / "judge_calls.jsonl")
        for line in self._estimate():
            self._view.stage(line)
        if saved is not None:
            return saved.folder
        if earlier := set_aside(self._root):
            self._view.warning(
                f"the checkpoints of an earlier run are in {earlier} now (--policy {earlier}/step_N)"
            )
        return await self.save()

    def _write_facts(self) -> None:
        taught = {} if self._warm_start is None else {"warm_start": self._warm_start.facts()}
        self._log.write_facts({**self._facts, **taught})

    def _restore_bill(self, paid: Mapping[str, Any]) -> None:
        try:
            self._ledger.restore(paid)
        except TypeError as error:
            raise DataError(
                f"{self._log.folder / LEDGER}: {error}; put the file back, or remove it to go on "
                "from the sums of the checkpoint"
            ) from None

    def _estimate(self) -> list[str]:
        """What the steps to come will ask of the executor, and whether the budget suffices."""
        measured = measured_means(read_steps(self._log.folder)) if self._history else None
        left = self._steps - self.step
        if left <= 0:  # a warm start alone asks nobody
            return []
        found = self._options.estimate(left, measured)
        too_much = found.exceeds(self._ledger.budget, self._ledger.total)
        return [*found.lines, *([too_much] if too_much else [])]

    # ------------------------------------------------------------------------------------ one step
    async def _start_step(self, step: int) -> StartedStep:
        """Draw the step's problems, begin to sample their programs, leave all that running."""
        options = self._options
        self._view.doing(f"step {step}: writing and running programs")
        problems = [self._problems[i] for i in self._sampler.next_batch()]
        cursor = self._sampler.state_dict()
        batch = await self._context.runner.start(
            problems,
            Sampling(
                options.samples_per_problem,
                options.temperature,
                options.max_new_tokens,
                seed=options.seed * 1_000_003 + step,
            ),
            known=self._recovered.take(step, problems),
            budgets_P=options.budgets.of(problems, "step", step),
            confirmed=True,
        )
        return StartedStep(step, batch, cursor, asyncio.ensure_future(self._follow(step, batch)))

    async def _follow(self, step: int, batch: Batch) -> None:
        """Keep what is written and what has ended before anything else happens to it; show it."""
        async for event in batch:
            if event.is_new:
                place = Place(step, event.group, event.rollout.index)
                self._pending.add(place, Kept(event.rollout, event.prompt))
            if event.ended:
                self._progress.ended(step, event.rollout)

    async def one_step(self) -> dict[str, float]:
        """Wait for the next step's rollouts and learn from them; returns its metrics."""
        clock, busy_before = [time.perf_counter()], self._context.on_policy.busy_s
        step, paid_before = self.step + 1, replace(self._ledger.total)
        self._progress.show(step)
        started = await self._pipeline.next(self.step)
        try:
            groups = await started.groups()
        finally:
            await started.aclose()
        clock.append(time.perf_counter())
        sampling_s = self._context.on_policy.busy_s - busy_before
        self._log.groups(step, groups)
        self._pending.drop(step)
        refuse_too_many_lost(
            step, groups, self._options.max_failed_fraction, self._options.max_ungraded_fraction
        )
        judged = await self.watch.after_rollouts(step, groups) if self.watch else {}
        metrics = {**group_metrics(groups), **judged}
        metrics["rollout/staleness"] = staleness(groups, self._context.policy.version)
        if isinstance(self._context.sampler, MeasuredSampler):
            metrics.update(self._context.sampler.metrics())
        metrics.update(self._context.work.metrics())
        self._view.doing(f"step {step}: update")
        temperature = self._options.temperature
        metrics.update(
            await self._context.on_policy(
                lambda: self._learner.update(groups, temperature=temperature)
            )
        )
        if self._context.memory is not None:
            remember = self._context.memory.remember
            metrics.update(await asyncio.to_thread(remember, step, groups))
        clock.append(time.perf_counter())
        metrics.update(stage_times(clock, sampling_s, started.batch.run_s))
        metrics.update(self._ledger.total.since(paid_before).metrics())
        if step == 1 and self._warm_start is not None:
            metrics.update(self._warm_start.metrics())
        self.step, self._cursor = step, started.cursor
        self._log.step(step, metrics, self._warn(metrics))
        return metrics

    def _warn(self, metrics: dict[str, float]) -> dict[str, str]:
        """Early warnings of the step; shows those that are new."""
        self._history.append(metrics)
        found = early_warnings(self._history)
        for message in news(found, self._warned):
            self._view.warning(message)
        self._warned.append(found)
        return found

    # ---------------------------------------------------------------------------------------- end
    async def steps(self) -> tuple[Path, dict[str, float]]:
        """What is left to imitate, then all steps that are left, or nothing after what was in hand when
        the run was asked to end; returns the last checkpoint and the last metrics.

        Raises:
            BudgetError: the budget is used up; a checkpoint of the last step is written first.
        """
        if self._summary:
            self._view.stage(self._summary)
        if self._imitation is not None:
            await self._imitate(self._imitation)
        if self.step < self._steps:
            self._view.part(GRPO, self._steps, "steps", self.step, begun=True)
        checkpoint, metrics = self._root / f"step_{self.step}", {}
        while self.step < self._steps and not self._asked_to_end:
            try:
                metrics = await self.one_step()
            except BudgetError:  # the step is gone on with when there is money for it
                await self.save()
                raise
            finally:
                self._write_bills()
            self._view.step(self.step, self._steps, metrics)
            due = self.step % self._options.save_every == 0 or self.step == self._steps
            if due or self._asked_to_end:
                checkpoint = await self.save()
        return checkpoint, metrics

    async def _imitate(self, imitation: Imitation) -> None:
        done = len(imitation.progress.losses)
        self._view.part(WARM_START, imitation.count, "updates", done, begun=True)
        async with aclosing(imitation.updates(self._view.doing)) as updates:
            async for due in updates:
                self._view.did()
                if imitation.progress.done:
                    self._view.stage(imitation.progress.words)
                    self._imitation = None
                    self._write_facts()
                if due or self._asked_to_end:
                    await self.save()
                if self._asked_to_end:
                    return

    @property
    def _asked_to_end(self) -> bool:
        return self.notice is not None and self.notice.asked

    def _write_bills(self) -> None:
        rollouts = {name: asdict(sums) for name, sums in self._ledger.take_rollouts().items()}
        self._log.bills(self._ledger.snapshot(), rollouts, self.step)

    async def save(self) -> Path:
        """Write a checkpoint of the state after the last step."""
        self._view.doing(f"writing the checkpoint step_{self.step}")
        try:
            return await self._context.on_policy(self._save)
        finally:
            self._view.doing("")

    def _save(self) -> Path:
        plain, tensors = self._learner_now.state()
        state: dict[str, Any] = {
            "step": self.step,
            "learner": plain,
            "sampler": self._cursor,
            "ledger": self._ledger.snapshot(),
            "run_dir": str(self._log.folder),
            "base_model": self._options.base_model,
            PROMPT: self._options.prompt,
            "judges": self._judges,
            "grading_version": GRADING_VERSION,
            "data": self._options.origins,
            "judge_watch": self.watch.state_dict() if self.watch else {},
            "warm_start": to_json(self._warm_start) if self._warm_start else {},
        }
        return save_checkpoint(
            self._root,
            self.step,
            self._context.policy,
            state=state,
            tensors=tensors,
            config=self._options.resolved,
            keep=self._options.keep_checkpoints,
            experience=self._context.memory.files() if self._context.memory else None,
        )

    async def aclose(self) -> None:
        """End what was started and not learned from; its finished rollouts are kept."""
        await self._pipeline.aclose()

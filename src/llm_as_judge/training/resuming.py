"""The checkpoint that a run goes on from: the newest that is whole, and is said to be another if it is.

What came after an older checkpoint is in the run's folder, so that nothing is paid for again: its
steps are learned once more from the same rollouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.files import read_json
from llm_as_judge.policy.checkpoint import (
    STATE,
    SavedState,
    latest_checkpoint,
    load_state,
    newest_first,
)
from llm_as_judge.runs.pending import Kept, PendingRollouts, Place
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import Problem

_COUNTS = ("scheduler_step", "updates", "policy_version")
_MOST_PROBLEMS_OF_A_STEP = 100_000
"""Draws are made again one by one: a number that no run could reach must not be counted up to."""


def resumable(root: Path, warn: Callable[[str], None]) -> SavedState:
    """State of the newest checkpoint under ``root`` that can be gone on from.

    Args:
        warn: told of each newer one that is damaged.
    Raises:
        ModelError: there is none, with what is wrong with the newest.
    """
    damage: list[str] = []
    run_dir: str | None = None
    for folder in _candidates(root):
        try:
            saved = _trainable(load_state(folder))
        except ModelError as error:
            damage.append(str(error))
            run_dir = run_dir or _run_of(folder)
            continue
        if run_dir not in (None, saved.state["run_dir"]):
            continue  # an older run's
        if damage:
            warn(
                f"{damage[0]}; going on from the one before it, {folder.name} of "
                f"{saved.state['run_dir']}: the steps between are learned again from rollouts that are kept"
            )
        return saved
    raise ModelError(
        f"{damage[0] if damage else root}: no checkpoint under {root} can be gone on from; restore "
        "one, or train without --resume in another --run-dir"
    )


def _candidates(root: Path) -> Iterator[Path]:
    """The one that ``latest`` names, then the others, the one written last first."""
    latest = latest_checkpoint(root)
    if latest is not None:
        yield latest
    yield from (folder for folder in newest_first(root) if folder != latest)


def _run_of(folder: Path) -> str | None:
    """The run of a damaged checkpoint; None = it no longer says."""
    try:
        found = read_json(folder / STATE)["run_dir"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if isinstance(found, str) else None


def _trainable(saved: SavedState) -> SavedState:
    """``saved``, if its state has what a run needs.

    Raises:
        ModelError: it has not.
    """
    state = saved.state
    learner, sampler = state.get("learner"), state.get("sampler")
    step = state.get("step")
    sound = (
        _count(step, 10**9)
        and isinstance(learner, dict)
        and all(_count(learner.get(name), 10**9) for name in _COUNTS)
        and isinstance(sampler, dict)
        and _count(sampler.get("drawn"), (step or 0) * _MOST_PROBLEMS_OF_A_STEP)
        and isinstance(state.get("run_dir"), str)
        and isinstance(state.get("judges", []), list)
        and all(isinstance(entry, dict) for entry in state.get("judges", []))
        and isinstance(state.get("judge_watch", {}), dict)
    )
    if not sound:
        raise ModelError(f"{saved.folder}: not a checkpoint of a run: state.json lacks its fields")
    return saved


def _count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


class Recovered:
    """Rollouts of an earlier process by their place; each is given back once."""

    def __init__(self, pending: PendingRollouts, kept: dict[Place, Kept] | None = None) -> None:
        self._pending = pending
        self._kept = kept or {}

    @classmethod
    def after(
        cls,
        step: int,
        pending: PendingRollouts,
        log: RunLog,
        changed_setting: Callable[[Mapping[str, Any]], tuple[str, Any, Any] | None],
        *,
        grade_again: bool = False,
    ) -> tuple[Recovered, str]:
        """What there is of later steps, and a line that says how much; empty = nothing.

        Args:
            changed_setting: see :class:`RunOptions`.
            grade_again: the verdicts are of older grading rules, and are given anew.
        Raises:
            ConfigError: they were made under other settings.
        """
        kept = pending.recover(step)
        log.cut_after(step)
        if not kept:
            return cls(pending), ""
        ended = sum(one.rollout.verdict is not None for one in kept.values())
        if changed := changed_setting(log.config()):
            key, then, now = changed
            raise ConfigError(
                f"{pending.path}: {ended} finished rollouts of later steps were made with "
                f"{key} = {then!r}, now it is {now!r}. Set it back, or remove that file "
                "to pay for these steps again"
            )
        said = (
            f"after step {step}: {len(kept)} programs were written already, {ended} of them run "
            "and graded"
        )
        if grade_again:
            kept = {
                place: replace(one, rollout=replace(one.rollout, verdict=None))
                for place, one in kept.items()
            }
        return cls(pending, kept), said

    def take(self, step: int, problems: Sequence[Problem]) -> dict[tuple[int, int], Kept]:
        """The rollouts of ``step`` by position of problem and sample.

        Raises:
            DataError: they are of other problems than the step's.
        """
        known = {}
        for place in [place for place in self._kept if place.step == step]:
            kept = self._kept.pop(place)
            drawn = problems[place.group].id if place.group < len(problems) else None
            if kept.rollout.problem_id != drawn:
                raise DataError(
                    f"{self._pending.path}: step {step}, group {place.group} is "
                    f"{kept.rollout.problem_id}, this run draws {drawn}. Resume with the same data, "
                    "or remove that file to pay for these steps again"
                )
            known[place.group, place.sample] = kept
        return known

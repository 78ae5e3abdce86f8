"""Interface of a view of a run while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from llm_as_judge.types import Rollout


class TrainingView(Protocol):
    """What a terminal or a notebook shows of a run."""

    def stage(self, text: str) -> None:
        """Something to know of the run."""

    def part(
        self, name: str, total: int = 0, unit: str = "", done: int = 0, *, begun: bool = False
    ) -> None:
        """What is done from now on: ``total`` units, 0 = not counted, ``done`` of them before.

        Args:
            begun: the first unit is in work from now on; else a model may be loaded before.
        """

    def did(self, count: int = 1) -> None:
        """So many more units are done; ``step`` says it of its own."""

    def doing(self, text: str) -> None:
        """A remark on what is being done; nothing to keep."""

    def warning(self, text: str) -> None: ...

    def rollout(self, rollout: Rollout) -> None: ...

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None: ...


class SilentView:
    def stage(self, text: str) -> None: ...
    def part(
        self, name: str, total: int = 0, unit: str = "", done: int = 0, *, begun: bool = False
    ) -> None: ...
    def did(self, count: int = 1) -> None: ...
    def doing(self, text: str) -> None: ...
    def warning(self, text: str) -> None: ...
    def rollout(self, rollout: Rollout) -> None: ...
    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None: ...


class StepProgress:
    """Shows the rollouts of the step that is waited for; those of later steps when it is their
    turn."""

    def __init__(self, view: TrainingView) -> None:
        self._view = view
        self._shown = 0
        self._early: dict[int, list[Rollout]] = {}

    def ended(self, step: int, rollout: Rollout) -> None:
        if step <= self._shown:
            self._view.rollout(rollout)
        else:
            self._early.setdefault(step, []).append(rollout)

    def show(self, step: int) -> None:
        """From now on ``step`` is waited for."""
        self._shown = step
        for rollout in self._early.pop(step, []):
            self._view.rollout(rollout)

"""The admission rule: what may start is started, in order, by the weights of that moment."""

from __future__ import annotations

from typing import Any

import pytest

from llm_as_judge.training.pipeline import Pipeline, StartedStep


class Batches:
    """Records after how many updates each step was started."""

    def __init__(self) -> None:
        self.done = 0
        self.started: list[tuple[int, int]] = []
        self.closed: list[int] = []

    async def start(self, step: int) -> StartedStep:
        self.started.append((step, self.done))
        return StartedStep(step, _Batch(step, self.closed), {})  # type: ignore[arg-type]


class _Batch:
    def __init__(self, step: int, closed: list[int]) -> None:
        self._step, self._closed = step, closed

    async def aclose(self) -> None:
        self._closed.append(self._step)


async def run(batches: Batches, staleness: int, last: int, done: int = 0) -> list[int]:
    batches.done = done
    pipeline = Pipeline(batches.start, done=done, last=last, staleness=staleness)
    learned = []
    while batches.done < last:
        learned.append((await pipeline.next(batches.done)).step)
        batches.done += 1
    return learned


@pytest.mark.parametrize(
    ("staleness", "started"),
    [
        (0, [(1, 0), (2, 1), (3, 2), (4, 3)]),
        (1, [(1, 0), (2, 0), (3, 1), (4, 2)]),
        (2, [(1, 0), (2, 0), (3, 0), (4, 1)]),
        (9, [(1, 0), (2, 0), (3, 0), (4, 0)]),
    ],
)
async def test_steps_start_as_soon_as_the_rule_admits_them_and_are_learned_in_order(
    staleness: int, started: list[tuple[int, int]]
) -> None:
    batches = Batches()
    assert await run(batches, staleness, last=4) == [1, 2, 3, 4]
    assert batches.started == started


async def test_a_resumed_run_starts_where_it_stands() -> None:
    batches = Batches()
    assert await run(batches, 1, last=6, done=3) == [4, 5, 6]
    assert batches.started == [(4, 3), (5, 3), (6, 4)]


async def test_closing_ends_what_was_started_ahead_and_not_asked_for() -> None:
    batches = Batches()
    pipeline: Any = Pipeline(batches.start, done=0, last=9, staleness=2)
    await pipeline.next(0)
    await pipeline.aclose()
    assert batches.closed == [2, 3]

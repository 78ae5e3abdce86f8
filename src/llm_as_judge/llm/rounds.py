"""Rotation of a pool's draws: run m of a program begins at draw m and comes round to draw 0, so that
several runs read the same replies in another order.

A problem that filling ended early has fewer draws; a second try after one draw that failed has that draw
alone. No run sees a draw twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.types import ChatRequest

FILLED = "filled"
"""Topic of the notes on how many draws of a model the pool was filled with."""
FILLED_TO = "filled to"
"""Topic of the notes on which reply was the last when a model was filled."""
NOTES = (FILLED, FILLED_TO)


def filled(pool: Pool, model: str) -> int:
    """Draws of ``model`` that the pool was filled with, where problems did not end it before; 0 = not filled."""
    return _noted(pool, FILLED, model)


def fill_to(pool: Pool, model: str, draws: int) -> None:
    """From now on it is one that was filled with so many draws of ``model``, or more."""
    pool.note(FILLED, model, max(draws, filled(pool, model)))
    pool.note(FILLED_TO, model, pool.last)


def _noted(pool: Pool, topic: str, model: str) -> int:
    return next((int(value) for name, value in pool.notes(topic) if name == model), 0)


class Rounds:
    """The draw that comes ``offset`` after that of a request.

    Args:
        closed: nothing can be asked (a replay), and the round is of all draws that are held. Else it is of those
            that filling has left, so that what is asked since changes no run; a run that draws more, or begins
            beyond them, asks further ones.
    """

    def __init__(self, pool: Pool, *, closed: bool) -> None:
        self._pool, self._closed = pool, closed
        self._counts: dict[str, tuple[int, int]] = {}

    def __call__(self, model: str, request: ChatRequest, offset: int) -> ChatRequest:
        """
        Raises:
            ModelError: a closed pool was not filled with so many draws that a run could begin there.
        """
        if model not in self._counts:
            self._counts[model] = filled(self._pool, model), _noted(self._pool, FILLED_TO, model)
        most, last = self._counts[model]
        if self._closed:
            return self._of_held(request, offset, self._pool.draws(model, request), most)
        drawn = self._pool.draws(model, request, last) if offset < most else []
        return _turned(request, offset, drawn) if drawn else request.later(offset)

    def _of_held(
        self, request: ChatRequest, offset: int, held: Sequence[int], most: int
    ) -> ChatRequest:
        first = [draw for n, draw in enumerate(held) if draw == n]  # up to the first gap
        if first and offset >= max(len(first), most):
            raise ModelError(
                f"{self._pool.path}: a run begins at draw {offset} (executor.draw_offset, workflow.draws), and "
                f"there are draws 0 to {first[-1]} of what it asks; {self._pool.remedy}"
            )
        if request.draw < len(first):
            return _turned(request, offset, first)
        if held and not first and offset not in held:  # a second try, which another run made
            return _turned(request, offset, held)
        return request.later(offset)  # as it was asked; or a miss, which the replay tells


def _turned(request: ChatRequest, offset: int, drawn: Sequence[int]) -> ChatRequest:
    if request.draw < len(drawn):
        seen = drawn[(request.draw + offset) % len(drawn)]
    else:  # those that were left out, then those after them
        others = (draw for draw in count() if draw not in drawn)
        seen = next(islice(others, request.draw - len(drawn), None))
    return request.later(seen - request.draw)

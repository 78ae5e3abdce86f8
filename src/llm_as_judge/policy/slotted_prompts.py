"""Prefix-shared KV cache with fixed slots: each row has a place for good and all shapes are fixed.

So a GPU replays a step as one graph: its thousands of small kernels take longer to launch than to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.shared_prompts import SharedPrompts

FIRST_SLOTS = 128
"""Tokens of the first buffer where each size is captured anew."""


class SlottedPrompts(SharedPrompts):
    """Each prompt has as many slots as it can have rows; a step computes all of them, written or not.

    For few rows a step costs what its weights take to read, so that empty slots are free. On a GPU the first
    step on new buffers runs as it is, which loads its kernels, and from the second on it is a graph.
    """

    def __init__(self, policy: Policy, rows: int, *, captured: bool | None = None) -> None:
        """
        Args:
            rows: slots of a prompt.
            captured: replay steps as graphs; None: where the device is CUDA.
        """
        super().__init__(policy)
        self._rows = rows
        self._captured = policy.device.type == "cuda" if captured is None else captured
        self._slots: list[int] = []
        """Of each row, in order."""
        self._index_B = self._tokens_S = self._places_L = torch.empty(0)
        self._fresh = True
        """The buffers are new: no step has run on them."""
        self._graph: Any = None
        self._logits_SV = torch.empty(0)
        """What the graph writes."""

    def begin(self, prompts_P: Sequence[Sequence[int]]) -> Tensor:
        logits_P = super().begin(prompts_P)
        owners = [p for p in range(len(prompts_P)) for _ in range(self._rows)]
        self._prompts.place(owners)
        self._positions_B = self._positions_B.repeat_interleave(self._rows)
        self._tokens_S = torch.zeros_like(self._positions_B)
        self._place([p * self._rows for p in range(len(prompts_P))])
        return logits_P

    def keep(self, chosen: Sequence[int]) -> None:
        """A row keeps its slot; where it becomes several, the others take free ones of its prompt."""
        taken = {self._slots[i] for i in chosen}
        seen: set[int] = set()
        slots: list[int] = []
        copies: dict[int, int] = {}
        for i in chosen:
            slot = source = self._slots[i]
            if source in seen:
                first = source - source % self._rows
                slot = next(s for s in range(first, first + self._rows) if s not in taken)
                copies[slot] = source
                taken.add(slot)
            seen.add(source)
            slots.append(slot)
        self._place(slots)
        if copies and self._written:
            places, sources = torch.tensor(
                [[*copies], [*copies.values()]], device=self._policy.device
            )
            for own in self._own:
                own.copy(places, sources, self._written)

    def _place(self, slots: list[int]) -> None:
        self._slots = slots
        self._index_B = torch.tensor(slots, device=self._policy.device)

    def step(self, tokens_B: Tensor) -> Tensor:
        self._tokens_S[self._index_B] = tokens_B
        if self._make_room(len(self._tokens_S), FIRST_SLOTS):
            self._graph, self._fresh = None, True
            self._read = self._own[0].keys.shape[2]
            self._places_L = torch.arange(self._read, device=self._policy.device)
        if self._fresh or not self._captured:
            logits_SV = self._step_of_all()
        else:
            if self._graph is None:
                self._capture()
            self._graph.replay()
            logits_SV = self._logits_SV
        self._fresh = False
        self._written += 1
        return logits_SV[self._index_B]

    def _step_of_all(self) -> Tensor:
        self._beyond_L = self._places_L > self._at
        return self._logits(self._tokens_S)

    def _capture(self) -> None:  # needs a GPU
        device = self._policy.device
        with _capturing(graph := torch.cuda.CUDAGraph(), device, _keeper(device).pool()):
            self._logits_SV = self._step_of_all()
        self._graph = graph


@cache
def _keeper(device: torch.device) -> torch.cuda.CUDAGraph:  # needs a GPU
    """A graph of nothing, which keeps the memory that one graph leaves for the next."""
    with _capturing(keeper := torch.cuda.CUDAGraph(), device):
        torch.zeros(1, device=device)
    return keeper


def _capturing(
    graph: torch.cuda.CUDAGraph, device: torch.device, pool: Any = None
) -> AbstractContextManager[None]:  # needs a GPU
    """What is asked of the GPU inside becomes the graph; other threads' work goes on meanwhile."""
    return torch.cuda.graph(
        graph, pool=pool, stream=_capture_stream(device), capture_error_mode="thread_local"
    )


@cache
def _capture_stream(device: torch.device) -> torch.cuda.Stream:  # needs a GPU
    """One for all graphs: each stream has a working memory of its own for products."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

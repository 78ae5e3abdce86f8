"""Who else computes a part of an update: nobody, or the other processes of ``accelerate launch``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from torch.nn import Parameter

from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.training.gradients import MicroBatchReport, Normalizers
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.micro_batches import MicroBatch
from llm_as_judge.training.reference import UpdatePath


class Peers(Protocol):
    """The processes of a learner, the caller's first."""

    @property
    def count(self) -> int:
        """The caller's included."""
        ...

    def prepare(self, adapter: AdapterSpec, path: UpdatePath, loss: LossOptions) -> None:
        """Before the first update: what they compute, and how.

        Raises:
            TrainingError: one cannot.
        """
        ...

    def begin(self, shares: Sequence[Sequence[MicroBatch]], normalizers: Normalizers) -> None:
        """An update begins; ``shares[r]`` is what process r computes in each of its passes."""
        ...

    def one_pass(
        self, parameters: Sequence[Parameter], own: Callable[[], list[MicroBatchReport]]
    ) -> list[MicroBatchReport]:
        """Let all compute their shares under ``parameters``, the caller by ``own``.

        Returns:
            Reports of all micro-batches; ``parameters`` then have the gradients of all of them.
        Raises:
            TrainingError: a process has failed or is gone.
        """
        ...


class SingleProcess:
    """One process."""

    count = 1

    def prepare(self, adapter: AdapterSpec, path: UpdatePath, loss: LossOptions) -> None:
        pass

    def begin(self, shares: Sequence[Sequence[MicroBatch]], normalizers: Normalizers) -> None:
        pass

    def one_pass(
        self, parameters: Sequence[Parameter], own: Callable[[], list[MicroBatchReport]]
    ) -> list[MicroBatchReport]:
        return own()

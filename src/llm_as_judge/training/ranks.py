"""Messages, weights and gradients between the processes of a learner, over torch.distributed.

Messages are JSON: nothing that another process says is executed. Weights go out from rank 0 before
each pass, gradients come back as a sum; the other ranks keep nothing from one update to the next, so
that a run can go on with any number of them.

A process that dies closes its connections, which ends the waiting of whoever talks to it. A machine
that vanishes without a word is given up after ``training.rank_timeout_s``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import Parameter

from llm_as_judge.errors import TrainingError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.launched import Launched
from llm_as_judge.quoting import quoted
from llm_as_judge.training.gradients import MicroBatchReport, Normalizers
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.micro_batches import MicroBatch
from llm_as_judge.training.reference import UpdatePath
from llm_as_judge.types import PolicyTurn, from_json, to_json


class Peers:
    """The processes of a learner: the caller's alone."""

    count = 1
    """The caller's included."""

    def prepare(self, adapter: AdapterSpec, path: UpdatePath, loss: LossOptions) -> None:
        """Before the first update: what they compute, and how.

        Raises:
            TrainingError: one cannot.
        """

    def begin(self, shares: Sequence[Sequence[MicroBatch]], normalizers: Normalizers) -> None:
        """An update begins; ``shares[r]`` is what process r computes in each of its passes."""

    def one_pass(
        self, parameters: Sequence[Parameter], own: Callable[[], list[MicroBatchReport]]
    ) -> list[MicroBatchReport]:
        """Let all compute their shares under ``parameters``, the caller by ``own``.

        Returns:
            Reports of all micro-batches; ``parameters`` then have the gradients of all of them.
        Raises:
            TrainingError: a process has failed or is gone.
        """
        return own()


T = TypeVar("T")
WORD_EVERY_S = 30.0
"""Rank 0 says a word that often while nothing is to be computed."""


class Link:
    """What a process says to the others, and hears of them."""

    def __init__(self, place: Launched, timeout_s: float) -> None:
        """Meet the others.

        Raises:
            TrainingError: they did not come.
        """
        self.place = place
        if torch.cuda.is_available():
            torch.cuda.set_device(place.local_rank)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with self._talking_to("the other ranks"):
            dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))

    @contextmanager
    def _talking_to(self, whom: str) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # gloo and nccl raise nothing more exact
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            without_source_line = re.sub(r"^\[[^]]*\] ", "", first)
            said = quoted(without_source_line.split(". ")[0])
            raise TrainingError(
                f"rank {self.place.rank} of {self.place.count}: {whom} cannot be reached any more "
                f"({said}). Finished rollouts and checkpoints are kept: start again with --resume, "
                "with as many processes as you like"
            ) from None

    def send(self, rank: int, message: Any) -> None:
        """One message to ``rank``, which receives it."""
        content = bytearray(json.dumps(message).encode())
        with self._talking_to(f"rank {rank}"):
            dist.send(torch.tensor([len(content)]), rank)
            dist.send(torch.frombuffer(content, dtype=torch.uint8), rank)

    def recv(self, rank: int) -> Any:
        """The next message of ``rank``, which is waited for."""
        with self._talking_to(f"rank {rank}"):
            length = torch.zeros(1, dtype=torch.int64)
            dist.recv(length, rank)
            content = torch.empty(int(length), dtype=torch.uint8)
            dist.recv(content, rank)
        return json.loads(content.numpy().tobytes())

    def broadcast(self, parameters: Sequence[Parameter]) -> None:
        """The values that rank 0 has, to all."""
        flat = torch.cat([p.detach().flatten() for p in parameters])
        with self._talking_to("another rank"):
            dist.broadcast(flat, 0)
        if self.place.rank:
            with torch.no_grad():
                for parameter, values in _parts(flat, parameters):
                    parameter.copy_(values)

    def reduce(self, parameters: Sequence[Parameter]) -> None:
        """Rank 0 gets the sum of all ranks' gradients; the others' are no longer of use."""
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters]
        )
        with self._talking_to("another rank"):
            dist.reduce(flat, 0, op=dist.ReduceOp.SUM)
        for parameter, values in _parts(flat, parameters):
            parameter.grad = values

    def close(self) -> None:
        dist.destroy_process_group()


def _parts(flat: Tensor, parameters: Sequence[Parameter]) -> Iterator[tuple[Parameter, Tensor]]:
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, part in zip(parameters, torch.split(flat, sizes), strict=True):
        yield parameter, part.view_as(parameter)


class Ranks(Peers):
    """Several processes, as rank 0 sees them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._others = range(1, link.place.count)
        self.count = link.place.count

    def prepare(self, adapter: AdapterSpec, path: UpdatePath, loss: LossOptions) -> None:
        said = {"adapter": asdict(adapter), "path": asdict(path), "loss": loss.model_dump()}
        self._say("load", **said)
        for rank in self._others:
            self._recv(rank)

    def begin(self, shares: Sequence[Sequence[MicroBatch]], normalizers: Normalizers) -> None:
        for rank in self._others:
            said = {
                "do": "update",
                "micro_batches": to_json(list(shares[rank])),
                "normalizers": asdict(normalizers),
            }
            self._link.send(rank, said)

    def one_pass(
        self, parameters: Sequence[Parameter], own: Callable[[], list[MicroBatchReport]]
    ) -> list[MicroBatchReport]:
        self._link.broadcast(parameters)
        reports = own()
        for rank in self._others:
            reports += from_json(tuple[MicroBatchReport, ...], self._recv(rank)["reports"])
        self._link.reduce(parameters)
        return reports

    def _recv(self, rank: int) -> Any:
        said = self._link.recv(rank)
        if failed := said.get("failed"):
            raise TrainingError(
                f"rank {rank} of {self.count}: {failed}. Finished rollouts and checkpoints are "
                "kept: mend that and go on with --resume"
            )
        return said

    def _say(self, word: str, **more: Any) -> None:
        for rank in self._others:
            self._link.send(rank, {"do": word, **more})

    async def watch(self, work: Awaitable[T], on_policy: PolicyTurn) -> T:
        """Result of ``work``, which ends with the first rank that is gone.

        Raises:
            TrainingError: a rank cannot be reached.
        """
        running = asyncio.ensure_future(work)
        talking = asyncio.ensure_future(self._keep_talking(on_policy))
        try:
            await asyncio.wait({running, talking}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                talking.result()  # raises what has ended it
            return await running
        finally:
            for task in (running, talking):
                task.cancel()
            await asyncio.gather(running, talking, return_exceptions=True)

    async def _keep_talking(self, on_policy: PolicyTurn) -> None:
        while True:
            await asyncio.sleep(WORD_EVERY_S)
            await on_policy(lambda: self._say("stay"))

    def left(self, kind: type[BaseException] | None, *_: object) -> None:
        """The run is over. After an error the others may be anywhere in an update: this process
        ends, and with it their waiting."""
        if kind is None:
            self._say("end")
            self._link.close()

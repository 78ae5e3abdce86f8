"""A process of the learner that computes gradients for rank 0, and does nothing else.

It samples nothing, runs nothing and writes no file. Everything it needs is told to it; what it has
is the base model.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import torch

from llm_as_judge.errors import LlmAsJudgeError, TrainingError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.launched import Launched
from llm_as_judge.policy.model import Policy
from llm_as_judge.training.gradients import MicroBatchGradients, Normalizers
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.micro_batches import MicroBatch
from llm_as_judge.training.ranks import Link
from llm_as_judge.training.reference import UpdatePath, choose_path
from llm_as_judge.types import from_json, to_json


def serve_gradients(
    load: Callable[[AdapterSpec, Launched], Policy], place: Launched, timeout_s: float
) -> None:
    """Compute what rank 0 asks for until it says that the run is over.

    Args:
        load: the base model with a fresh adapter.
        timeout_s: after which a silent machine is given up.

    Raises:
        LlmAsJudgeError: the policy cannot be loaded, a pass fails, or rank 0 is gone.
    """
    # A handler would wait for the end of the call that waits. Once met, rank 0 alone decides what a
    # signal to all means (it may finish the step): when it ends, so does this process.
    _signals(signal.SIG_DFL)
    link = Link(place, timeout_s)
    _signals(signal.SIG_IGN)
    policy, gradients = _load(link, load)
    parameters = [p for _, p in policy.adapter_parameters()]
    while (said := link.recv(0))["do"] != "end":
        if said["do"] == "update":
            _update(link, said, policy, gradients, parameters)
    link.close()


def _signals(what: signal.Handlers) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, what)


def _load(
    link: Link, load: Callable[[AdapterSpec, Launched], Policy]
) -> tuple[Policy, MicroBatchGradients]:
    said = link.recv(0)
    if said["do"] == "end":
        raise SystemExit(0)
    wanted = from_json(UpdatePath, said["path"])
    try:
        policy = load(from_json(AdapterSpec, said["adapter"]), link.place)
        if wanted.name == "packed" and (found := choose_path(policy)).name != "packed":
            raise TrainingError(f"its updates would take the naive path ({found.reason})")
    except (LlmAsJudgeError, RuntimeError) as error:
        raise _failed(link, error) from None
    link.send(0, {"loaded": True})
    return policy, MicroBatchGradients(policy, wanted, LossOptions.model_validate(said["loss"]))


def _update(
    link: Link,
    said: Any,
    policy: Policy,
    gradients: MicroBatchGradients,
    parameters: list[torch.nn.Parameter],
) -> None:
    normalizers = from_json(Normalizers, said["normalizers"])
    with policy.updating(), gradients.attention():
        micro_batches = gradients.place(from_json(tuple[MicroBatch, ...], said["micro_batches"]))
        for _ in range(normalizers.epochs):
            link.broadcast(parameters)
            policy.model.zero_grad()
            try:
                reports = gradients.add(micro_batches, normalizers)
            except RuntimeError as error:  # above all: out of memory
                raise _failed(link, error) from None
            link.send(0, {"reports": to_json(reports)})
            link.reduce(parameters)


def _failed(link: Link, error: Exception) -> TrainingError:
    """Tell rank 0, which ends the run; this process ends with the same line."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    link.send(0, {"failed": line})
    return TrainingError(f"rank {link.place.rank} of {link.place.count}: {line}")

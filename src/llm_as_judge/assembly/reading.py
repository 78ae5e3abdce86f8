"""Readers for ``choose``: the policy that writes the programs, or for written ones that of ``policy.reader``.

What it answers is kept and replayed like an executor's replies, under a name that holds the adapter's
digest. Not in training, where each update makes other weights: there it is computed again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from llm_as_judge.assembly.models import load_policy_of
from llm_as_judge.assembly.workbench import Workbench, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError
from llm_as_judge.executor_settings import operator_settings
from llm_as_judge.files import file_sha256
from llm_as_judge.interruptible import in_thread
from llm_as_judge.llm.executors import READER_ROLE, WithReader
from llm_as_judge.llm.kept import origin
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.operators import ExecutorSettings, registry
from llm_as_judge.types import ChatModel


def calls_reader(texts: Iterable[str]) -> bool:
    """Whether one of the programs may call an operator that the policy answers."""
    names = [n for e in registry().values() if e.reads for n in (e.name, e.call_name)]
    called = re.compile(rf"\b(?:{'|'.join(names)})\s*\(")
    return any(called.search(text) for text in texts)


def with_reader(bench: Workbench, reader: ChatModel) -> Workbench:
    """The workbench, on which ``reader`` answers what the policy is asked."""
    operators = bench.operators or operator_settings(bench.config)
    settings = ExecutorSettings(reader.name, written_price=bench.config.policy.price)
    return replace(
        bench,
        executor=WithReader(bench.executor, reader),
        operators=replace(operators, reader=settings),
    )


def kept_reader(bench: Workbench, adapter: Path | None, live: ChatModel | None) -> ChatModel:
    """``live``, with its replies kept as the executor's are.

    Args:
        adapter: folder of its weights; None = untrained.
        live: None in a replay.
    Raises:
        ModelError: a replay without recorded calls.
    """
    config, recording = bench.config, bench.recording
    if recording is None or config.calls.mode == "off":
        assert live is not None
        return live
    name = f"{config.policy.name}+{reader_digest(adapter)}"
    if isinstance(recording, Pool):
        recording.of(name, origin(config.policy.name, "judge", 0))
    return RecordedChat(
        live, recording, config.calls.mode, name=name, ledger=bench.ledger, role=READER_ROLE
    )


def reader_digest(adapter: Path | None) -> str:
    """Of the weights that read.

    Raises:
        ConfigError: the folder holds no adapter.
    """
    return "untrained" if adapter is None else file_sha256(_weights(adapter))[:12]


def _weights(adapter: Path) -> Path:
    path = adapter / "adapter_model.safetensors"
    if not path.is_file():
        raise ConfigError(f"policy.reader: {path}: no such file; wanted a checkpoint folder step_N")
    return path


@asynccontextmanager
async def open_workbench_for(config: Config, texts: Iterable[str]) -> AsyncIterator[Workbench]:
    """The workbench for programs that are written already, with the policy where one of them wants it to
    read. A replay starts none.

    Raises:
        UserError: as :func:`open_workbench`; the policy's weights or ``policy.reader`` are missing.
    """
    async with open_workbench(config) as bench:
        if not calls_reader(texts):
            yield bench
            return
        adapter = config.policy.reader
        if config.calls.mode == "replay":
            yield with_reader(bench, kept_reader(bench, adapter, None))
            return
        # Imported here: programs that ask the executor alone do not wait for torch.
        from llm_as_judge.policy.launched import launched
        from llm_as_judge.policy.reader import PolicyReader
        from llm_as_judge.policy.thread import PolicyThread

        if adapter is not None:
            _weights(adapter)
        policy = await in_thread(load_policy_of, config, adapter, launched())
        on_policy = PolicyThread(policy.base)
        live = PolicyReader(policy, on_policy, bench.ledger, written_price=config.policy.price)
        try:
            yield with_reader(bench, kept_reader(bench, adapter, live))
        finally:
            on_policy.close()

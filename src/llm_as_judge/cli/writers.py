"""The writer of programs that ``--policy`` names, with what its programs run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from llm_as_judge.assembly import Workbench, open_system, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.policy.checkpoint import latest_checkpoint
from llm_as_judge.solving.writers import FileWriter, PolicyWriter, ProgramWriter, WritingOptions

UNTRAINED = "untrained"


def latest_policy(config: Config, untrained: str) -> str:
    """Folder of the model's latest checkpoint.

    Args:
        untrained: the command that takes the base model instead.
    Raises:
        ModelError: it has none.
    """
    root = config.output.checkpoints / config.policy.label / "grpo_mixed"
    latest = latest_checkpoint(root)
    if latest is None:
        raise ModelError(f"{root}: no checkpoint; train first, or {untrained}")
    return str(latest)


@asynccontextmanager
async def open_writer(
    config: Config, policy: str
) -> AsyncIterator[tuple[Workbench, ProgramWriter]]:
    """Executor, judge and sandbox, and what writes the programs.

    Args:
        policy: ``untrained``, a checkpoint folder, or a program file (``.py``, in either form); only
            the first two load a policy.
    Raises:
        ConfigError: ``policy`` is none of these.
        UserError: a model or file is missing.
    """
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        async with open_workbench(config) as bench:
            most = config.workflow.max_worst_case_calls
            yield bench, FileWriter(path, most, config.executors)
        return
    if policy != UNTRAINED and not path.is_dir():
        found = "no such file or folder" if not path.exists() else "no Python file"
        raise ConfigError(
            f"--policy {policy}: {found}; wanted untrained, a checkpoint folder or a program file (.py)"
        )
    async with open_system(config, adapter=None if policy == UNTRAINED else path) as system:
        options = WritingOptions(
            config.evaluation.temperature, config.training.seed, config.sampling.max_new_tokens
        )
        writer = PolicyWriter(system.sampler, system.prompt, system.bench.parse, options)
        try:
            yield system.bench, writer
        finally:
            await writer.aclose()

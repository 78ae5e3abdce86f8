"""Opens a sandbox and reports what was observed to hold in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.launch import Launcher, SubprocessLauncher
from llm_as_judge.sandbox.probing import observe
from llm_as_judge.sandbox.runs import ProcessSandbox
from llm_as_judge.types import Sandbox

__all__ = ["Mechanism", "open_sandbox"]

Mechanism = Literal["auto", "jail", "subprocess"]


async def open_sandbox(
    mechanism: Mechanism = "auto",
    operator_names: Iterable[str] = (),
    max_children: int = 8,
) -> Sandbox:
    """A sandbox that is ready; close it with ``aclose()``.

    Args:
        mechanism: ``subprocess`` is the weaker mechanism and must be asked for by name.
        operator_names: attributes that ``operator`` has inside a workflow.
        max_children: runs at the same time.
    Raises:
        SandboxError: the mechanism does not work on this machine.
    """
    if mechanism != "subprocess":
        raise SandboxError(f"sandbox mechanism {mechanism!r} is not available: ask for subprocess")
    launcher: Launcher = SubprocessLauncher()
    isolation = await observe(launcher)
    return ProcessSandbox(launcher, isolation, operator_names, max_children)

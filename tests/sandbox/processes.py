"""Processes of a sandbox, seen from outside."""

from __future__ import annotations

import asyncio
from pathlib import Path

from llm_as_judge.types import Sandbox


def server_pid(sandbox: Sandbox) -> int:
    """Of bwrap, or of the server without packages itself."""
    pid: int = sandbox._launcher._servers[False].process.pid  # type: ignore[attr-defined]
    return pid


def process_states(sandbox: Sandbox) -> list[str]:
    """One letter for each process of the jail: the server's, its parent's, and the children's."""
    root = server_pid(sandbox)
    parents, states = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        states[int(stat.parent.name)], parents[int(stat.parent.name)] = fields[0], int(fields[1])
    found, level = [], [root]
    while level:
        found += [states[pid] for pid in level if pid in states]
        level = [pid for pid, parent in parents.items() if parent in level]
    return found


async def processes_settled(sandbox: Sandbox, *wanted: int) -> int:
    """The number of living processes once it is one of ``wanted``; none that is dead is left then.
    The deadline only ends a test that has failed."""
    for _ in range(6000):
        states = process_states(sandbox)
        if len(states) in wanted and "Z" not in states:
            break
        await asyncio.sleep(0.05)
    return len(states)


async def runs_begun(sandbox: Sandbox, children: int) -> None:
    """Returns once so many children are at work."""
    pools = sandbox._launcher._servers[False]._pools  # type: ignore[attr-defined]
    for _ in range(30_000):
        if sum(pool.busy for pool in pools.values()) >= children:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{children} children never were at work")

"""Processes of a sandbox, seen from outside."""

from __future__ import annotations

import asyncio
from pathlib import Path

from llm_as_judge.types import Sandbox


def process_states(sandbox: Sandbox) -> list[str]:
    """One letter for each process of the jail: the server's, its parent's, and the children's."""
    root: int = sandbox._launcher.server_pid  # type: ignore[attr-defined]
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


async def processes_settled(sandbox: Sandbox, wanted: int) -> int:
    """The number of processes once it is ``wanted``, or after ten seconds."""
    for _ in range(200):
        if (count := len(process_states(sandbox))) == wanted:
            break
        await asyncio.sleep(0.05)
    return count

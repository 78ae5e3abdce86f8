"""Bounds on a child's use of the machine, and the descriptors it may keep."""

from __future__ import annotations

import os
import resource
from typing import Any

OPEN_FILES = 32


def processor_clock(pid: int) -> int:
    """Of a process, for ``time.clock_gettime``, as clock_getcpuclockid(3) makes it on Linux."""
    return ~pid << 3 | 2


def limit_resources(limits: dict[str, Any]) -> None:  # pragma: no cover - in the child
    """Address space, CPU time, open files; no file growth, no core dump, no new process.

    The process limit holds for a normal user only: the kernel exempts root from it.
    """
    cpu_s = max(1, int(limits["cpu_s"] + 0.999))
    bounds = (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),
        (resource.RLIMIT_AS, int(limits["memory_bytes"]), int(limits["memory_bytes"])),
    )
    for kind, soft, hard in bounds:
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def close_other_files(keep: set[int]) -> None:  # pragma: no cover - in the child
    """Closes every descriptor but those of ``keep``; 1 and 2 become what 0 is: /dev/null."""
    os.dup2(0, 1)
    os.dup2(0, 2)
    first = 3
    for kept in sorted(keep):
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, 65536)

"""Measures of one update: clock, processor time, memory at its highest.

from measured import Measured, best, finish, peak_memory
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    cpu_s: float
    peak_mib: float
    norm: float = float("nan")


@contextmanager
def peak_memory(device: torch.device) -> Iterator[list[float]]:
    """Memory above that at entry, MiB, at its highest; one value in the list at exit.

    On a CPU what is resident, on a GPU what torch has allocated.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        found: list[float] = []
        at_entry = torch.cuda.memory_allocated()
        yield found
        found.append((torch.cuda.max_memory_allocated() - at_entry) / 2**20)
        return
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    page = os.sysconf("SC_PAGE_SIZE") / 2**20
    statm = Path("/proc/self/statm")
    start = highest = int(statm.read_text().split()[1])
    over = threading.Event()
    found = []

    def watch() -> None:
        nonlocal highest
        while not over.wait(0.01):
            highest = max(highest, int(statm.read_text().split()[1]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        found.append((highest - start) * page)


def finish(device: torch.device) -> None:
    """Wait until a GPU has done what it was asked."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def best(runs: Sequence[Measured]) -> Measured:
    """Least of clock and of processor time, each by itself; memory and norm of the last."""
    last = runs[-1]
    return replace(
        last, seconds=min(run.seconds for run in runs), cpu_s=min(run.cpu_s for run in runs)
    )

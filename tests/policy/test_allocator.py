"""Freed tensors leave the process: what a run no longer needs, others may have."""

from __future__ import annotations

import subprocess
import sys

import pytest

SET = """
from llm_as_judge.policy.model import return_freed_memory
if not return_freed_memory():
    raise SystemExit("not glibc")
"""
WORK = """
import torch

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

block = torch.ones(7 * 2**20)  # 28 MiB: freeing it raises a threshold that is not set
del block
before = resident()
large, small = [], []
for _ in range(32):
    large.append(torch.ones(2 * 2**20))  # 8 MiB
    small.append(bytearray(2**16))
grown = resident() - before
del large
print(grown, resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
@pytest.mark.parametrize(("work", "keeps"), [(SET + WORK, False), (WORK, True)])
def test_freed_tensors_go_back_to_the_system(work: str, keeps: bool) -> None:
    child = subprocess.run(
        [sys.executable, "-c", work], capture_output=True, text=True, timeout=120
    )
    assert child.returncode == 0, child.stderr
    grown, left = map(float, child.stdout.split())
    assert grown > 250  # MiB
    assert (left > 100) is keeps, f"{left} of {grown} MiB are left"

from __future__ import annotations

import subprocess
import sys

import pytest

WORK = """
import sys
import torch
from llm_as_judge.policy.model import return_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

if sys.argv[1] == "set" and not return_freed_memory():
    sys.exit("not glibc")
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
@pytest.mark.parametrize(("choice", "keeps"), [("set", False), ("unset", True)])
def test_freed_tensors_go_back_to_the_system(choice: str, keeps: bool) -> None:
    child = subprocess.run(
        [sys.executable, "-c", WORK, choice], capture_output=True, text=True, timeout=120
    )
    assert child.returncode == 0, child.stderr
    grown, left = map(float, child.stdout.split())
    assert grown > 250  # MiB
    assert (left > 100) is keeps, f"{left} of {grown} MiB are left"

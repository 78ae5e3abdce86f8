"""For benchmarks that compare two sides: each in a process of its own, so that its memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def in_own_process(side: str) -> dict[str, Any]:
    """What this benchmark prints as its last line, a JSON object, when called with ``--side SIDE``."""
    command = [sys.executable, *sys.argv, "--side", side]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


def ratios(one: dict[str, Any], other: dict[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(f"{key} {one[key] / other[key]:.3g}" for key in keys)

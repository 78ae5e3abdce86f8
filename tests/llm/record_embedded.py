"""Makes tests/llm/embedded_calls.jsonl: the calls of a run with a real embedded executor.

    PYTHONPATH=src:tests python tests/llm/record_embedded.py

The problems are our own. Run it again when operator prompts change: a replay refuses calls that
were not recorded, and the test that uses the file says so.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Literal

from llm_as_judge.config import Config
from llm_as_judge.llm.pool import Pool
from llm_as_judge.types import Problem
from written_programs import written_run

CALLS = Path(__file__).with_name("embedded_calls.jsonl")
STEPS = (
    (
        Problem(
            "own/train/1",
            "gsm8k",
            "math",
            "A tram has 7 seats in each of 6 rows. How many seats has it?",
            ("42",),
        ),
        Problem(
            "own/train/2",
            "hotpotqa",
            "qa",
            "Who keeps the key of the tower?",
            ("Ada Brandt",),
            context="The tower of Lund is old. Its key is kept by Ada Brandt, the baker.",
        ),
    ),
    (
        Problem(
            "own/train/3",
            "gsm8k",
            "math",
            "Mia has 15 pears and gives away 6. How many are left?",
            ("9",),
        ),
        Problem(
            "own/train/4",
            "hotpotqa",
            "qa",
            "In which month does the ferry stop?",
            ("November",),
            context="The ferry to Runmar sails from March. It stops in November, when the ice comes.",
        ),
    ),
)


def config(calls: Path, mode: Literal["record", "replay"]) -> Config:
    return Config.model_validate(
        {
            "executor": {
                "model": "qwen25-coder-0.5b",
                "max_tokens": 64,
                "slots": 1,
                "timeout_s": 300,
            },
            "judge": {"model": "none"},
            "sampling": {"form": "body", "prompt_style": "short"},
            "calls": {"mode": mode, "folder": calls},
        }
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(written_run(config(Path(folder), "record"), STEPS))
        recording = Pool(Path(folder))
        recording.export(CALLS)
        print(f"{CALLS}: {len(recording)} calls, {CALLS.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()

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
TRAM = "A tram has 7 seats in each of 6 rows. How many seats has it?"
PEARS = "Mia has 15 pears and gives away 6. How many are left?"
TOWER = "The tower of Lund is old. Its key is kept by Ada Brandt, the baker."
FERRY = "The ferry to Runmar sails from March. It stops in November, when the ice comes."


def _counted(number: int, question: str, gold: str) -> Problem:
    return Problem(f"own/train/{number}", "gsm8k", "math", question, (gold,))


def _read(number: int, question: str, gold: str, context: str) -> Problem:
    return Problem(f"own/train/{number}", "hotpotqa", "qa", question, (gold,), context=context)


STEPS = (
    (
        _counted(1, TRAM, "42"),
        _read(2, "Who keeps the key of the tower?", "Ada Brandt", TOWER),
    ),
    (
        _counted(3, PEARS, "9"),
        _read(4, "In which month does the ferry stop?", "November", FERRY),
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

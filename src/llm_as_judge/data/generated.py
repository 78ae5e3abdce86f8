"""Generated mathematics from reasoning-gym: extra training rows that need no hub.

Optional (``pip install reasoning-gym==0.1.25``), off by default. The rows are made with a seed,
each gold answer is checked by the verifier of its task, and they are marked: dataset
``reasoning_gym``, train only. They never reach a validation or test file.
Source: github.com/open-thought/reasoning-gym (Apache-2.0).
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import IO, Any

from llm_as_judge.data.fields import field, fields, text
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.errors import DataError
from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import REASONING_GYM

PACKAGE = "reasoning-gym==0.1.25"
TASKS = ("gsm_symbolic", "chain_sum", "leg_counting", "simple_equations", "products", "lcm")
"""Tasks whose answer is one number, so that the number grader decides."""


def write_generated(
    stream: IO[bytes], rows: int, seed: int, tasks: Sequence[str] = TASKS, package: Any = None
) -> str:
    """Write ``rows`` generated records as JSONL, the tasks in turn; returns the package's version.

    Args:
        package: the module to use, for tests; default the installed one.
    Raises:
        DataError: the package is not installed, or a gold answer fails its own verifier.
    """
    gym = package or _installed()
    made = [gym.create_dataset(task, size=-(-rows // len(tasks)), seed=seed) for task in tasks]
    for number in range(rows):
        index, place = divmod(number, len(tasks))
        task, entry = tasks[place], made[place][index]
        if made[place].score_answer(entry["answer"], entry) < 1:
            raise DataError(f"reasoning_gym: {task} {index}: its verifier refuses the gold answer")
        record = {"task": task, "seed": seed, "index": index}
        record |= {key: str(entry[key]).strip() for key in ("question", "answer")}
        stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    return str(getattr(gym, "__version__", "unknown"))


def _installed() -> Any:
    try:
        return importlib.import_module("reasoning_gym")
    except ImportError as error:
        raise DataError(
            f"reasoning_gym: the package cannot be imported ({error}). Run: pip install {PACKAGE}"
        ) from None


def reasoning_gym(row: RawRow, split: str) -> Problem:
    """``{task, seed, index, question, answer}`` as :func:`write_generated` wrote it."""
    record = fields(row.record)
    task, seed, index = (
        text(record, "task"),
        field(record, "seed", int),
        field(record, "index", int),
    )
    answer = text(record, "answer")
    try:
        float(answer)
    except ValueError:
        raise RowError(f"'answer' is {answer!r}, wanted a number") from None
    return Problem(
        id=f"{REASONING_GYM.name}/{split}/{task}-{seed}-{index}",
        dataset=REASONING_GYM.name,
        domain="math",
        question=text(record, "question"),
        answers=(answer,),
        meta={"generated": "reasoning-gym", "task": task},
    )

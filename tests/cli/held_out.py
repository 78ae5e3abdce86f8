"""Rows of our own to evaluate, and the options of a small evaluation of them."""

from __future__ import annotations

from llm_as_judge.types import Problem

ROWS = {
    "gsm8k": [
        Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} + 1?", (str(n + 1),))
        for n in range(4)
    ],
    "hotpotqa": [
        Problem(f"hotpotqa/test/{n}", "hotpotqa", "qa", f"Who lit lamp {n}?", ("Edna",))
        for n in range(2)
    ],
}
OPTIONS = (
    "--config",
    "embedded",
    "--executor",
    "scripted",
    "--set",
    "judge.kind=llm",
    "--set",
    "data.sets=[gsm8k,hotpotqa]",
    "--limit",
    "3",
)

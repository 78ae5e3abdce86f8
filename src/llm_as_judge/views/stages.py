"""The stages of one solved problem, as they end."""

from __future__ import annotations

import json
from typing import Any

from llm_as_judge.views.console import console, say


def show_stage(stage: str, value: Any) -> None:
    """A stage for people; what a model wrote is printed as it is, without terminal codes."""
    console.rule(stage)
    lines: list[str] = []
    if isinstance(value, str):
        lines = [value]
    elif stage == "prompt":
        lines = [f"[{message['role']}]\n{message['content']}" for message in value]
    elif stage == "program":
        lines = [value["source"] or "(no program in the reply)"]
        lines += [f"{d['code']} line {d['line']}: {d['message']}" for d in value["diagnostics"]]
        lines += [f"repaired: {name}" for name in value["repairs"]]
    elif stage == "call":
        used = f"{value['prompt_tokens']} + {value['completion_tokens']} tokens"
        lines = [value["asked"], f"-> {value['replied']}", f"({used}, {value['seconds']:.2f} s)"]
    elif stage == "execution":
        lines = [f"status  {value['status']} {value['error']}", f"answer  {value['answer']}"]
    else:
        lines = [json.dumps(value, indent=2)]
    for line in lines:
        say(_printable(line))


def _printable(text: str) -> str:
    """Without control characters but line ends and tabs: a terminal obeys them."""
    return "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )

"""Operator documentation for the policy's prompt, made from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from llm_as_judge.operators.registry import OperatorEntry, Registry, registry
from llm_as_judge.types import Domain

PromptStyle = Literal["full", "short", "calls", "signatures"]


def operator_docs(
    domain: Domain,
    style: PromptStyle = "full",
    operators: Registry | None = None,
) -> str:
    """The operators of a domain as text.

    Args:
        operators: None = all that need no stop table.
        style: ``short``: one line each, ``call -> result keys``, for small models; ``full``: with
            class name, summary, arguments, keys, greatest number of executor calls and an example;
            ``calls``: one line each that can be copied: a whole statement and the values to read;
            ``signatures``: ``call -> result keys`` alone.
    """
    shown = operators or {
        name: entry for name, entry in registry().items() if not entry.operator.wants_stop_table
    }
    entries = [entry for entry in shown.values() if domain in entry.description.domains]
    written = {"short": _line, "signatures": _signature, "calls": _statement, "full": _paragraph}
    return ("\n\n" if style == "full" else "\n").join(map(written[style], entries))


def executors_told(others: Mapping[str, tuple[float, str]]) -> str:
    """The executors that a program may name, to stand behind the operators; empty where there is one.

    Args:
        others: price and strength of those beside the default one, by name.
    """
    if not others:
        return ""
    lines = [
        "",
        "Each operator that asks also takes `executor`; without it the default one is asked:",
    ]
    for name, (price, strength) in others.items():
        words = f": {strength}" if strength else ""
        lines.append(f'executor="{name}"  # {price:.3g} of the price of the default one{words}')
    return "\n".join(lines)


def _signature(entry: OperatorEntry) -> str:
    return f"{entry.description.call} -> {', '.join(entry.empty)}"


def _line(entry: OperatorEntry) -> str:
    keys = ", ".join(f'"{key}"' for key in entry.empty)
    return f"{entry.description.call} -> {{{keys}}}  # {entry.description.summary}"


def _statement(entry: OperatorEntry) -> str:
    example = entry.description.example
    name = example.partition(" = ")[0]
    values = ", ".join(f'{name}["{key}"]' for key in entry.empty)
    return f"{example}  # -> {values}. {entry.description.summary}"


def _paragraph(entry: OperatorEntry) -> str:
    description = entry.description
    lines = [f"{entry.name}: {description.summary}", f"  call: await {description.call}"]
    lines += [f"    {name}: {text}" for name, text in description.arguments.items()]
    lines.append("  returns a dict:")
    for key, text in description.returns.items():
        kind = type(entry.empty[key]).__name__
        lines.append(f'    "{key}" ({kind}): {text}')
    lines.append(f"  executor calls at most: {description.worst_case_calls}")
    lines.append(f"  example: {description.example}")
    return "\n".join(lines)

"""The corpus of programs, and what happens when each is run on a scripted model.

A header line ``### name [domain=D] [form=F] [expect=W1,W2] [repairs=a,b] [executors=a,b] [dies]`` begins each
program. ``expect``: findings that the check must give, no others. ``executors``: those beside the default one. ``dies``: run as it is written,
the program ends in an error for at least one script.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import ExecutorSettings, OperatorSettings
from llm_as_judge.types import ChatRequest, Domain, Execution, Problem, Program, RunLimits, Sandbox
from llm_as_judge.types.datasets import known_domain
from llm_as_judge.workflow import ProgramForm, parse_program, run_program
from llm_as_judge.workflow.context import CheckOptions
from llm_as_judge.workflow.imports import wrap_body
from llm_as_judge.workflow.program import extract

__all__ = ["Entry", "corpus", "runs_of", "unchecked"]

FOLDER = Path(__file__).parent / "corpus"
FILES: dict[str, ProgramForm] = {
    "valid_body.txt": "body",
    "valid_class.txt": "class",
    "adaptive.txt": "body",
    "agreement.txt": "body",
    "mistakes.txt": "class",
    "executors.txt": "body",
}

PROMISED = ("NameError", "UnboundLocalError", "AttributeError", "KeyError", "TypeError",
            "ImportError", "ModuleNotFoundError", "SyntaxError", "RecursionError")  # fmt: skip
"""Kinds of error of which no program without findings may die."""


@dataclass(frozen=True)
class Entry:
    name: str
    text: str
    domain: Domain
    form: ProgramForm
    expect: frozenset[str]
    repairs: frozenset[str]
    dies: bool
    executors: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.expect

    @functools.cached_property
    def program(self) -> Program:
        return parse_program(self.text, self.domain, self.form, executors=self.executors)


def corpus() -> list[Entry]:
    return [entry for file, form in FILES.items() for entry in _read(FOLDER / file, form)]


def _read(path: Path, form: ProgramForm) -> list[Entry]:
    entries = []
    for part in path.read_text(encoding="utf-8").split("### ")[1:]:
        header, _, text = part.partition("\n")
        name, *options = header.split()
        values = dict(option.partition("=")[::2] for option in options)
        lists = {
            key: list(filter(None, values.get(key, "").split(",")))
            for key in ("expect", "repairs", "executors")
        }
        entries.append(
            Entry(
                f"{path.stem}/{name}",
                text,
                known_domain(values.get("domain")) or "math",
                cast(ProgramForm, values.get("form", form)),
                frozenset(lists["expect"]),
                frozenset(lists["repairs"]),
                "dies" in values,
                tuple(lists["executors"]),
            )
        )
    return entries


# ------------------------------------------------------------------------------------ running it
def _agreeable(request: ChatRequest) -> str:
    asked = request.messages[-1].content
    if "Result: True or False" in asked:
        return "Result: True\nFeedback: fine"
    if "letter only" in asked:
        return "A"
    if "solve()" in asked:
        return "```python\ndef solve():\n    return 18\n```"
    if "python block" in asked:
        return "```python\ndef add(a, b):\n    return a + b\n```"
    return f"18 = 9 + 9\nAnswer: {18 + request.draw}"


def _contrary(request: ChatRequest) -> str:
    if "Result: True or False" in request.messages[-1].content:
        return "Result: False\nFeedback: wrong"
    return _agreeable(request)


def _garbage(request: ChatRequest) -> str:
    return "{} ``` <answer> \\frac{1}{2} [oops"


SCRIPTS = {"agreeable": _agreeable, "contrary": _contrary, "garbage": _garbage}

PROBLEMS: dict[str, Problem] = {
    "math": Problem("t/t/1", "gsm8k", "math", "Nine and nine apples?", ("18",)),
    "qa": Problem("t/t/2", "squad2", "qa", "How many?", ("18",), context="There were 18."),
    "code": Problem(
        "t/t/3", "humaneval", "code", "def add(a, b): ...", entry_point="add",
        visible_tests=("assert add(1, 2) == 3",), hidden_tests=("assert add(2, 2) == 4",),
    ),
}  # fmt: skip

LIMITS = RunLimits(wall_s=8.0, cpu_s=1.0, operator_calls=48)


async def runs_of(
    program: Program, domain: str, sandbox: Sandbox, executors: tuple[str, ...] = ()
) -> dict[str, Execution]:
    """What happens under each script."""
    settings = OperatorSettings(executors={name: ExecutorSettings(name) for name in executors})
    return {
        name: await run_program(
            program,
            PROBLEMS[domain],
            executor=ScriptedChat(script),
            sandbox=sandbox,
            limits=LIMITS,
            settings=settings,
        )
        for name, script in SCRIPTS.items()
    }


def unchecked(entry: Entry, operators: CheckOptions) -> Program:
    """The program as it is written, made runnable without any check or repair."""
    source = extract(entry.text)
    if entry.form == "body":
        try:
            body = ast.parse(textwrap.dedent(source))
        except SyntaxError:
            return Program(source, source)
        tree = wrap_body(body, operators.operators, entry.domain)
        source = ast.unparse(ast.fix_missing_locations(tree))
    return Program(source, source)


def died(execution: Execution) -> bool:
    return execution.status in ("crashed", "timeout")


def promised_death(execution: Execution) -> bool:
    return execution.status == "timeout" or (
        execution.status == "crashed" and execution.error.startswith(PROMISED)
    )

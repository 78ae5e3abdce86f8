"""A finished program as a file for AFlow, where it runs unchanged."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence

from llm_as_judge.errors import UserError
from llm_as_judge.operators.registry import EXECUTOR
from llm_as_judge.types import Program
from llm_as_judge.workflow import aflow_executors, aflow_operators

ALL_OPERATORS = "scripts.operators"
"""AFlow's module that has its ten; the templates of its data sets have two to four of them each."""


def export_program(
    program: Program, operators: str = ALL_OPERATORS, executors: Mapping[str, str] | None = None
) -> str:
    """Source of an AFlow ``graph.py``: its imports, then the program.

    Args:
        executors: models of those beside the default one by the names that programs call them; AFlow
            finds each in its own configuration by that name of a model.
        operators: module to import as ``operator``, for example a data set's own
            ``workspace.GSM8K.workflows.template.operator``.
    Raises:
        UserError: the program cannot run, or asks for what AFlow does not give.

    Operators of the host and the argument ``executor``, which AFlow has not, go along as plain Python.
    """
    if not program.runnable:
        found = "it is empty"
        if program.diagnostics:
            first = program.diagnostics[0]
            where = f"line {first.line}: " if first.line else ""
            found = f"{where}{first.message} ({first.hint})"
        raise UserError(f"the program cannot be exported: {found}. See: llm-as-judge check FILE")
    if _wants_tests(program.runnable):
        raise UserError(
            "the program cannot be exported: __call__ wants `test`, and AFlow gives `problem` and "
            "`entry_point` alone. Give `test` a default"
        )
    if "UntilWorth" in program.operators:
        raise UserError(
            "the program cannot be exported: until_worth looks into a stop table, which AFlow has not. "
            "Use until_agree"
        )
    used = f"{', '.join(program.operators)}; at most {program.worst_case_calls} model calls"
    header = [
        f"# Workflow {program.hash}, written by LLM-as-Judge for AFlow. {used}.",
        f"import {operators} as operator" if operators != "operator" else "import operator",
        "from scripts.async_llm import create_llm_instance",
    ]
    source = _without_future(program.runnable).strip("\n")
    parts = ["\n".join(header)]
    of_host = {f"operator.{name}": name for name in _HOST.findall(source)}
    if of_host:
        parts.append(_plain_python())
        source = _HOST.sub(r"\1", source)
    if executors and _names_executors(source):
        parts.append(_several(executors, sorted(of_host.values())))
    return "\n\n\n".join([*parts, source]) + "\n"


_HOST = re.compile(r"\boperator\.(Vote|UntilAgree|UntilPassed)\b")


def _plain_python() -> str:
    source = inspect.getsource(aflow_operators)
    body = source[source.index("import inspect") :].rstrip("\n")
    wired = (
        "UntilPassed.writer = getattr(operator, 'CustomCodeGenerate', None)",
        "UntilPassed.tester = getattr(operator, 'Test', None)",
    )
    return "\n".join([body, *("\n", *wired)])


def _names_executors(source: str) -> bool:
    return any(
        isinstance(node, ast.Call) and any(k.arg == EXECUTOR for k in node.keywords)
        for node in ast.walk(ast.parse(source))
    )


def _several(executors: Mapping[str, str], of_host: Sequence[str]) -> str:
    """What gives operators the argument ``executor``, those of the host too."""
    source = inspect.getsource(aflow_executors)
    body = source[source.index("from typing") :].rstrip("\n")
    made = [
        f"EXECUTORS[{name!r}] = lambda: create_llm_instance({model!r})"
        for name, model in executors.items()
    ]
    wrapped = [f"{name} = for_several({name})" for name in of_host if name == "UntilPassed"]
    return "\n".join([body, "\n", *made, *wrapped, "operator = OperatorsForSeveral(operator)"])


def _wants_tests(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "__call__":
            positional = node.args.args[: len(node.args.args) - len(node.args.defaults)]
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            required = [*positional, *(named for named, default in pairs if default is None)]
            return any(argument.arg == "test" for argument in required)
    return False


def _without_future(source: str) -> str:
    """``from __future__`` must come first in a file, and the program does not need it there."""
    lines = source.splitlines()
    return "\n".join(line for line in lines if not line.startswith("from __future__ import"))

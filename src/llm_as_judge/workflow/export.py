"""A finished program as a file for AFlow, where it runs unchanged."""

from __future__ import annotations

import ast
import inspect
import re

from llm_as_judge.errors import UserError
from llm_as_judge.types import Program
from llm_as_judge.workflow import aflow_operators

__all__ = ["export_program"]

ALL_OPERATORS = "scripts.operators"
"""AFlow's module that has its ten; the templates of its data sets have two to four of them each."""


def export_program(program: Program, operators: str = ALL_OPERATORS) -> str:
    """Source of an AFlow ``graph.py``: its imports, then the program.

    Args:
        operators: module to import as ``operator``, for example a data set's own
            ``workspace.GSM8K.workflows.template.operator``.
    Raises:
        UserError: the program cannot run, or asks for what AFlow does not give.

    Operators of the host, which AFlow has not, go along as plain Python.
    """
    if not program.runnable:
        found = program.diagnostics[0].message if program.diagnostics else "it is empty"
        raise UserError(f"the program cannot be exported: {found}. See: llm-as-judge check FILE")
    if _wants_tests(program.runnable):
        raise UserError(
            "the program cannot be exported: __call__ wants `test`, and AFlow gives `problem` and "
            "`entry_point` alone. Give `test` a default"
        )
    used = f"{', '.join(program.operators)}; at most {program.worst_case_calls} model calls"
    header = [
        f"# Workflow {program.hash}, written by LLM-as-Judge for AFlow. {used}.",
        f"import {operators} as operator" if operators != "operator" else "import operator",
        "from scripts.async_llm import create_llm_instance",
    ]
    source = _without_future(program.runnable).strip("\n")
    if _HOST.search(source):
        source = _plain_python() + "\n\n\n" + _HOST.sub(r"\1", source)
    return "\n".join(header) + "\n\n\n" + source + "\n"


_HOST = re.compile(r"\boperator\.(Vote|UntilAgree|UntilPassed)\b")


def _plain_python() -> str:
    source = inspect.getsource(aflow_operators)
    body = source[source.index("import inspect") :].rstrip("\n")
    wired = (
        "UntilPassed.writer = getattr(operator, 'CustomCodeGenerate', None)",
        "UntilPassed.tester = getattr(operator, 'Test', None)",
    )
    return "\n".join([body, *("\n", *wired)])


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

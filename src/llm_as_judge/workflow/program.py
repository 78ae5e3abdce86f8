"""From the policy's reply to a checked program."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from llm_as_judge.errors import DataError
from llm_as_judge.operators import Registry, registry
from llm_as_judge.operators.syntax import UnparsableError, parse_python
from llm_as_judge.types import Diagnostic, Domain, Program
from llm_as_judge.workflow.canonical import canonical_hash, text_hash
from llm_as_judge.workflow.check import Checked, check
from llm_as_judge.workflow.context import CheckOptions
from llm_as_judge.workflow.findings import Finding
from llm_as_judge.workflow.imports import wrap_body
from llm_as_judge.workflow.repairs import pair_up

ProgramForm = Literal["class", "body"]
"""``class``: the whole ``class Workflow``. ``body``: the statements of its ``__call__``, where
operators are names: ``draft = await answer_generate(input=problem)``."""

DEFAULT_MAX_CALLS = 32
MAX_REPAIR_ROUNDS = 4
MAX_DIAGNOSTICS = 20
MAX_KEPT_CHARACTERS = 100_000
"""Of a reply that holds no program, this much is kept as ``source``."""


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """What a configuration lets programs ask for."""

    max_calls: int = DEFAULT_MAX_CALLS
    """Executor calls that one run may make in the worst case."""
    drawn_calls: int = DEFAULT_MAX_CALLS
    """The same of a program drawn at random."""
    executors: tuple[str, ...] = ()
    """Names of those beside the default one."""
    operators: tuple[str, ...] | None = None
    """That a policy is shown; None: all."""

    def parse(self, text: str, domain: Domain) -> Program:
        """The checked program, in the form that it is in; see :func:`parse_program`."""
        form = form_of(text)
        return parse_program(text, domain, form, max_calls=self.max_calls, executors=self.executors)


MAX_FILE_BYTES = 8 * 2**20


def text_of_file(file: Path) -> str:
    """The text of a file; what is no text in it is a finding of the check.

    Raises:
        DataError: it cannot be read.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"{file}: cannot be read: {why}") from None
    return data[:MAX_FILE_BYTES].decode("utf-8-sig", errors="replace")


_FENCE = re.compile(r"^[ \t]*```[ \t]*python[ \t]*\r?\n", re.MULTILINE | re.IGNORECASE)
_CLASS = re.compile(r"^class[ \t]", re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t]*```", re.MULTILINE)


def extract(reply: str) -> str:
    """The program text of a reply: the first ```python block, or else the whole reply.

    A block that is never closed runs to the end of the reply.
    """
    opening = _FENCE.search(reply) if "```" in reply else None
    if opening is None:
        return reply.strip("\n")
    closing = _FENCE_END.search(reply, opening.end())
    return reply[opening.end() : closing.start() if closing else len(reply)].strip("\n")


def form_of(text: str) -> ProgramForm:
    """The form that a program was written in: ``class`` where it defines one, else ``body``."""
    source = extract(text)
    try:
        tree = parse_python(textwrap.dedent(source))
    except UnparsableError:
        return "class" if _CLASS.search(source) else "body"
    return "class" if any(isinstance(s, ast.ClassDef) for s in tree.body) else "body"


def parse_program(
    text: str,
    domain: Domain,
    form: ProgramForm = "class",
    *,
    max_calls: int = DEFAULT_MAX_CALLS,
    operators: Registry | None = None,
    executors: Collection[str] = (),
) -> Program:
    """The checked program in a reply; never raises for what the reply holds.

    Args:
        text: the policy's reply.
        domain: of the problem: code programs are given ``entry_point``.
        max_calls: executor calls that one run may make in the worst case.
        operators: the registry; None = the shipped one.
        executors: names of those beside the default one.
    Returns:
        ``runnable`` is the class form, empty when a finding remains that no repair removes.
        ``source`` is empty when the reply holds no program at all.
    """
    operators = registry() if operators is None else operators
    source = extract(text)
    try:
        tree = parse_python(textwrap.dedent(source) if form == "body" else source)
    except UnparsableError as error:
        return _unreadable(source, Diagnostic("W101", error.line, error.message))
    if all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in tree.body):
        return _unreadable("", Diagnostic("W100", 0, ""))
    if form == "body":
        tree = ast.fix_missing_locations(wrap_body(tree, operators, domain))
    options = CheckOptions(
        operators, domain, max_calls, wants_tuple=form == "class", executors=tuple(executors)
    )
    return _checked_program(source, tree, options, form)


def _unreadable(source: str, finding: Diagnostic) -> Program:
    hint = Finding(finding.code, finding.line, finding.message).as_diagnostic()
    kept = source[:MAX_KEPT_CHARACTERS]
    return Program(kept, "", diagnostics=(hint,), hash=text_hash(kept))


def _checked_program(
    source: str, tree: ast.Module, options: CheckOptions, form: ProgramForm
) -> Program:
    first = check(tree, options)
    last, repairs = _repaired(tree, first, options)
    runs = not last.findings
    runnable = ""
    if runs:
        if form == "body":
            for lone in last.lone_returns:
                pair_up(lone)
        as_written = form == "class" and not repairs
        runnable = source if as_written else ast.unparse(ast.fix_missing_locations(tree))
    return Program(
        source=source,
        runnable=runnable,
        operators=last.operators,
        diagnostics=tuple(f.as_diagnostic() for f in first.findings[:MAX_DIAGNOSTICS]),
        repairs=repairs if runs else (),
        worst_case_calls=last.worst_case_calls,
        expected_calls=last.expected_calls,
        hash=canonical_hash(tree, options.operators),
    )


def _repaired(
    tree: ast.Module, first: Checked, options: CheckOptions
) -> tuple[Checked, tuple[str, ...]]:
    """Applies repairs to ``tree`` until nothing is found, or no repair is left to try."""
    checked, repairs = first, dict[str, None]()
    for _ in range(MAX_REPAIR_ROUNDS):
        if not checked.findings or any(f.repair is None for f in checked.findings):
            break
        for finding in checked.findings:
            assert finding.repair is not None
            finding.repair.apply(tree)
            repairs.setdefault(finding.repair.name)
        ast.fix_missing_locations(tree)
        checked = check(tree, options)
    return checked, tuple(repairs)

"""Raw record -> Problem for HumanEval and MBPP: which tests may be seen, and which grade.

Nothing of a record is executed here: signatures, entry points and examples are read from syntax
trees, and an example becomes a visible test only where its arguments and its value are literals.
"""

from __future__ import annotations

import ast
import doctest
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from llm_as_judge.data.rows import RawRow, RowError, field, fields, text, texts
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import HUMANEVAL, MBPP, MBPP_FULL

_WRONG_EXAMPLES: dict[str, frozenset[int]] = {
    # Positions of the docstring examples that the set's own reference solution contradicts.
    "HumanEval/47": frozenset({1}),
    "HumanEval/116": frozenset({0, 1}),
    "HumanEval/130": frozenset({0, 1}),
    "HumanEval/148": frozenset({1}),
}


def humaneval(row: RawRow, split: str) -> Problem:
    """``{task_id, prompt, canonical_solution, test, entry_point}``.

    ``setup_code`` is the prompt itself: as a module it defines the imports and helper functions
    a solution may rely on. The one hidden test is the set's ``check`` applied to the solution.
    Source: github.com/openai/human-eval.
    """
    record = fields(row.record)
    name = text(record, "task_id")
    prompt, entry_point = text(record, "prompt"), text(record, "entry_point")
    tree = parsed(prompt, "prompt")
    stub = _functions(tree).get(entry_point)
    if stub is None:
        raise RowError(f"'prompt' does not define the entry point {entry_point!r}")
    test = text(record, "test")
    if "check" not in _functions(parsed(test, "test")):
        raise RowError("'test' does not define check(candidate)")
    return Problem(
        id=f"{HUMANEVAL.name}/{split}/{name.rpartition('/')[2]}",
        dataset=HUMANEVAL.name,
        domain="code",
        question=f"Complete this Python function. Give the whole function.\n\n{prompt.strip()}\n",
        entry_point=entry_point,
        setup_code=prompt,
        visible_tests=_visible(name, stub, entry_point),
        hidden_tests=(f"{test.rstrip()}\n\ncheck({entry_point})\n",),
        meta={
            "upstream_id": name,
            "reference": prompt + field(record, "canonical_solution", str),
        },
    )


def _visible(name: str, stub: ast.FunctionDef, entry_point: str) -> tuple[str, ...]:
    wrong = _WRONG_EXAMPLES.get(name, frozenset())
    tests = docstring_tests(ast.get_docstring(stub) or "", entry_point)
    return tuple(test for position, test in enumerate(tests) if position not in wrong)


def mbpp(row: RawRow, split: str, dataset: str = MBPP.name) -> Problem:
    """Sanitized ``{task_id, prompt, code, test_imports, test_list}`` or full ``{text, ...}``.

    All asserts grade, as in the published metric, and the challenge tests of the full form with
    them. The first assert is visible, too, and shown in the question, but where it is the only one.
    Source: github.com/google-research/google-research/tree/master/mbpp.
    """
    record = fields(row.record)
    number = field(record, "task_id", int)
    code = text(record, "code").replace("\r\n", "\n")
    listed = texts(record.get("test_list"), "test_list")
    if not listed:
        raise RowError("'test_list' is empty")
    challenge = texts(record.get("challenge_test_list", []), "challenge_test_list")
    tests = [test.replace("\r\n", "\n").strip() for test in (*listed, *challenge)]
    entry_point, signature = entry_point_of(code, tests)
    visible = tests[:1] if len(tests) > 1 else []
    wanted = text(record, "prompt" if "prompt" in record else "text").strip()
    shown = f"\nIt must pass, for example:\n{visible[0]}\n" if visible else ""
    return Problem(
        id=f"{MBPP.name}/{split}/{number}",
        dataset=dataset,
        domain="code",
        question=f"{wanted}\n\nSignature:\n{signature}\n{shown}",
        entry_point=entry_point,
        setup_code=_mbpp_setup(record),
        visible_tests=tuple(visible),
        hidden_tests=tuple(tests),
        meta={"upstream_id": str(number), "reference": code}
        | ({"source_file": text(record, "source_file")} if "source_file" in record else {}),
    )


def mbpp_full(row: RawRow, split: str) -> Problem:
    """The full form, of which the sanitized one is a part; see :func:`mbpp`."""
    return mbpp(row, split, MBPP_FULL.name)


def graded_by_all_asserts(problem: Problem) -> Problem:
    """The problem as :func:`mbpp` makes it, also from a file whose shown assert does not grade."""
    unused = tuple(test for test in problem.visible_tests if test not in problem.hidden_tests)
    if not problem.dataset_info.visible_tests_grade or not unused:
        return problem
    return replace(problem, hidden_tests=(*unused, *problem.hidden_tests))


def _mbpp_setup(record: Any) -> str:
    imports = texts(record.get("test_imports", []), "test_imports")
    setup = field(record, "test_setup_code", str) if "test_setup_code" in record else ""
    return "\n".join([*imports, setup.replace("\r\n", "\n")]).strip()


# --------------------------------------------------------------------------------- syntax trees
def parsed(source: str, name: str) -> ast.Module:
    """The syntax tree of a record's field.

    Raises:
        RowError: it is not Python; the message says ``name``.
    """
    if "\0" in source:
        raise RowError(f"{name!r} holds a NUL byte")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # invalid escapes in upstream rows
            warnings.simplefilter("ignore", DeprecationWarning)
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RowError(f"{name!r} is not Python: {error}") from None


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def entry_point_of(code: str, tests: list[str]) -> tuple[str, str]:
    """Name and signature of the function of ``code`` that the tests call: in most of them,
    outermost first.

    Raises:
        RowError: a test is no assert, or none calls a function that the code defines.
    """
    signatures = _signatures(parsed(code, "code"))
    votes: dict[str, int] = {}
    for test in tests:
        tree = parsed(test, "test")
        if not any(isinstance(statement, ast.Assert) for statement in tree.body):
            raise RowError(f"a test has no assert: {quoted(test, 80)!r}")
        called = [
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        for name in dict.fromkeys(name for name in called if name in signatures):
            votes[name] = votes.get(name, 0) + 1
    if not votes:
        raise RowError("no test calls a function that 'code' defines")
    name = max(votes, key=lambda name: votes[name])
    return name, signatures[name]


def _signatures(module: ast.Module) -> dict[str, str]:
    """``def f(a, b=1):`` of each top-level function; of ``f = lambda ...`` too."""
    found = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            found[node.name] = f"def {node.name}({ast.unparse(node.args)}){returns}:"
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = f"def {target.id}({ast.unparse(node.value.args)}):"
    return found


# ----------------------------------------------------------------------------- docstring examples
_ARROWS = re.compile(r"\s*(?:==>|==|=>|->|➞|=|\breturns\b|\bshould return\b|#\s*returns\b)\s*")


def docstring_tests(docstring: str, entry_point: str) -> tuple[str, ...]:
    """Assert statements from the examples of a docstring, in order, each once.

    Read are doctests and lines of the form ``f(x) == y`` (also ``=>``, ``->``, ``➞``,
    ``returns``, ``should return``) whose arguments and value are literals.
    """
    found = [*_doctests(docstring), *_line_examples(docstring, entry_point)]
    tests = []
    for call, value in found:
        if _is_literal_call(call, entry_point) and _is_literal(value):
            tests.append(f"assert {call} == {value}")
    return tuple(dict.fromkeys(tests))


def _doctests(docstring: str) -> Iterator[tuple[str, str]]:
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:  # inconsistent blanks: no doctest after all
        return
    for example in examples:
        yield example.source.strip(), example.want.strip()


def _line_examples(docstring: str, entry_point: str) -> Iterator[tuple[str, str]]:
    for line in docstring.splitlines():
        start = line.find(f"{entry_point}(")
        if start < 0:
            continue
        for arrow in _ARROWS.finditer(line, start):
            call, value = line[start : arrow.start()], line[arrow.end() :]
            if _is_literal_call(call, entry_point):
                yield call.strip(), _leading_literal(value)
                break


def _leading_literal(rest: str) -> str:
    """The literal that ``rest`` starts with, up to a remark or the end of the sentence."""
    candidates = [rest.rstrip(" .,;"), rest.split("#")[0], rest.split(" (")[0]]
    words = {"true": "True", "false": "False"}
    for candidate in candidates:
        source = words.get(candidate.strip(), candidate.strip())
        node = _expression(source)
        if node is not None and _literal_node(node):
            return ast.get_source_segment(source, node) or source
    return ""


def _expression(source: str) -> ast.expr | None:
    try:
        return ast.parse(source.strip(), mode="eval").body if source.strip() else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_literal(source: str) -> bool:
    node = _expression(source)
    return node is not None and _literal_node(node)


def _literal_node(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _is_literal_call(source: str, entry_point: str) -> bool:
    node = _expression(source)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == entry_point
        and all(_literal_node(argument) for argument in node.args)
        and all(k.arg is not None and _literal_node(k.value) for k in node.keywords)
    )

"""Mending of code with the words of a visible test that it fails: the assert, what was got, where it raised."""

from __future__ import annotations

import ast

from llm_as_judge.operators.agreement import Failed, UntilPassed
from llm_as_judge.operators.base import CallContext
from llm_as_judge.operators.syntax import UnparsableError, parse_python

_PROBE = "__probe__"
_PASSED = "passed"
_TEST_CHARACTERS = 400
_GOT_CHARACTERS = 200


class UntilMended(UntilPassed):
    """Code until it passes the visible tests: written, mended, written anew in turn.

    Mended is the code that fails the fewest tests so far. The executor is shown this code, the first test that
    it fails, and what came instead.
    """

    prompt_names = ("write", "mend")
    prompt_values = ("code", "failure")
    hinted_as = "UntilPassed"

    async def _reply(self, turn: int, problem: str, entry_point: str, best: Failed | None) -> str:
        values = {"problem": problem, "entry_point": entry_point}
        if best is None or turn % 2 == 0:
            return (await self.context.ask("write", values)).text
        failure = await failure_words(self.context, best)
        shown = {"code": best.code, "failure": failure}
        return (await self.context.ask("mend", values | shown)).text


async def failure_words(context: CallContext, failed: Failed) -> str:
    """The first visible test that code fails, and what came instead, each cut to a few hundred characters.

    The test runs once more in the sandbox, in one process with the code: nothing of what it says decides anything.
    """
    tests = context.problem.visible_tests
    first = min((n for n in failed.report.failed if 0 <= n < len(tests)), default=0)
    test = tests[first]
    lines = [f"Test: {_cut(test, _TEST_CHARACTERS)}"]
    if got := await _got(context, failed.code, test):
        lines.append(f"Instead: {got}")
    elif error := failed.report.error.removeprefix(f"test {first}: "):
        lines.append(f"Instead: {_cut(error, _GOT_CHARACTERS)}")
    return "\n".join(lines)


async def _got(context: CallContext, code: str, test: str) -> str:
    """What the test says when it runs with the code; empty where it passes so, or cannot be run so."""
    try:
        probe = _probe(test)
    except UnparsableError:
        return ""
    source = "\n".join((context.problem.setup_code, code, probe))
    result = await context.sandbox.run_function(
        source, _PROBE, [], context.execution.settings.code_limits
    )
    if result.status == "ok":
        value = str(result.value)
        return "" if value == _PASSED else _cut(value, _GOT_CHARACTERS)
    return _with_line(result.error or result.status, source)


def _probe(test: str) -> str:
    """A function that runs the test; a failing comparison for equality raises what its left side is."""
    body = [_Telling().visit(node) for node in parse_python(test).body]
    function = ast.parse(f"def {_PROBE}():\n    return {_PASSED!r}").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [*body, *function.body]
    return ast.unparse(ast.fix_missing_locations(function))


class _Telling(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        compared = node.test
        if not isinstance(compared, ast.Compare) or not isinstance(compared.ops[0], ast.Eq):
            return node
        told = ast.parse(f"'got ' + ascii({ast.unparse(compared.left)})", mode="eval")
        return ast.Assert(compared, told.body)


def _with_line(error: str, source: str) -> str:
    """The error, and the source line that it names, if that is one of the code's."""
    said, _, place = error.rpartition(" (line ")
    number = place.removesuffix(")")
    lines = source.split("\n")
    if not said or not number.isdecimal() or not 0 < int(number) <= len(lines):
        return _cut(error, _GOT_CHARACTERS)
    at = lines[int(number) - 1].strip()
    if said.startswith("AssertionError"):
        return _cut(said.removeprefix("AssertionError").lstrip(": "), _GOT_CHARACTERS)
    return f"{_cut(said, _GOT_CHARACTERS)}, in the line: {_cut(at, _GOT_CHARACTERS)}"


def _cut(text: str, characters: int) -> str:
    """In one line without control characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= characters else f"{plain[:characters]} ..."

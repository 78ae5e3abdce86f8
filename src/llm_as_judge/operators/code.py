"""Operators that write or run code. The code runs in the sandbox, never here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from llm_as_judge.operators.base import Operator, ReplyError, Result, tries
from llm_as_judge.operators.replies import function_names, names_defined, python_code
from llm_as_judge.types import Json, TestReport

_SHOWN_ERROR_CHARACTERS = 500


class CustomCodeGenerate(Operator):
    """Code for the function that the problem asks for."""

    empty: ClassVar[Mapping[str, Json]] = {"response": ""}
    drafts = True
    prompt_names = ("write",)

    async def run(self, problem: str, entry_point: str, instruction: str) -> Result:
        values = {"problem": problem, "entry_point": entry_point, "instruction": instruction}
        reply = await self.context.ask("write", values)
        code = python_code(reply.text)
        if not code:
            raise ReplyError("no code in the reply")
        if (names := function_names(code)) and entry_point and entry_point not in names:
            self.context.note(
                f"no function {entry_point} in the code, found {', '.join(names[:5])}"
            )
        return {"response": code}


class Programmer(Operator):
    """Writes ``solve()``, runs it in the sandbox, and mends it up to two times.

    Small executors often write a script instead; what it prints last is then the output.
    """

    WRITES: ClassVar[int] = 3
    FUNCTION: ClassVar[str] = "solve"
    empty: ClassVar[Mapping[str, Json]] = {"code": "", "output": ""}
    worst_case_calls = WRITES
    expected_calls = tries(1, WRITES)
    drafts = True
    prompt_names = ("write", "mend")
    prompt_values = ("code", "error")

    async def run(self, problem: str, analysis: str = "None") -> Result:
        values = {"problem": problem, "analysis": analysis}
        code, error = "", ""
        for attempt in range(self.WRITES):
            mending = {**values, "code": code, "error": error}
            reply = await self.context.ask("mend" if attempt and code else "write", mending)
            written = python_code(reply.text)
            if not written:
                error = "no code in the reply"
                continue
            code = written
            output, error = await self._execute(code)
            if not error:
                return {"code": code, "output": output}
        raise ReplyError(f"after {self.WRITES} programs: {error}", code=code)

    async def _execute(self, code: str) -> tuple[str, str]:
        """(output, error): one of them is empty."""
        # not by looking it up once it has run: `from sympy import solve` gives another one
        function = self.FUNCTION if self.FUNCTION in names_defined(code) else None
        result = await self.context.sandbox.run_function(
            code, function, [], self.context.execution.settings.code_limits
        )
        if result.status != "ok":
            return "", (result.error or result.status)[-_SHOWN_ERROR_CHARACTERS:]
        if function is None:
            printed = result.output.strip().splitlines()
            if not printed:
                return "", f"the source defines no function {self.FUNCTION!r} and prints nothing"
            self.context.note(
                f"no function {self.FUNCTION}: the output is what the code printed last"
            )
            return printed[-1].strip(), ""
        if result.value is None:
            return "", f"{self.FUNCTION}() returned None"
        output = str(result.value).strip()
        return output, "" if output else f"{self.FUNCTION}() returned an empty text"


class Test(Operator):
    """Runs the tests that a solver may see, and mends the solution up to three times."""

    __test__ = False  # an operator, not a pytest class

    REFLECTIONS: ClassVar[int] = 3
    empty: ClassVar[Mapping[str, Json]] = {"result": False, "solution": ""}
    worst_case_calls = REFLECTIONS
    expected_calls = tries(1, REFLECTIONS) / 2
    results_wanted = ("solution",)
    prompt_names = ("reflect",)
    prompt_values = ("error",)

    async def run(self, problem: str, solution: str, entry_point: str) -> Result:
        code = python_code(solution) or solution
        if not self.context.problem.visible_tests:
            self.context.note("the problem shows no tests: nothing was run, the result is False")
            return {"result": False, "solution": code}
        values = {"problem": problem, "entry_point": entry_point}
        try:
            report = await self.context.execution.tested(code)
            for _ in range(self.REFLECTIONS):
                if report.passed:
                    break
                shown = {"solution": code, "error": self._shown_failure(report)}
                reply = await self.context.ask("reflect", {**values, **shown})
                written = python_code(reply.text)
                if not written:
                    self.context.note("a reflection held no code")
                    continue
                code = written
                report = await self.context.execution.tested(code)
        except ReplyError as error:
            raise ReplyError(str(error), result=False, solution=code) from None
        return {"result": report.passed, "solution": code}

    def _shown_failure(self, report: TestReport) -> str:
        tests = self.context.problem.visible_tests
        failed = [tests[i] for i in report.failed[:2] if 0 <= i < len(tests)]
        return "\n".join([*failed, report.error])[:_SHOWN_ERROR_CHARACTERS]

from __future__ import annotations

import pytest
from operator_fakes import ARGUMENTS, CODE, FakeSandbox, service

from llm_as_judge.operators import registry
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import SandboxResult, TestReport


@pytest.mark.parametrize("operator", sorted(registry()))
async def test_every_operator_can_read_its_rehearsed_reply(operator: str) -> None:
    results = []
    for _ in range(2):
        sandbox = FakeSandbox(
            [SandboxResult("ok", "7")], [TestReport(False, 1, (0,)), TestReport(True, 1)]
        )
        serve, _ = service(rehearsed_reply, problem=CODE, sandbox=sandbox)
        results.append(await serve(operator, [], ARGUMENTS[operator]))
        (call,) = serve.calls
        noted = (
            ("2 of 3 draws agree",)
            if operator.startswith("Until") and operator != "UntilPassed"
            else ()
        )
        assert (call.error, call.notes) == ("", noted)
    assert results[0] == results[1]
    assert "" not in list(results[0].values())  # type: ignore[union-attr]

from __future__ import annotations

import pytest
from operator_fakes import ARGUMENTS, CODE, FakeSandbox, service

from llm_as_judge.operators import registry
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import SandboxResult, TestReport

AGREED = ("2 of 3 draws agree",)
NOTES = {"Retrieve": ("no passages",), "UntilAgree": AGREED, "UntilWorth": AGREED}
"""What is noted of the replies, up to a colon, by operator."""


@pytest.mark.parametrize("operator", sorted(registry()))
async def test_every_operator_can_read_its_rehearsed_reply(operator: str) -> None:
    results = []
    for _ in range(2):
        sandbox = FakeSandbox(
            [SandboxResult("ok", "7")] * 6, [TestReport(False, 1, (0,)), *[TestReport(True, 1)] * 5]
        )
        serve, _ = service(rehearsed_reply, problem=CODE, sandbox=sandbox)
        results.append(await serve(operator, [], ARGUMENTS[operator]))
        (call,) = serve.calls
        notes = tuple(note.partition(":")[0] for note in call.notes)
        assert (call.error, notes) == ("", NOTES.get(operator, ()))
    assert results[0] == results[1]
    assert "" not in list(results[0].values())  # type: ignore[union-attr]

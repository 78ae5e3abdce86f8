from __future__ import annotations

import pytest
from operator_fakes import CODE, FakeSandbox, service

from llm_as_judge.operators import registry
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import Json, SandboxResult, TestReport

CALLS: dict[str, list[Json]] = {
    "Custom": ["What?", "Say."],
    "AnswerGenerate": ["What?"],
    "CustomCodeGenerate": ["Add.", "add", ""],
    "ScEnsemble": [["1", "2", "3"], "What?"],
    "MdEnsemble": [["1", "2", "3"], "What?"],
    "Programmer": ["What?"],
    "Test": ["Add.", "def add(a, b): return 0", "add"],
    "Format": ["What?", "It is 3."],
    "Review": ["What?", "3"],
    "Revise": ["What?", "3", "no"],
    "UntilAgree": [["1", "2", "1"], 2, 3],
    "UntilPassed": ["Add.", "add"],
    "Vote": [["1", "2", "1"]],
}


@pytest.mark.parametrize("operator", sorted(registry()))
async def test_every_operator_can_read_its_rehearsed_reply(operator: str) -> None:
    results = []
    for _ in range(2):
        sandbox = FakeSandbox(
            [SandboxResult("ok", "7")], [TestReport(False, 1, (0,)), TestReport(True, 1)]
        )
        serve, _ = service(rehearsed_reply, problem=CODE, sandbox=sandbox)
        results.append(await serve(operator, CALLS[operator], {}))
        (call,) = serve.calls
        noted = ("2 of 3 draws agree",) if operator == "UntilAgree" else ()
        assert (call.error, call.notes) == ("", noted)
    assert results[0] == results[1]
    assert "" not in list(results[0].values())  # type: ignore[union-attr]

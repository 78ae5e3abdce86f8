"""The child's side in a thread of the test: what it answers, without a process around it."""

from __future__ import annotations

import asyncio
import io
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from llm_as_judge.sandbox.inside import child, server, workflow
from llm_as_judge.sandbox.inside.frames import Channel
from llm_as_judge.sandbox.inside.functions import describe_error


@contextmanager
def performing(task: dict[str, Any]) -> Iterator[Channel]:
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            child.perform(Channel(theirs), task)
        except OSError:
            pass  # the test has hung up: a child would end here
        finally:
            theirs.close()
            if task["kind"] == "workflow":
                forget_loop()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield Channel(ours)
    finally:
        ours.close()
        thread.join(10)


def forget_loop() -> None:
    workflow.prepare_loop().close()
    workflow._prepared.clear()


WORKFLOW = """
class Workflow:
    def __init__(self, name, llm_config, dataset, **more):
        self.dataset = dataset
        self.generate = operator.AnswerGenerate(create_llm_instance(llm_config))
    async def __call__(self, problem, **more):
        try:
            await self.generate(problem)
        except RuntimeError as error:
            answer = (await self.generate(str(error)))["answer"]
        return answer, 0.1
"""


def workflow_task(source: str) -> dict[str, Any]:
    return {
        "kind": "workflow",
        "source": source,
        "arguments": {"problem": "p", "dataset": "d"},
        "operators": ["AnswerGenerate"],
    }


def test_workflow_sends_calls_and_gets_replies_and_errors() -> None:
    with performing(workflow_task(WORKFLOW)) as host:
        call = host.receive()
        assert (call["op"], call["args"], call["kwargs"]) == ("AnswerGenerate", ["p"], {})
        host.send({"id": 12345, "value": "nobody waits for this"})
        host.send({"id": call["id"], "error": "refused"})
        call = host.receive()
        assert call["args"] == ["refused"]
        host.send({"id": call["id"], "value": {"answer": float("1e400")}})
        result = host.receive()
    assert result == {"t": "result", "status": "ok", "value": "inf"}


def test_workflow_without_async_call_says_what_to_write() -> None:
    source = "class Workflow:\n    def __call__(self, problem): return 1"
    with performing(workflow_task(source)) as host:
        assert "async def __call__" in host.receive()["error"]


def call(number: int, name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    target = {"#": "object", "name": name}
    return {"id": number, "op": "call", "target": target, "args": list(args), "kwargs": kwargs}


def test_solution_answers_calls_by_value_object_and_exception() -> None:
    source = (
        "class P:\n    def __init__(self, a): self.a = a\n"
        "class Odd(ValueError): pass\n"
        "def f(p, scale=1):\n"
        "    if p.a < 0: raise Odd('negative')\n"
        "    return p.a * scale\n"
    )
    task = {"kind": "solution", "source": source, "setup": "", "entry_point": "f"}
    with performing(task) as host:
        names = host.receive()["names"]
        assert (names["P"], names["f"], names["Odd"]) == ("class", "function", "ValueError")
        host.send(call(1, "P", 3))
        made = host.receive()["value"]
        assert made == {"#": "object", "id": 0, "type": "P", "callable": False}
        host.send(call(2, "f", made, scale=2))
        assert host.receive() == {"t": "reply", "id": 2, "value": 6}
        host.send(call(3, "P", -1))
        host.send(call(4, "f", host.receive()["value"]))
        reply = host.receive()
        assert reply["raised"][:3] == ["ValueError", "Odd", "ValueError"]
        assert reply["message"] == "Odd: negative (line 5)"


def test_a_solution_calls_the_functions_that_it_is_given_and_says_what_it_changed() -> None:
    source = "def f(g, xs):\n    xs.append(g(1))\n    return g"
    task = {"kind": "solution", "source": source, "setup": "", "entry_point": "f"}
    with performing(task) as host:
        host.receive()
        host.send({**call(1, "f", {"#": "callback", "id": 4}, [7]), "op": "change"})
        asked = host.receive()
        assert (asked["t"], asked["target"], asked["args"]) == ("invoke", 4, [1])
        host.send({"value": 8})
        reply = host.receive()
    given = {"#": "yours", "id": 4}
    assert (reply["value"], reply["after"]) == (given, [[given, [7, 8]], {"#": "dict", "v": []}])


def task_of_tests(*tests: str) -> dict[str, Any]:
    return {
        "kind": "tests",
        "tests": list(tests),
        "setup": "limit = 3",
        "entry_point": "f",
        "modules": ["math"],
        "nonce": "n0",
    }


def test_tests_ask_for_each_value_and_report_with_the_nonce() -> None:
    tests = (
        "assert math.floor(f(P(1), g, key=2)) == limit",
        "try:\n    f(2)\nexcept KeyError:\n    pass",
        "assert f(3)",
        "f(object())",
        "def check(candidate):\n    assert candidate(4) == 5",
        "try:\n    f(5)\nexcept UnicodeDecodeError:\n    pass",
    )
    held = {"#": "object", "id": 9, "type": "Any", "callable": False}
    with performing(task_of_tests(*tests)) as host:
        host.send({"names": {"f": "function", "P": "class", "g": "function"}})
        assert host.receive()["target"] == {"#": "object", "name": "P"}
        host.send({"value": {"#": "object", "id": 8, "type": "P", "callable": False}})
        invoked = host.receive()
        assert invoked["args"] == [{"#": "object", "id": 8}, {"#": "object", "name": "g"}]
        assert invoked["kwargs"] == {"key": 2}
        host.send({"value": 3.5})
        assert host.receive()["args"] == [2]
        host.send({"raised": ["KeyError", "KeyError"], "message": "x"})
        assert host.receive()["args"] == [3]
        host.send({"value": held})
        assert host.receive()["args"] == [4]
        host.send({"value": held})
        assert host.receive()["args"] == [5]
        host.send({"raised": ["UnicodeDecodeError"], "message": "x"})
        done = host.receive()
    assert done == {
        "t": "done",
        "nonce": "n0",
        "failed": [2, 3, 4, 5],
        "error": "test 2: an object of the solution's class Any stands where a value is wanted",
    }


@pytest.mark.parametrize(
    "reply",
    [
        {"stop": True},
        {"missing": True},
        {"raised": ["StopIteration"], "message": ""},
        {"value": {"#": "named", "m": "builtins", "v": "print"}},
        {"value": {"#": "yours", "id": 0}},
        {"value": {"#": "callback", "id": 0}},
        {"value": {"#": "instance", "c": "int", "v": []}},
        {"no value": 1},
    ],
    ids=str,
)
def test_no_reply_of_a_solution_ends_the_iteration_of_a_test(reply: dict[str, Any]) -> None:
    with performing(task_of_tests("assert all(map(f, [1]))")) as host:
        host.send({"names": {"f": "function"}})
        host.receive()
        host.send(reply)
        assert host.receive()["failed"] == [0]


def test_printed_text_becomes_messages() -> None:
    ours, theirs = socket.socketpair()
    saved = sys.stdin, sys.stdout, sys.stderr
    try:
        child.redirect_output(Channel(theirs))
        print("half \u00e9", end="")  # noqa: T201
        sys.stdout.flush()
        assert isinstance(sys.stdin, io.StringIO)
        assert isinstance(sys.stdout, io.TextIOWrapper)
        sys.stdout.detach()
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
    assert Channel(ours).receive() == {"t": "out", "text": "half \u00e9"}
    ours.close()
    theirs.close()


def test_error_is_one_line_with_the_line_of_the_program() -> None:
    assert describe_error(ValueError("first\nsecond")) == "ValueError: first"
    assert describe_error(SyntaxError("bad", ("<program>", 7, 1, "x"))).endswith("(line 7)")
    assert len(describe_error(ValueError("x" * 9999))) == 500


def test_rehearsal_leaves_the_loop_ready_for_a_run() -> None:
    workflow.prepare_quiet_loop()
    try:
        for _ in range(2):
            server._warm_up()
        loop = workflow.prepare_loop()
        assert not loop._selector.get_map()  # type: ignore[attr-defined]
        assert loop.run_until_complete(asyncio.sleep(0.001, "slept")) == "slept"
    finally:
        forget_loop()
        asyncio.set_event_loop(None)

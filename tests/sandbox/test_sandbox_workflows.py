"""Workflow programs: what they get, what they may do, how each way of ending is reported."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from llm_as_judge.errors import EndpointError, SandboxError
from llm_as_judge.types import Json, RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUICK = RunLimits(wall_s=10.0, cpu_s=5.0)


def workflow(body: str, init: str = "pass", signature: str = "self, problem") -> str:
    lines = "\n".join("        " + line for line in body.splitlines())
    return (
        "import asyncio, os, sys, time\n"
        "class Workflow:\n"
        "    def __init__(self, name, llm_config, dataset):\n"
        "        self.dataset = dataset\n"
        "        self.llm = create_llm_instance(llm_config)\n"
        "        self.generate = operator.AnswerGenerate(self.llm)\n"
        f"        {init}\n"
        f"    async def __call__({signature}):\n{lines}\n"
    )


async def echo(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
    return {"answer": f"{name}:{args}:{sorted(kwargs.items())}"}


async def test_reply_of_the_host_is_what_the_awaited_call_returns(sandbox: Sandbox) -> None:
    source = workflow("r = await self.generate(problem, style='x')\nreturn r['answer'], 0.7")
    result = await sandbox.run_workflow(source, {"problem": "p"}, echo, QUICK)
    assert result.status == "ok"
    assert result.value == "AnswerGenerate:['p']:[('style', 'x')]"


async def test_only_arguments_of_the_signature_are_passed(sandbox: Sandbox) -> None:
    arguments: dict[str, Json] = {"problem": "p", "entry_point": "f", "test": "t", "dataset": "d"}
    source = workflow("return problem + entry_point", signature="self, problem, entry_point")
    assert (await sandbox.run_workflow(source, arguments, echo, QUICK)).value == "pf"
    source = workflow("return problem + self.dataset")
    assert (await sandbox.run_workflow(source, arguments, echo, QUICK)).value == "pd"


async def test_gathered_calls_are_served_concurrently(sandbox: Sandbox) -> None:
    together = 0
    most = 0

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0.02 * (5 - int(str(args[0]))))
        together -= 1
        return args[0]

    source = workflow(
        "rs = await asyncio.gather(*(self.generate(i) for i in range(5)))\nreturn str(rs)"
    )
    result = await sandbox.run_workflow(source, {"problem": ""}, serve, QUICK)
    assert result.value == "[0, 1, 2, 3, 4]"
    assert most == 5


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("('a', 0.0)", "a"),
        ("'a'", "a"),
        ("(7, 1)", 7),
        ("True", True),
        ("None", None),
        ("2.5", 2.5),
        ("float('nan')", "nan"),
        ("[1, 2]", "[1, 2]"),
        ("{'status': 'ok', 'reward': 10}", "{'status': 'ok', 'reward': 10}"),
        ("'\\ud800'", "\ufffd"),
    ],
)
async def test_value_is_plain_or_text(sandbox: Sandbox, expression: str, value: Json) -> None:
    source = workflow(f"return {expression}")
    result = await sandbox.run_workflow(source, {"problem": ""}, echo, QUICK)
    assert (result.status, result.value) == ("ok", value)


@pytest.mark.parametrize("error", [EndpointError("down"), SandboxError("broken"), KeyError("bug")])
async def test_fault_of_the_host_is_raised_and_not_blamed_on_the_program(
    sandbox: Sandbox, error: Exception
) -> None:
    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        raise error

    body = "try:\n    await self.generate('')\nexcept BaseException:\n    pass\ntime.sleep(9)"
    with pytest.raises(type(error)):
        await sandbox.run_workflow(workflow(body), {"problem": ""}, serve, QUICK)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("color=1", "no keyword 'color'"),
        ("object()", "TypeError: AnswerGenerate: arguments must be"),
    ],
)
async def test_wrong_argument_is_raised_in_the_program(
    sandbox: Sandbox, call: str, said: str
) -> None:
    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        raise TypeError("no keyword 'color'")

    source = workflow(f"await self.generate({call})")
    result = await sandbox.run_workflow(source, {"problem": ""}, serve, QUICK)
    assert result.status == "error"
    assert said in result.error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ("raise ValueError('odd')", "error", "ValueError: odd (line 9)"),
        ("raise SystemExit(0)", "error", "SystemExit: 0 (line 9)"),
        ("sys.exit(0)", "error", "SystemExit: 0 (line 9)"),
        ("os._exit(0)", "died", "exit code 0"),
        ("x = bytearray(2**40)", "limit", "memory"),
        ("while True: pass", "timeout", "ran longer"),
        ("time.sleep(99)", "timeout", "ran longer"),
        ("return 'x' * 2**20", "limit", "answer"),
        ("while True: print('x' * 1000)", "limit", "printed"),
        ("def f(): return f()\nf()", "error", "RecursionError"),
        ("self.generate('never awaited')\nreturn 1", "ok", ""),
        ("asyncio.ensure_future(self.generate('orphan'))\nreturn 1", "ok", ""),
        ("while True: await self.generate('')", "limit", "operator calls"),
        ("return operator.Nothing()", "error", "AttributeError"),
        (
            "while True:\n    try: await asyncio.sleep(1)\n    except BaseException: pass",
            "timeout",
            "",
        ),
    ],
)
async def test_every_way_of_ending_is_a_value(
    sandbox: Sandbox, body: str, status: str, error: str
) -> None:
    wall_s = 1.0 if status == "timeout" else 60.0  # a busy machine is slow to start a process
    limits = RunLimits(wall_s=wall_s, cpu_s=5.0, output_bytes=10_000, answer_bytes=10_000)
    result = await sandbox.run_workflow(workflow(body), {"problem": ""}, echo, limits)
    assert result.status == status
    assert error in result.error
    assert len(result.output) <= 10_000


@pytest.mark.parametrize("source", ["", "class Workflow: pass", "x = (", "\0", "(" * 10_000])
async def test_what_is_no_workflow_is_an_error(sandbox: Sandbox, source: str) -> None:
    result = await sandbox.run_workflow(source, {"problem": ""}, echo, QUICK)
    assert result.status in ("error", "limit", "died")
    assert result.error


async def test_source_too_long_to_send_is_a_limit(sandbox: Sandbox) -> None:
    result = await sandbox.run_workflow("#" * 5_000_000, {"problem": ""}, echo, QUICK)
    assert result.status == "limit"


FORGE = """
import gc, json, struct
for thing in gc.get_objects():
    if type(thing).__name__ == 'Channel':
        body = {body}
        thing._sock.sendall(body)
{after}
"""


@pytest.mark.parametrize(
    "message",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\3abc",
        b"\0\0\0\2[]",
        b"\0\0\0\2{}",
        b"\0\1\0\0" + b"[" * 65536,
        b'\0\0\0\x1e{"t":"result","status":"great"}',
        b'\0\0\0\x0a{"t":"call"',
    ],
)
async def test_garbage_from_the_child_ends_the_run(sandbox: Sandbox, message: bytes) -> None:
    forge = FORGE.format(body=repr(message), after="import time; time.sleep(5)")
    source = forge + workflow("return 1")
    result = await sandbox.run_workflow(source, {"problem": ""}, echo, QUICK)
    assert result.status == "died"
    assert "protocol" in result.error


async def test_message_flood_ends_the_run(sandbox: Sandbox) -> None:
    frame = b'\0\0\0\x16{"t":"out","text":"x"}'
    forge = FORGE.format(body=repr(frame) + " * 10000", after="")
    result = await sandbox.run_workflow(forge + workflow("return 1"), {"problem": ""}, echo, QUICK)
    assert result.status == "died"
    assert "too many messages" in result.error


async def test_forged_operator_name_is_never_served(sandbox: Sandbox) -> None:
    served = []

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        served.append(name)
        return ""

    request = '{"t":"call","id":900,"op":"__class__","args":[],"kwargs":{}}'
    body = len(request).to_bytes(4, "big") + request.encode()
    source = FORGE.format(body=repr(body), after="") + workflow("await self.generate()\nreturn 1")
    result = await sandbox.run_workflow(source, {"problem": ""}, serve, QUICK)
    assert result.value == 1
    assert served == ["AnswerGenerate"]


async def test_channel_closed_then_loop_is_ended(sandbox: Sandbox) -> None:
    # the child's channel keeps the number it had in this process, which may hold many files
    source = workflow("os.closerange(0, 1 << 16)\nwhile True: pass")
    # a far deadline: it is the closed channel that ends the run, on a busy machine too
    far = RunLimits(wall_s=60.0, cpu_s=60.0)
    result = await sandbox.run_workflow(source, {"problem": ""}, echo, far)
    assert result.status == "died"


@pytest.mark.slow
async def test_waiting_for_a_turn_does_not_count_as_running_time(sandbox: Sandbox) -> None:
    limits, asked, answer = RunLimits(wall_s=3.0), asyncio.Event(), asyncio.Event()

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        asked.set()
        await answer.wait()
        return {"answer": "a"}

    async def run(body: str) -> str:
        return (await sandbox.run_workflow(workflow(body), {"problem": ""}, serve, limits)).status

    holders = [asyncio.ensure_future(run("await self.generate()\nreturn 1")) for _ in range(4)]
    await asyncio.wait_for(asked.wait(), 60)
    waiting = asyncio.ensure_future(run("return 1"))  # the sandbox of these tests has four turns
    await asyncio.sleep(1.1 * limits.wall_s)
    assert not waiting.done()
    answer.set()
    assert await asyncio.gather(waiting, *holders) == ["ok"] * 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "answered_after_s", "status", "error"),
    [
        ("await self.generate()\nawait asyncio.sleep(99)", 0.1, "timeout", "ran longer"),
        ("t = asyncio.ensure_future(self.generate())\nawait asyncio.sleep(99)", 0.3, "timeout", "ran longer"),
        ("t = asyncio.ensure_future(self.generate())\nawait asyncio.sleep(0)\nwhile True: pass",
         99, "timeout", "processor"),
        ("await asyncio.gather(self.generate(), self.generate())\nreturn 1", 1.2, "ok", ""),
    ],
)  # fmt: skip
async def test_a_call_that_is_answered_stops_the_clock_and_nothing_else_does(
    sandbox: Sandbox, body: str, answered_after_s: float, status: str, error: str
) -> None:
    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        await asyncio.sleep(answered_after_s)
        return {"answer": "late"}

    limits = RunLimits(wall_s=1.0, cpu_s=1.0 if status == "timeout" else 5.0)
    result = await sandbox.run_workflow(workflow(body), {"problem": ""}, serve, limits)
    assert result.status == status
    assert error in result.error


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_cancelled_run_leaves_no_process_and_no_file(sandbox: Sandbox) -> None:
    source = workflow("await self.generate()\nwhile True: pass")
    started = asyncio.Event()

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        started.set()
        return ""

    files = open_files()
    for _ in range(3):
        run = asyncio.ensure_future(sandbox.run_workflow(source, {"problem": ""}, serve, QUICK))
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        started.clear()
    assert open_files() <= files + 1


async def test_a_run_that_is_stopped_twice_leaves_no_error_that_nobody_saw(
    sandbox: Sandbox,
) -> None:
    """As when a command is stopped: its run is cancelled, and once more when the loop ends."""
    loop, begun, fail = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    unseen: list[str] = []

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        begun.set()
        await fail.wait()
        raise SandboxError("closed meanwhile")

    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: unseen.append(str(context)))
    try:
        source = workflow("return await self.generate(problem)")
        run = asyncio.ensure_future(sandbox.run_workflow(source, {"problem": "p"}, serve, QUICK))
        await begun.wait()
        for _ in range(2):
            run.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await run
        fail.set()
        await asyncio.sleep(0.01)
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert unseen == []


async def test_workflows_whose_operators_run_code_do_not_wait_for_each_other(
    sandbox: Sandbox,
) -> None:
    # more workflows than turns, and all of them are inside before the first runs code
    count = 6
    inside, open_door = 0, asyncio.Event()

    async def programmer(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        nonlocal inside
        inside += 1
        if inside >= 4:
            open_door.set()
        await open_door.wait()
        result = await sandbox.run_function("def solve(): return 4", "solve", [], QUICK)
        return {"answer": result.value}

    source = workflow("r = await self.generate(problem)\nreturn r['answer']")
    runs = (sandbox.run_workflow(source, {"problem": "p"}, programmer, QUICK) for _ in range(count))
    results = await asyncio.gather(*runs)
    assert [(r.status, r.value) for r in results] == [("ok", "4")] * count

"""Programs that use up what there is, and a server that dies: nobody else is harmed."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from processes import processes_settled, runs_begun, server_pid

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.forkserver import KEPT_READY, KINDS
from llm_as_judge.types import RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMITS = RunLimits(wall_s=5.0, cpu_s=3.0)
EXHAUSTION = {
    "8 GB": ("x = bytearray(8 * 2**30)", {"limit"}),
    "slow growth": ("x = []\nwhile True: x.append(' ' * 10**6 + str(len(x)))", {"limit"}),
    "a number": ("return 9**9**9", {"timeout", "limit"}),
    "recursion": ("def g(): g()\ng()", {"error"}),
    "recursion without bound": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef g(x): return [g(x)]\ng(1)",
        {"died", "limit", "error", "timeout"},
    ),
    "deep parse": ("eval('(' * 10**6)", {"error", "limit", "died"}),
    "deep list": ("x = []\nfor i in range(10**6): x = [x]\nreturn x", {"error", "limit", "died"}),
    "endless output": ("while True: print('x' * 10**5)", {"limit"}),
    "loop": ("while True: pass", {"timeout"}),
    "sleep": ("import time\ntime.sleep(10**6)", {"timeout"}),
    "catch all": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        {"timeout"},
    ),
    "ignored signals": (
        (
            "import signal\nfor s in range(1, 32):\n"
            "    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
            "while True: pass"
        ),
        {"timeout"},
    ),
    "regular expression": ("import re\nre.match('(a+)+$', 'a' * 64 + 'b')", {"timeout"}),
    "descriptors": ("import os\nx = [os.dup(0) for _ in range(10**6)]", {"error"}),
    "zip bomb": (
        (
            "import zlib\nc = zlib.compressobj()\n"
            "d = b''.join(c.compress(bytes(2**20)) for _ in range(2000)) + c.flush()\n"
            "zlib.decompress(d)"
        ),
        {"limit", "timeout"},
    ),
    "segfault": ("import ctypes\nctypes.string_at(0)", {"died"}),
    "abort": ("import os\nos.abort()", {"died"}),
    "hanging atexit": (
        "import atexit, time\natexit.register(time.sleep, 10**6)\nreturn 1",
        {"ok"},
    ),
    "hanging finalizer": (
        (
            "import time\nclass A:\n    def __del__(self): time.sleep(10**6)\n"
            "global a\na = A()\nreturn 1"
        ),
        {"ok"},
    ),
    "long answer": ("return 'x' * 64 * 2**20", {"limit", "error", "timeout"}),
    "hash collisions": ("return len({i * (2**61 - 1) for i in range(10**5)})", {"timeout"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "statuses"), EXHAUSTION.values(), ids=EXHAUSTION)
async def test_exhaustion_harms_nobody_else(jail: Sandbox, body: str, statuses: set[str]) -> None:
    lines = "\n".join("    " + line for line in body.splitlines())
    wall_s = 1.0 if "timeout" in statuses else 10.0  # a busy machine is slow to start a process
    limits = RunLimits(wall_s=wall_s, cpu_s=3.0, memory_bytes=256 * 2**20)
    hostile = asyncio.ensure_future(jail.run_function(f"def f():\n{lines}", "f", [], limits))
    neighbor = await jail.run_function("def f(): return 'unharmed'", "f", [], LIMITS)
    result = await hostile
    assert result.status in statuses, result
    assert len(result.output) <= limits.output_bytes
    assert neighbor.value == "unharmed"


@pytest.mark.slow
async def test_nobody_is_left_when_the_runs_are_over(jail: Sandbox) -> None:
    source = "import time\ndef f(): time.sleep(60)"
    runs = (jail.run_function(source, "f", [], RunLimits(wall_s=0.2)) for _ in range(20))
    assert {result.status for result in await asyncio.gather(*runs)} == {"timeout"}
    most = 3 + KINDS * KEPT_READY  # bubblewrap, the server and idle children
    assert await processes_settled(jail, *range(1, most + 1)) <= most


async def test_death_of_the_server_is_our_failure_and_it_comes_back(jail: Sandbox) -> None:
    source = "import time\ndef f(x): time.sleep(60)"
    tests = ("assert f(1)",)
    running = [jail.run_function(source, "f", [1], RunLimits(wall_s=20)) for _ in range(2)]
    grading = jail.run_tests(source, "f", tests, RunLimits(wall_s=20))
    together = asyncio.gather(*running, grading, return_exceptions=True)
    await runs_begun(jail, 4)
    os.kill(server_pid(jail), signal.SIGKILL)
    assert [type(outcome) for outcome in await together] == [SandboxError] * 3
    result = await jail.run_function("def f(): return 'back'", "f", [], LIMITS)
    assert result.value == "back"

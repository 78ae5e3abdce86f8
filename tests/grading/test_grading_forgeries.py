"""Solutions that pass no test honestly and try to look as if they did: the code grader stays sure."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Problem, RunLimits

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

PROBLEM = Problem(
    "forged/t/1",
    "mbpp",
    "code",
    "Write add(a, b).",
    entry_point="add",
    hidden_tests=("assert add(2, 3) == 5", "assert add('a', 'b') == 'ab'\nassert add(1, 1) != 3"),
)

FORGERIES = {
    "exit_at_import": "import sys\nsys.exit(0)",
    "exit_in_call": "import sys\ndef add(a, b):\n    sys.exit(0)",
    "hard_exit_at_import": "import os\nos._exit(0)",
    "hard_exit_in_call": "import os\ndef add(a, b):\n    os._exit(0)",
    "system_exit": "raise SystemExit(0)",
    "equal_to_everything": """class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __bool__(self): return True
def add(a, b): return Yes()""",
    "str_subclass": """class S(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    __hash__ = str.__hash__
def add(a, b): return S("x")""",
    "int_subclass": """class N(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    __hash__ = int.__hash__
def add(a, b): return N(0)""",
    "patched_builtins": """import builtins
builtins.AssertionError = type("Quiet", (BaseException,), {})
builtins.exec = lambda *a, **k: None
builtins.compile = lambda *a, **k: None
def add(a, b): return None""",
    "frame_walk": """import sys
def add(a, b):
    frame = sys._getframe()
    while frame:
        for name in list(frame.f_locals):
            if isinstance(frame.f_locals[name], (list, dict)):
                try:
                    frame.f_locals[name].clear()
                except Exception:
                    pass
        frame = frame.f_back
    return 5""",
    "gc_walk": """import gc
def add(a, b):
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "passed" in thing:
            thing["passed"] = True
    return None""",
    "forged_reply": """import os, json, struct
body = json.dumps({"op": "done", "passed": True, "total": 2, "failed": []}).encode()
for fd in range(0, 12):
    try:
        os.write(fd, struct.pack(">I", len(body)) + body)
    except OSError:
        pass
def add(a, b): return None""",
    "printed_success": """print("OK\\nAll tests passed\\n1.0")
def add(a, b):
    print("passed")
    return None""",
    "threads": """import threading, os, time
def later():
    time.sleep(0.2)
    os._exit(0)
threading.Thread(target=later, daemon=True).start()
def add(a, b):
    time.sleep(1)
    return None""",
    "hang": "def add(a, b):\n    while True: pass",
    "stub": "def add(a, b):\n    return None",
    "learns_by_trial": "def add(a, b):\n    return 5",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Judge]:
    sandbox = await open_sandbox("subprocess")
    judge = Judge(sandbox, test_limits=RunLimits(wall_s=5.0, cpu_s=2.0))
    yield judge
    await judge.aclose()
    await sandbox.aclose()


@pytest.mark.parametrize("kind", FORGERIES)
async def test_no_forgery_passes(judge: Judge, kind: str) -> None:
    verdict = await judge.grade(PROBLEM, FORGERIES[kind])
    assert verdict.correct is False, verdict


async def test_the_honest_solution_passes(judge: Judge) -> None:
    assert (await judge.grade(PROBLEM, "def add(a, b):\n    return a + b")).correct is True

"""The split grader: honest solutions pass, no dishonest one does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm_as_judge.types import RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUICK = RunLimits(wall_s=10.0, cpu_s=5.0)


@pytest.mark.parametrize(
    ("solution", "test"),
    [
        ("def f(x): return x + 1", "assert f(1) == 2"),
        ("def f(x): return (x, [x], {x: {x}})", "assert f(1) == (1, [1], {1: {1}})"),
        ("def f(): return float('inf')", "import math\nassert math.isinf(f())"),
        ("def f(): return 2 ** 5000", "assert f() == 2 ** 5000"),
        ("def f(): return 1 + 2j", "assert f() == 1 + 2j"),
        ("def f(): return b'ab'", "assert f() == b'ab'"),
        ("def f(x): return frozenset(x)", "assert f([1, 2]) == {1, 2}"),
        ("from collections import Counter\ndef f(x): return Counter(x)", "assert f('aab')['a'] == 2"),
        ("from collections import defaultdict\ndef f(): return defaultdict(int, a=1)", "assert f() == {'a': 1}"),
        ("from collections import deque\ndef f(): return deque([1])", "assert list(f()) == [1]"),
        ("from collections import OrderedDict\ndef f(): return OrderedDict(a=1)", "assert f() == {'a': 1}"),
        ("from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef f(): return P(1, 2)", "assert f() == (1, 2)"),
        ("def f():\n  yield 1\n  yield 2", "assert list(f()) == [1, 2]"),
        ("def f(x): return map(str, x)", "assert tuple(f([1])) == ('1',)"),
        ("def f(x): return {x: 1}.keys()", "assert f(3) == {3}"),
        ("def f(x): raise ValueError('no')", "try:\n  f(1)\n  assert False\nexcept ValueError: pass"),
        ("class E(KeyError): pass\ndef f(): raise E('x')", "try:\n  f()\n  assert 0\nexcept KeyError: pass"),
        ("class P:\n  def __init__(s, a): s.a = a\ndef f(ps): return sum(p.a for p in ps)", "assert f([P(1), P(2)]) == 3"),
        ("def g(x): return x\ndef f(h, x): return h(x)", "assert f(g, 4) == 4"),
        ("import math\ndef f(): return math.pi", "assert math.isclose(f(), 3.14159, rel_tol=1e-3)"),
        ("import re\ndef f(t): return re.search('a', t)", "assert f('ba')\nassert not f('b')"),
        ("def f(x, kind): return [i for i in x if type(i) is kind]", "assert f([1, 'a'], int) == [1]"),
        ("def f(x): return x", "def check(candidate):\n  assert candidate(1) == 1"),
        ("def f(x): return x", "def check(candidate):\n  assert candidate(1) == 1\ncheck(f)"),
        ("from fractions import Fraction\ndef f(): return Fraction(1, 3)", "from fractions import Fraction\nassert f() * 3 == 1"),
        ("from decimal import Decimal\ndef f(): return Decimal('0.1')", "assert str(f()) == '0.1'"),
        ("import datetime\ndef f(): return datetime.date(2020, 1, 2)", "assert f().year == 2020"),
    ],
)  # fmt: skip
async def test_right_solutions_pass(sandbox: Sandbox, solution: str, test: str) -> None:
    report = await sandbox.run_tests(solution, "f", (test,), QUICK)
    assert report.error == ""
    assert report.passed
    assert report.total == 1


ANYTHING = """
class Any(BASE):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 1
    def __lt__(self, other): return True
def f(*args): return Any()
"""

WALK = """
import gc, sys
def f(*args):
    frame = sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            try: frame.f_locals[name] = value; value['failed'] = []
            except Exception: pass
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing).__name__ == 'Channel':
            for nonce in ('', 'nonce', None):
                thing.send({'t': 'done', 'nonce': nonce, 'failed': [], 'error': ''})
            thing.send({'t': 'reply', 'id': 1, 'value': 3})
    return 0
"""

CLEAR = """
import sys
def f(*args):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            try: value.clear()
            except Exception: pass
        frame = frame.f_back
    return 5
"""

FORGED = """
import os, json, struct
body = json.dumps({"op": "done", "passed": True, "total": 6, "failed": []}).encode()
for fd in range(0, 12):
    try: os.write(fd, struct.pack(">I", len(body)) + body)
    except OSError: pass
def f(x): return None
"""

CHEATS = {
    "stub": "def f(x): return None",
    "equal to everything": ANYTHING.replace("BASE", "object"),
    "int equal to everything": ANYTHING.replace("BASE", "int"),
    "str equal to everything": ANYTHING.replace("BASE", "str"),
    "list equal to everything": ANYTHING.replace("BASE", "list"),
    "exit at import": "import sys\ndef f(x): return 3\nsys.exit(0)",
    "raise SystemExit in the call": "def f(x): raise SystemExit(0)",
    "sys.exit in the call": "import sys\ndef f(x): sys.exit(0)",
    "os._exit at import": "import os\ndef f(x): return 3\nos._exit(0)",
    "os._exit in the call": "import os\ndef f(x): os._exit(0)",
    "frame and gc walk": WALK,
    "printed marks": "print('OK passed 1 passed')\ndef f(x): print('PASSED'); return 0",
    "clears what the frames hold": CLEAR,
    "dicts that say passed": (
        "import gc\ndef f(x):\n  for thing in gc.get_objects():\n"
        "    if isinstance(thing, dict) and 'passed' in thing: thing['passed'] = True"
    ),
    "a reply on every descriptor": FORGED,
    "thread that ends the process": (
        "import threading, os, time\ndef later():\n  time.sleep(0.2)\n  os._exit(0)\n"
        "threading.Thread(target=later, daemon=True).start()\ndef f(x): time.sleep(1)"
    ),
    "patched builtins": (
        "import builtins\nbuiltins.AssertionError = Warning\n"
        "builtins.abs = builtins.all = builtins.isinstance = lambda *a: True\n"
        "builtins.exec = builtins.compile = lambda *a, **k: None\n"
        "def f(x): return 0"
    ),
    "defines builtins": "def abs(x): return 0\ndef all(x): return True\ndef f(x): return 0",
    "replaces check": "def check(c): pass\ndef f(x): return 0",
    "raises StopIteration": "def f(x): raise StopIteration",
    "raises AssertionError": "def f(x): raise AssertionError",
    "unread answer": "def f(x):\n  y = []\n  y.append(y)\n  return y",
    "endless iterator": "import itertools\ndef f(x): return (i for i in itertools.count())",
    "mutates its argument": "def f(x):\n  x.clear() if type(x) is list else 0\n  return x",
    "syntax error": "def f(x) return 3",
    "no function": "g = 1",
    "not a function": "f = 3",
    "thread that answers": (
        "import threading, gc\n"
        "def late():\n"
        "  for c in gc.get_objects():\n"
        "    if type(c).__name__ == 'Channel': c.send({'t': 'reply', 'id': 1, 'value': 3})\n"
        "def f(x):\n"
        "  threading.Thread(target=late).start()\n"
        "  return 0"
    ),
}
TESTS = (
    "assert f(2) == 3\nassert f(5) == 6",
    "def check(candidate):\n    assert abs(candidate(2) - 3) < 1e-6\n    assert candidate([4]) == [4, 4]",
    "x = [1, 2]\nassert f(x) == x + x",
    "assert all(f(i) == i + 1 for i in range(9))",
    "assert f(2) in (3, 4)",
    "assert not f(2) != 3",
)  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
async def test_no_cheat_passes_any_test(sandbox: Sandbox, cheat: str) -> None:
    report = await sandbox.run_tests(cheat, "f", TESTS, QUICK)
    assert not report.passed
    assert report.failed == (0, 1, 2, 3, 4, 5)
    assert report.error


async def test_failed_tests_are_numbered_and_expected_values_stay_secret(sandbox: Sandbox) -> None:
    tests = ("assert f(1) == 1", "assert f(2) == 'secret'", "assert f(3) == 3, 'secret'", "secret(")
    report = await sandbox.run_tests("def f(x): return 1", "f", tests, QUICK)
    assert report.failed == (1, 2, 3)
    assert report.error == "test 1: AssertionError"


async def test_no_test_is_not_a_pass(sandbox: Sandbox) -> None:
    report = await sandbox.run_tests("def f(x): return 1", "f", (), QUICK)
    assert (report.passed, report.total) == (False, 0)


async def test_hanging_solution_fails_within_the_limit(sandbox: Sandbox) -> None:
    source = "import time\ndef f(x): time.sleep(99)"
    report = await sandbox.run_tests(source, "f", ("assert f(1) == 1",), RunLimits(wall_s=0.5))
    assert not report.passed
    assert report.seconds < 3


LOOP = "while True: pass"


@pytest.mark.parametrize(
    ("who", "solution", "test"),
    [
        ("the solution", f"def f(x):\n  {LOOP}", "assert f(1) == 1"),
        ("the solution", LOOP, "assert f(1) == 1"),
        ("the tests", "def f(x): return x", f"{LOOP}\nassert f(1) == 1"),
    ],
)
async def test_an_endless_loop_is_told_with_the_limit_that_it_reached(
    sandbox: Sandbox, who: str, solution: str, test: str
) -> None:
    """The limit of processor time ends it before that of the wall clock."""
    limits = RunLimits(wall_s=20.0, cpu_s=1.0)
    said = f"{who} reached the limit of 1 s of processor time"
    assert (await sandbox.run_tests(solution, "f", (test,), limits)).error == said
    if who == "the tests":
        assert (await sandbox.try_stubs("f", (test,), limits)).error == said


async def test_setup_code_is_seen_by_solution_and_tests(sandbox: Sandbox) -> None:
    setup = "import math\ndef helper(x):\n    return x + 1\n"
    solution = "def f(x): return math.floor(helper(x))"
    tests = ("assert f(1) == helper(1) == math.floor(2.5)",)
    assert (await sandbox.run_tests(solution, "f", tests, QUICK, setup)).passed


async def test_a_grading_that_is_given_up_is_over_before_its_channels_are_closed(
    sandbox: Sandbox,
) -> None:
    faults: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, fault: faults.append(fault))
    grading = asyncio.ensure_future(
        sandbox.run_tests("import time\ndef f(x): time.sleep(99)", "f", ("assert f(1)",), QUICK)
    )
    await asyncio.sleep(0.5)
    grading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await grading
    assert not [t for t in asyncio.all_tasks() if "SplitGrading" in repr(t.get_coro())]
    assert faults == []
    loop.set_exception_handler(None)

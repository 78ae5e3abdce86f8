"""Tests of code rows: those that test nothing are refused, those of unusual form are run as meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llm_as_judge.data import tests as code_tests
from llm_as_judge.data.rows import RowError
from llm_as_judge.grading.row_tests import faults_of_tests
from llm_as_judge.grading.rules import grade_code
from llm_as_judge.types import Problem, RunLimits, Sandbox

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

LIMITS = RunLimits(wall_s=20.0, cpu_s=5.0)

REFUSED_UNREAD = {
    "a tuple": ("assert (f(1) == 2, 'wrong')", "a tuple is always true"),
    "a tuple in a function": ("def test_a():\n    assert (f(1), 2)", "a tuple is always true"),
    "a comparison alone": ("f(1) == 2", "a comparison alone tests nothing"),
    "a comparison beside an assert": ("assert f(1) == 2\nf(2) == 3", "a comparison alone"),
    "a comparison in a class": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        f(1) == 2",
        "a comparison alone",
    ),
    "several comparisons": ("f(1) == 2 and f(2) == 3", "a comparison alone"),
    "no assert": ("f(1)", "has no assert"),
    "printed": ("print(f(1) == 2)", "has no assert"),
    "pytest.raises": ("import pytest\nwith pytest.raises(ValueError):\n    f(1)", "pytest is not"),
    "raises": (
        "from pytest import raises\nwith raises(KeyError):\n    f(1)",
        "pytest is not there",
    ),
    "a fixture": ("def test_a(tmp_path):\n    assert f(tmp_path)", "fixtures are not there"),
    "set up by pytest": (
        (
            "class TestF:\n    def setup_method(self):\n        self.x = 1\n"
            "    def test_a(self):\n        assert f(self.x) == 2"
        ),
        "is not called",
    ),
    "an async test": ("async def test_a():\n    assert f(1) == 2", "an async test is not run"),
    "a class compared": ("assert Point(1, 2).plus(Point(1, 1)) == Point(2, 3)", "objects of Point"),
}
REFUSED_RUN = {
    "true without the function": ("assert True or f(1)", "passes where f only raises"),
    "a function that nobody calls": ("def my_checks():\n    assert f(1) == 2", "tests nothing"),
    "a function that yields": ("def test_a():\n    yield\n    assert f(1) == 2", "tests nothing"),
    "a guard for another name": (
        "if __name__ == 'tests':\n    assert f(1) == 2",
        "tests nothing",
    ),
    "every exception is caught": (
        "try:\n    assert f(1) == 2\nexcept Exception:\n    pass",
        "raises",
    ),
    "a bare except": ("try:\n    assert f(1) == 2\nexcept:\n    pass", "tests nothing"),
    "suppressed": (
        "import contextlib\nwith contextlib.suppress(Exception):\n    assert f(1) == 2",
        "tests nothing",
    ),
    "an empty loop": ("for x in []:\n    assert f(x) == 2", "tests nothing"),
    "an empty list": ("assert all(f(x) == 2 for x in [])", "tests nothing"),
    "only defined": ("assert callable(f)", "tests nothing"),
    "an exception is right": (
        "try:\n    assert f(1) == 2\nexcept ValueError:\n    pass",
        "all tests pass where f does nothing but raise ValueError",
    ),
    "any exception that a class expects": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        with self.assertRaises(TypeError):\n            f(1)"
        ),
        "does nothing but raise TypeError",
    ),
    "equal to itself": ("assert f(1) == f(1)", "does nothing and returns None"),
    "true with anything": ("assert f(1) or True", "does nothing and returns None"),
    "not the one value": ("assert f(1) != 3", "does nothing and returns None"),
    "longer than nothing": ("assert len(str(f(1))) > 0", "does nothing and returns None"),
    "a changed argument that changes nothing": (
        "xs = [1, 2]\nf(xs)\nassert xs == [1, 2]",
        "does nothing and returns None",
    ),
    "a module that is not there": (
        "import numpy\nassert f(1) == numpy.array(2)",
        "fails before it uses f: ModuleNotFoundError",
    ),
    "the solution as a module": (
        "from solution import f\nassert f(1) == 2",
        "fails before it uses f",
    ),
    "skipped": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n"
            "    def test_a(self):\n        self.assertEqual(f(1), 2)"
        ),
        "fails before it uses f: SkipTest: a test is skipped",
    ),
    "an object of its own": (
        "class Own:\n    pass\nassert f(Own()) == 2",
        "is given an object of the tests' own (Own)",
    ),
    "ends the process": ("import os\nos._exit(0)\nassert f(1)", "end their process"),
}
HONEST = {
    "test functions": (
        "def f(x): return x + 1",
        "def test_one():\n    assert f(1) == 2\ndef test_two():\n    assert f(2) == 3",
    ),
    "a guard that calls them": (
        "def f(x): return x + 1",
        "def test_one():\n    assert f(1) == 2\nif __name__ == '__main__':\n    test_one()",
    ),
    "a guard with asserts": (
        "def f(x): return x + 1",
        "if __name__ == '__main__':\n    assert f(1) == 2",
    ),
    "unittest": (
        "def f(x): return x + 1",
        ("import unittest\nclass TestF(unittest.TestCase):\n    def setUp(self):\n"
        "        self.x = 1\n    def test_a(self):\n        self.assertEqual(f(self.x), 2)\n"
        "if __name__ == '__main__':\n    unittest.main()"),
    ),
    "unittest that expects exceptions": (
        "def f(x):\n    if x < 0: raise ValueError('negative')\n    return x",
        ("from unittest import TestCase\nclass T(TestCase):\n    def test_a(self):\n"
        "        with self.assertRaises(ValueError):\n            f(-1)\n"
        "        self.assertRaises(ValueError, f, -2)\n"
        "        self.assertRaisesRegex(ValueError, 'neg', f, -2)\n        self.assertEqual(f(1), 1)"),
    ),
    "a plain class": (
        "def f(x): return x + 1",
        "class TestF:\n    def test_a(self):\n        assert f(1) == 2",
    ),
    "statements before asserts": (
        "def f(xs): return sum(xs)",
        ("import random\nxs = [random.random() for _ in range(9)]\nwant = sum(xs)\n"
        "assert abs(f(xs) - want) < 1e-9"),
    ),
    "an exception that is expected": (
        "def f(x):\n    if x < 0: raise ValueError\n    return x",
        "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError\nassert f(1) == 1",
    ),
    "an exception of the solution's own": (
        "class Negative(Exception): pass\ndef f(x):\n    if x < 0: raise Negative(x)\n    return x",
        "try:\n    f(-1)\n    assert False\nexcept Negative:\n    pass\nassert f(1) == 1",
    ),
    "a check": ("def f(x): return x + 1", "def check(candidate):\n    assert candidate(1) == 2"),
    "a helper of the tests": (
        "def f(x): return x * 0.1",
        "def near(a, b):\n    return abs(a - b) < 1e-6\ndef test_f():\n    assert near(f(3), 0.3)",
    ),
    "a function goes in": ("def f(g, xs): return [g(x) for x in xs]", "assert f(lambda x: x * 2, [1, 2]) == [2, 4]"),
    "a function of Python goes in": ("def f(g, xs): return g(xs)", "assert f(max, [1, 3]) == 3\nassert f(len, [1, 3]) == 2"),
    "a function comes out": ("def f(n): return lambda x: x + n", "add = f(2)\nassert add(3) == 5"),
    "a function comes back": ("def f(g): return g", "def own(x):\n    return x\nassert f(own) is own"),
    "a function that is called back with an object": (
        ("class P:\n    def __init__(self): self.n = 0\n    def up(self): self.n += 1\n"
        "def f(p, g):\n    g(p)\n    return p.n"),
        "assert f(P(), lambda p: p.up()) == 1",
    ),
    "calls are counted": (
        "def f(g):\n    for i in range(3): g(i)",
        "seen = []\nf(seen.append)\nassert seen == [0, 1, 2]",
    ),
    "an argument is changed": ("def f(xs):\n    xs.sort()", "xs = [3, 1]\nf(xs)\nassert xs == [1, 3]"),
    "nested arguments are changed": (
        "def f(m, d):\n    m[0][1] = 9\n    m.append([1])\n    d['a'].add(2)\n    del d['b']",
        ("m, d = [[1, 2]], {'a': {1}, 'b': 2}\nrow = m[0]\nf(m, d)\n"
        "assert m == [[1, 9], [1]] and row == [1, 9] and d == {'a': {1, 2}}"),
    ),
    "a class": (
        ("class f:\n    def __init__(self): self.xs = []\n    def push(self, x): self.xs.append(x)\n"
        "    def pop(self): return self.xs.pop()\n    def __len__(self): return len(self.xs)\n"
        "    def __contains__(self, x): return x in self.xs\n    def __iter__(self): return iter(self.xs)\n"),
        ("s = f()\ns.push(1)\ns.push(2)\nassert len(s) == 2 and 2 in s and 3 not in s\n"
        "assert list(s) == [1, 2] and s.xs == [1, 2] and isinstance(s, f)\nassert s.pop() == 2"),
    ),
    "a class beside the function": (
        ("class Node:\n    def __init__(self, v, l=None, r=None):\n        self.v, self.l, self.r = v, l, r\n"
        "def f(n):\n    return 0 if n is None else 1 + max(f(n.l), f(n.r))"),
        "assert f(Node(1, Node(2))) == 2",
    ),
    "a class with operators": (
        ("class f:\n    def __init__(self, x, y): self.x, self.y = x, y\n"
        "    def __add__(self, o): return f(self.x + o.x, self.y + o.y)\n"
        "    def __mul__(self, n): return f(self.x * n, self.y * n)\n"
        "    def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)\n"
        "    def __lt__(self, o): return (self.x, self.y) < (o.x, o.y)\n"
        "    def __repr__(self): return f'({self.x}, {self.y})'"),
        ("p = f(1, 2) + f(3, 4)\nassert (p.x, p.y) == (4, 6) and str(p) == '(4, 6)'\n"
        "assert f(1, 2) == f(1, 2) and f(1, 2) != f(2, 1) and f(1, 2) < f(2, 0)\n"
        "assert (f(1, 2) * 3).y == 6"),
    ),
    "a class that iterates": (
        ("class f:\n    def __init__(self, n): self.n = n\n    def __iter__(self): return self\n"
        "    def __next__(self):\n        if self.n == 0: raise StopIteration\n        self.n -= 1\n        return self.n"),
        "assert list(f(3)) == [2, 1, 0]",
    ),
    "a context manager": (
        ("class f:\n    def __init__(self): self.open = False\n    def __enter__(self):\n        self.open = True\n"
        "        return self\n    def __exit__(self, *a): self.open = False"),
        "with f() as one:\n    assert one.open is True\nassert one.open is False",
    ),
    "names like those of a stand-in": (
        (
            "class f:\n    def __init__(self): self._end, self._number, self.made = 1, 2, 3\n"
            "    def used(self): return self.made\n    def ask(self): return f()"
        ),
        ("s = f()\ns._made = 4\nassert (s._end, s._number, s.used(), s._made) == (1, 2, 3, 4)\n"
        "assert s.ask() != None and s.ask() is not None and s != None"),
    ),
    "a missing attribute": (
        "class f:\n    def __init__(self): self.a = 1",
        "assert hasattr(f(), 'a') and not hasattr(f(), 'b')",
    ),
}  # fmt: skip
SETUP = {
    "a tree of the set-up": (
        ("class Node:\n    def __init__(self, v, l=None, r=None):\n        self.v, self.l, self.r = v, l, r\n"
        "def listed(n):\n    return [] if n is None else listed(n.l) + [n.v] + listed(n.r)"),
        "def f(n):\n    if n is None: return None\n    return Node(n.v, f(n.r), f(n.l))",
        "assert listed(f(Node(1, Node(2)))) == [1, 2]\nassert f(None) is None",
    ),
    "changed in place": (
        "from dataclasses import dataclass\n@dataclass\nclass Account:\n    money: int",
        "def f(a, n):\n    a.money -= n",
        "a = Account(5)\nf(a, 2)\nassert a == Account(3)",
    ),
    "a class that is written again": (
        "class Node:\n    def __init__(self, v): self.v = v",
        "class Node:\n    def __init__(self, v): self.v = v\ndef f(v): return Node(v)",
        "assert f(3).v == 3",
    ),
    "an enumeration": (
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 2",
        "def f(c): return Color.BLUE if c is Color.RED else Color.RED",
        "assert f(Color.RED) is Color.BLUE",
    ),
}  # fmt: skip


def row(test: str, setup: str = "", solution: str = "") -> Problem:
    meta = {"reference": solution} if solution else {}
    return Problem(
        "own/t/1", "own", "code", "Write f.", entry_point="f", setup_code=setup,
        hidden_tests=(test,), meta=meta,
    )  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED_UNREAD)
async def test_what_never_fails_is_refused_unread(kind: str) -> None:
    test, reason = REFUSED_UNREAD[kind]
    with pytest.raises(RowError, match=reason):
        code_tests.read_tests([test], "answer", "")


@pytest.mark.parametrize("kind", REFUSED_RUN)
async def test_what_passes_without_a_solution_is_refused(sandbox: Sandbox, kind: str) -> None:
    test, reason = REFUSED_RUN[kind]
    code_tests.read_tests([test], "answer", "")
    [fault] = await faults_of_tests([row(test)], sandbox, LIMITS)
    assert reason in fault
    assert fault
    assert "\n" not in fault


async def test_each_test_of_a_row_must_test_something(sandbox: Sandbox) -> None:
    tests = ("assert f(1) == 2", "assert True, 'f(2)'")
    problem = Problem("o/t/1", "o", "code", "?", entry_point="f", hidden_tests=tests)
    [fault] = await faults_of_tests([problem], sandbox, LIMITS)
    assert fault.startswith("test 1, \"assert True, 'f(2)'\", passes where f only raises")


@pytest.mark.parametrize("kind", HONEST)
async def test_tests_of_any_form_are_run_as_meant(sandbox: Sandbox, kind: str) -> None:
    solution, test = HONEST[kind]
    code_tests.read_tests([test], "answer", "")
    problem = row(test, solution=solution)
    assert await faults_of_tests([problem], sandbox, LIMITS) == [""]
    for wrong in ("def f(*a, **k): return None", "def f(*a, **k): raise StopIteration"):
        verdict = await grade_code(problem, wrong, sandbox, LIMITS)
        assert verdict.correct is False


@pytest.mark.parametrize("kind", SETUP)
async def test_objects_of_the_set_up_go_in_and_come_out(sandbox: Sandbox, kind: str) -> None:
    setup, solution, test = SETUP[kind]
    assert await faults_of_tests([row(test, setup, solution)], sandbox, LIMITS) == [""]


async def test_visible_tests_must_test_something_too(sandbox: Sandbox) -> None:
    shown = replace(
        row("assert f(1) == 2"), visible_tests=("assert f(1) == 2", "assert callable(f)")
    )
    [fault] = await faults_of_tests([shown], sandbox, LIMITS)
    assert fault.startswith("visible test 0, 'assert callable(f)', passes where f only raises")


async def test_tests_that_the_own_solution_fails_are_refused(sandbox: Sandbox) -> None:
    problem = row("assert f(1) == 2", solution="def f(x): return x")
    [fault] = await faults_of_tests([problem], sandbox, LIMITS)
    assert fault == "the tests fail on the row's own solution: test 0: AssertionError"


@pytest.mark.parametrize(
    ("tests", "setup", "name"),
    [
        (["def test_a():\n    assert add(1, 2) == 3"], "", "add"),
        (["from math import sqrt\nassert root(4) == sqrt(4)"], "", "root"),
        (["assert near(half(1), 0.5)"], "def near(a, b): return abs(a - b) < 1", "half"),
        (["assert list(map(double, [1])) == [2]"], "", "double"),
    ],
)
async def test_the_function_to_write_is_found_in_tests_of_any_form(
    tests: list[str], setup: str, name: str
) -> None:
    assert code_tests.tested_function(code_tests.read_tests(tests, "answer", setup), setup) == name

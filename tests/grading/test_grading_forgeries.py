"""Solutions that pass no test honestly and try to look as if they did: the code grader stays sure."""

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

LOST_EXCEPTIONS = {
    "under all": ("StopIteration", "assert all(map(f, [1, 2]))"),
    "under zip": ("StopIteration", "for a, b in zip(map(f, [1, 2]), [2, 3]):\n    assert a == b"),
    "under iter": ("StopIteration", "for x in iter(lambda: f(1), 0):\n    assert x == 2"),
    "under filter": ("StopIteration", "assert list(filter(f, [1, 2])) == []"),
    "under takewhile": (
        "StopIteration",
        "import itertools\nassert list(itertools.takewhile(f, [1, 2])) == []",
    ),
    "under starmap": (
        "StopIteration",
        "import itertools\nassert all(x == 2 for x in itertools.starmap(f, [(1,)]))",
    ),
    "under accumulate": (
        "StopIteration",
        "import itertools\nassert sum(itertools.accumulate([0, 1], f)) == 0",
    ),
    "under set": ("StopIteration", "assert not set(map(f, [1, 2])) - {2, 3}"),
    "under an old iteration": (
        "IndexError",
        (
            "class Items:\n    def __getitem__(self, i):\n        return f(i)\n"
            "for x in Items():\n    assert x == 2"
        ),
    ),
    "under getattr": (
        "AttributeError",
        "class P:\n    x = property(lambda self: f(1))\nassert getattr(P(), 'x', 2) == 2",
    ),
    "under hasattr": (
        "AttributeError",
        "class P:\n    x = property(lambda self: f(1))\nassert not hasattr(P(), 'x')",
    ),
    "under a length hint": (
        "TypeError",
        (
            "class P:\n    def __len__(self):\n        return f(1)\n"
            "    def __iter__(self):\n        return iter([2])\nassert list(P()) == [2]"
        ),
    ),
    "under finally": (
        "ValueError",
        "def g():\n    try:\n        return f(1)\n    finally:\n        return 2\nassert g() == 2",
    ),
    "beside another that is expected": (
        "StopIteration",
        "assert all(map(f, [1]))\ntry:\n    f(-1)\nexcept StopIteration:\n    pass",
    ),
    "in unittest": (
        "StopIteration",
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        self.assertTrue(all(map(f, [1])))"
        ),
    ),
}
AGREEABLE = """
class f:
    def __init__(self, *a): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __contains__(self, item): return True
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __len__(self): return 1
    def __float__(self): return 0.0
    def __hash__(self): return 0
    def __getattr__(self, name):
        if name.startswith('__'): raise AttributeError(name)
        return lambda *a: self
    def startswith(self, text): return True
    def count(self, item): return 1
    def move(self, *a): return self
"""
OF_A_CLASS = {
    "equal": "assert f(3).value() == 3",
    "not unequal": "assert not f(3).value() != 3",
    "near": "assert abs(f(3).value() - 3) < 1e-6",
    "near, the other way round": "assert abs(3 - f(3).value()) < 1e-6",
    "the same object again": "s = f(3)\nassert abs(s.move(1) - 4) < 1e-6",
    "one of several": "assert f(3).value() in (3, 4)",
    "contains": "assert 3 in f(3).values()",
    "starts with": "assert f('ab').value().startswith('a')",
    "counts": "assert f([3]).values().count(3) == 1",
    "less": "assert f(3).value() < 10",
    "a key": "assert {3: 'a'}[f(3).value()] == 'a'",
    "compared after a change": "s = f(3)\ns.move(1)\nassert s == f(4)",
    "compared with what a method gives": "s = f(4)\nassert f(3).move(1) == s",
    "sorted": "assert sorted([f(2), f(1)])[0].value() == 1",
    "as a number": "assert float(f(3)) == 3.0",
    "as text": "assert str(f(3)) == '3'",
    "its truth": "assert f(3).value() is True",
    "in unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertAlmostEqual(f(3).value(), 3)"
    ),
}
CHOSEN_STATE = {
    "tolerance": (
        (
            "class Close:\n    def __init__(self, v, tol=1e-6): self.v, self.tol = v, tol\n"
            "    def __eq__(self, o): return abs(o - self.v) < self.tol"
        ),
        "def f(x): return Close(0, 1e9)",
        "assert f(1) == 2",
    ),
    "a method of its own": (
        (
            "class Node:\n    def __init__(self, v): self.v = v\n"
            "    def has(self, v): return self.v == v"
        ),
        "def f(x):\n    n = Node(0)\n    n.has = max\n    return n",
        "assert f(1).has(2)",
    ),
    "another class": (
        "class Node:\n    def __init__(self, v): self.v = v",
        "def f(x):\n    n = Node(0)\n    n.__dict__['__class__'] = int\n    return n",
        "assert f(1).v == 2",
    ),
}


def problem(test: str, setup: str = "") -> Problem:
    return Problem(
        "f/t/1", "mbpp", "code", "Write f.", entry_point="f", setup_code=setup, hidden_tests=(test,)
    )


@pytest.mark.parametrize("kind", LOST_EXCEPTIONS)
async def test_an_exception_of_a_solution_never_becomes_a_value(judge: Judge, kind: str) -> None:
    error, test = LOST_EXCEPTIONS[kind]
    verdict = await judge.grade(problem(test), f"def f(*args):\n    raise {error}")
    assert verdict.correct is False, verdict


@pytest.mark.parametrize("kind", OF_A_CLASS)
async def test_no_object_agrees_with_what_it_is_compared_with(judge: Judge, kind: str) -> None:
    verdict = await judge.grade(problem(OF_A_CLASS[kind]), AGREEABLE)
    assert verdict.correct is False, verdict


@pytest.mark.parametrize("kind", CHOSEN_STATE)
async def test_no_state_of_a_class_of_the_set_up_decides(judge: Judge, kind: str) -> None:
    setup, solution, test = CHOSEN_STATE[kind]
    verdict = await judge.grade(problem(test, setup), solution)
    assert verdict.correct is False, verdict


async def test_a_solution_does_not_swallow_an_assertion_of_a_function_it_was_given(
    judge: Judge,
) -> None:
    test = "def seen(x):\n    assert x == 2\nf(seen)\nassert True"
    verdict = await judge.grade(
        problem(test), "def f(g):\n    try:\n        g(9)\n    except AssertionError:\n        pass"
    )
    assert verdict.correct is False, verdict

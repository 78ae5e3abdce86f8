import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.data.code import docstring_tests, entry_point_of, humaneval, mbpp, mbpp_full
from llm_as_judge.data.rows import RawRow, RowError

PROMPT = '''from typing import List

def helper(x):
    return x + 1

def twice(xs: List[int]) -> List[int]:
    """ Double each.
    >>> twice([1, 2])
    [2, 4]
    >>> twice(make())
    [0]
    """
'''


def row(record: Any) -> RawRow:
    return RawRow("f:1", 0, record, "f")


def humaneval_record(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": "HumanEval/900",
        "prompt": PROMPT,
        "canonical_solution": "    return [2 * x for x in xs]\n",
        "test": "\n\ndef check(candidate):\n    assert candidate([3]) == [6]\n",
        "entry_point": "twice",
    } | changes


def test_humaneval_keeps_visible_and_hidden_tests_apart() -> None:
    problem = humaneval(row(humaneval_record()), "all")
    assert problem.id == "humaneval/all/900"
    assert problem.visible_tests == ("assert twice([1, 2]) == [2, 4]",)
    (hidden,) = problem.hidden_tests
    assert "candidate([3])" in hidden
    assert hidden.endswith("check(twice)\n")
    assert "[6]" not in problem.question + problem.setup_code
    assert "2 * x" not in problem.question + problem.setup_code
    assert problem.meta["reference"].endswith("return [2 * x for x in xs]\n")


def test_humaneval_setup_is_a_module_with_the_helpers() -> None:
    names = [
        node.name
        for node in ast.parse(humaneval(row(humaneval_record()), "all").setup_code).body
        if isinstance(node, ast.FunctionDef)
    ]
    assert names == ["helper", "twice"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"entry_point": "thrice"}, "does not define the entry point 'thrice'"),
        ({"prompt": "def twice(:"}, "'prompt' is not Python"),
        ({"prompt": "def twice():\n    '\0'"}, "NUL"),
        ({"test": "assert True"}, "does not define check"),
        ({"test": 3}, "'test'"),
    ],
    ids=["other function", "no Python", "NUL", "a test that no solution can fail", "no text"],
)
def test_humaneval_refuses_what_cannot_be_graded(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        humaneval(row(humaneval_record(**changes)), "all")


@pytest.mark.parametrize(
    ("line", "tests"),
    [
        ("f(3) == 4", ("assert f(3) == 4",)),
        ("f([1], k=2) => [1, 2]", ("assert f([1], k=2) == [1, 2]",)),
        ("f('a') ➞ 'b'", ("assert f('a') == 'b'",)),
        ("f(3) -> 4  # since 3 + 1", ("assert f(3) == 4",)),
        ("f(3) returns 4.", ("assert f(3) == 4",)),
        ("f(3) should return (4, 5)", ("assert f(3) == (4, 5)",)),
        ("f(3) => true", ("assert f(3) == True",)),
        ("f(x) == 4", ()),
        ("f(3) == g(4)", ()),
        ("f(3) is four", ()),
        ("g(3) == 4", ()),
        ("f(__import__('os').system('x')) == 4", ()),
        (">>> f(3)\n4\n>>> f(3)\n4", ("assert f(3) == 4",)),
        (">>> print(f(3))\n4", ()),
    ],
)
def test_docstring_examples(line: str, tests: tuple[str, ...]) -> None:
    assert docstring_tests(f"Adds.\n{line}\n", "f") == tests


@given(st.text(alphabet="f(1)=> -\n'[]\"#.,\\", max_size=60))
def test_examples_of_any_docstring_are_assert_statements(docstring: str) -> None:
    for test in docstring_tests(docstring, "f"):
        assert isinstance(ast.parse(test).body[0], ast.Assert)


def mbpp_record(**changes: Any) -> dict[str, Any]:
    return {
        "source_file": "s",
        "task_id": 7,
        "prompt": "Write a function to add.",
        "code": "def add(a, b=1):\r\n    return a + b",
        "test_imports": ["import math"],
        "test_list": ["assert add(1, 2) == 3", "assert add(2) == 3", "assert add(0, 0) == 0"],
    } | changes


def test_mbpp_first_assert_is_visible_and_all_of_them_grade() -> None:
    problem = mbpp(row(mbpp_record()), "sanitized")
    assert problem.visible_tests == ("assert add(1, 2) == 3",)
    assert problem.hidden_tests == tuple(mbpp_record()["test_list"])
    assert problem.setup_code == "import math"
    assert "def add(a, b=1):" in problem.question
    assert "assert add(1, 2) == 3" in problem.question
    assert "add(2)" not in problem.question
    assert "return a + b" not in problem.question
    assert problem.meta["reference"] == "def add(a, b=1):\n    return a + b"


def test_mbpp_single_assert_stays_hidden() -> None:
    problem = mbpp(row(mbpp_record(test_list=["assert add(1, 2) == 3"])), "sanitized")
    assert problem.visible_tests == ()
    assert problem.hidden_tests == ("assert add(1, 2) == 3",)
    assert "assert" not in problem.question


def test_mbpp_full_form_with_setup_and_challenge_tests() -> None:
    full = {
        "text": "Add.",
        "task_id": 7,
        "code": "add = lambda a, b: a + b",
        "test_setup_code": "x = 1",
        "test_list": ["assert add(1, 2) == 3"],
        "challenge_test_list": ["assert add(5, 5) == 10"],
    }
    problem = mbpp_full(row(full), "full")
    assert (problem.dataset, problem.id) == ("mbpp_full", "mbpp/full/7")
    assert problem.visible_tests == ("assert add(1, 2) == 3",)
    assert problem.hidden_tests == ("assert add(1, 2) == 3", "assert add(5, 5) == 10")
    assert problem.setup_code == "x = 1"
    assert "def add(a, b):" in problem.question


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"test_list": []}, "'test_list' is empty"),
        ({"test_list": ["add(1, 2)"]}, "a test has no assert"),
        ({"test_list": ["assert add(1,"]}, "'test' is not Python"),
        ({"test_list": ["assert sub(1, 2) == -1"]}, "no test calls a function that 'code' defines"),
        ({"code": "def add(:"}, "'code' is not Python"),
        ({"task_id": "7"}, "'task_id' is str, wanted int"),
        ({"test_list": "assert add(1) == 2"}, "'test_list' is not a list of texts"),
    ],
)
def test_mbpp_refuses_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        mbpp(row(mbpp_record(**changes)), "sanitized")


def test_entry_point_is_the_function_most_tests_call() -> None:
    code = "class P: pass\ndef helper(x): return x\ndef main(x) -> int: return x"
    tests = ["assert main(helper(1)) == 1", "assert main(P()) == 2"]
    assert entry_point_of(code, tests) == ("main", "def main(x) -> int:")
    assert entry_point_of(code, ["assert set(main(helper(1))) == {1}"])[0] == "main"

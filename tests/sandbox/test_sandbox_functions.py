"""Functions and scripts of the executor: how they end, and the packages that they may import."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox import interpreter
from llm_as_judge.sandbox.inside.packages import show
from llm_as_judge.types import Json, RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUICK = RunLimits(wall_s=10.0, cpu_s=5.0)
ALGEBRA = RunLimits(wall_s=30.0, cpu_s=10.0)


@pytest.mark.parametrize(
    ("source", "function", "arguments", "ending", "output"),
    [
        ("def f(a, b=1):\n    print('working')\n    return a * b", "f", [6, 7],
         ("ok", "42", ""), "working\n"),
        ("x = 6\nif __name__ == '__main__':\n    print(x * 7)", None, [], ("ok", None, ""), "42\n"),
        ("def f(): pass", "f", [], ("ok", None, ""), ""),
        ("def other(): pass", "f", [],
         ("error", None, "NameError: the source defines no function 'f'"), ""),
        ("def f():\n    return [][1]", "f", [],
         ("error", None, "IndexError: list index out of range (line 2)"), ""),
        ("x = 1\ny = (", "f", [],
         ("error", None, "SyntaxError: '(' was never closed (<program>, line 2) (line 2)"), ""),
    ],
    ids=["value", "script", "none", "no function", "error", "no Python"],
)  # fmt: skip
async def test_a_function_or_a_script_ends_in_a_value_or_one_line(
    sandbox: Sandbox,
    source: str,
    function: str | None,
    arguments: list[Json],
    ending: tuple[str, Json, str],
    output: str,
) -> None:
    result = await sandbox.run_function(source, function, arguments, QUICK)
    assert (result.status, result.value, result.error) == ending
    assert result.output == output
    assert result.seconds > 0


async def test_output_is_text_even_when_it_is_not(sandbox: Sandbox) -> None:
    source = (
        "import sys\ndef f():\n    sys.stdout.buffer.write(bytes([255, 65]))\n    return '\\ud800'"
    )
    result = await sandbox.run_function(source, "f", [], QUICK)
    assert (result.output, result.value) == ("\ufffdA", "\ufffd")


async def test_hashes_are_equal_in_every_run(sandbox: Sandbox) -> None:
    source = "def f(): return hash('spam')"
    values = {(await sandbox.run_function(source, "f", [], QUICK)).value for _ in range(3)}
    assert len(values) == 1


@pytest.mark.slow
async def test_processor_time_is_bounded(sandbox: Sandbox) -> None:
    source = (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\ndef f():\n    while 1: pass"
    )
    result = await sandbox.run_function(source, "f", [], RunLimits(wall_s=20.0, cpu_s=1.0))
    assert result.status == "timeout"
    assert result.seconds < 10


# --------------------------------------------------------------------------------------- packages
ALGEBRAIC = {
    "sympy.solve(sympy.symbols('x')**2 - 2)": "[-sqrt(2), sqrt(2)]",
    "sympy.Rational(3, 4) + sympy.Rational(1, 4)": "1",
    "sympy.integrate(sympy.sin(sympy.abc.x), sympy.abc.x)": "-cos(x)",
    "sympy.Matrix([[1, 2], [3, 4]]).det()": "-2",
    "sympy.factorint(360)": "{2: 3, 3: 2, 5: 1}",
    "sympy.stats.E(sympy.stats.Die('d', 6))": "7/2",
    "sympy.parsing.sympy_parser.parse_expr('2*3')": "6",
    "sympy.diophantine(sympy.abc.x - 2*sympy.abc.y)": "{(2*t_0, t_0)}",
    "sympy.solveset(sympy.abc.x > 1, sympy.abc.x, sympy.S.Reals)": "Interval.open(1, oo)",
    "sympy.limit(sympy.sin(sympy.abc.x) / sympy.abc.x, sympy.abc.x, 0)": "1",
    "mpmath.nstr(mpmath.zeta(3), 12)": "1.20205690316",
}


@pytest.mark.slow
async def test_algebra_can_be_done(sandbox: Sandbox) -> None:
    source = (
        "import mpmath, sympy, sympy.abc, sympy.stats, sympy.parsing.sympy_parser\n"
        f"def solve(): return '; '.join(map(str, [{', '.join(ALGEBRAIC)}]))"
    )
    result = await sandbox.run_function(source, "solve", [], ALGEBRA)
    assert (result.status, result.error) == ("ok", "")
    assert str(result.value).split("; ") == list(ALGEBRAIC.values())


async def test_what_lies_beside_a_package_is_not_there(sandbox: Sandbox) -> None:
    source = "import sympy\nimport {name}\ndef solve(): return 1"
    for name in ("numpy", "torch", "pydantic", "llm_as_judge"):
        result = await sandbox.run_function(source.format(name=name), "solve", [], ALGEBRA)
        assert result.error.startswith(f"ModuleNotFoundError: No module named '{name}'")


async def test_workflows_and_graders_see_no_package(sandbox: Sandbox) -> None:
    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        raise AssertionError("no operator is called")

    body = "import sympy\nclass Workflow:\n    pass\nasync def solve(problem): return 1"
    result = await sandbox.run_workflow(body, {"problem": "p"}, serve, ALGEBRA)
    assert "No module named 'sympy'" in result.error
    solution = "import sympy\ndef f(): return sympy.Integer(1)"
    report = await sandbox.run_tests(solution, "f", ("assert f() == 1",), ALGEBRA)
    assert not report.passed


async def test_no_run_finds_what_another_left_in_a_package(sandbox: Sandbox) -> None:
    spoil = "import sympy\nsympy.pi = 3\ndef solve(): return sympy.pi"
    look = "import sympy\ndef solve(): return sympy.pi"
    assert (await sandbox.run_function(spoil, "solve", [], ALGEBRA)).value == "3"
    assert (await sandbox.run_function(look, "solve", [], ALGEBRA)).value == "pi"


@pytest.mark.slow
async def test_endless_algebra_ends_at_the_limit(sandbox: Sandbox) -> None:
    source = "import sympy\ndef solve():\n    return sympy.factorint(2**997 - 1)"
    limits = RunLimits(wall_s=3.0, cpu_s=2.0)
    assert (await sandbox.run_function(source, "solve", [], limits)).status == "timeout"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import sympy as sp", True),
        ("from mpmath import mp", True),
        ("__import__('sympy')", True),
        ("import math", False),
        ("def sympy_like(): pass", False),
    ],
)
async def test_package_is_named_as_a_whole_word(source: str, named: bool) -> None:
    assert interpreter.names_a_package(source) is named


async def test_compiled_or_missing_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "fast_algebra"
    made.mkdir()
    (made / "__init__.py").touch()
    (made / "core.so").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SandboxError, match=r"core\.so is compiled, wanted fast_algebra in pure"):
        interpreter._folder("fast_algebra")
    with pytest.raises(SandboxError, match="no_such_algebra is not installed: pip install"):
        interpreter._folder("no_such_algebra")


async def test_package_is_found_in_its_folder_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shown_package", "hidden_package"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("WHAT = 1\n")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    show({"shown_package": str(tmp_path / "shown_package")})
    import shown_package  # type: ignore[import-not-found]

    assert shown_package.WHAT == 1
    with pytest.raises(ModuleNotFoundError):
        import hidden_package  # type: ignore[import-not-found]  # noqa: F401
    del sys.modules["shown_package"]

from __future__ import annotations

import pytest

from llm_as_judge.types import RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUICK = RunLimits(wall_s=10.0, cpu_s=5.0)


async def test_value_is_the_text_of_what_the_function_returns(sandbox: Sandbox) -> None:
    source = "def solve(a, b=1):\n    print('working')\n    return a * b"
    result = await sandbox.run_function(source, "solve", [6, 7], QUICK)
    assert (result.status, result.value, result.output) == ("ok", "42", "working\n")
    assert result.seconds > 0


async def test_source_without_a_function_runs_as_a_script(sandbox: Sandbox) -> None:
    source = "x = 6\nif __name__ == '__main__':\n    print(x * 7)"
    result = await sandbox.run_function(source, None, [], QUICK)
    assert (result.status, result.value, result.output) == ("ok", None, "42\n")


async def test_none_is_not_the_text_none(sandbox: Sandbox) -> None:
    result = await sandbox.run_function("def solve(): pass", "solve", [], QUICK)
    assert (result.status, result.value) == ("ok", None)


async def test_missing_function_is_named(sandbox: Sandbox) -> None:
    result = await sandbox.run_function("def other(): pass", "solve", [], QUICK)
    assert result.status == "error"
    assert "'solve'" in result.error


async def test_error_names_the_line_of_the_program(sandbox: Sandbox) -> None:
    result = await sandbox.run_function("def solve():\n    return [][1]", "solve", [], QUICK)
    assert result.error == "IndexError: list index out of range (line 2)"


async def test_syntax_error_names_its_line(sandbox: Sandbox) -> None:
    result = await sandbox.run_function("x = 1\ny = (", "solve", [], QUICK)
    assert result.error.startswith("SyntaxError")
    assert result.error.endswith("(line 2)")


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

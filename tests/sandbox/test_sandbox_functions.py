from __future__ import annotations

import pytest

from llm_as_judge.types import Json, RunLimits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUICK = RunLimits(wall_s=10.0, cpu_s=5.0)


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

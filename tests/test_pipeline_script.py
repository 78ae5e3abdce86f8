"""scripts/run_full_pipeline.sh: what reaches its verbs. A program in place of python writes it down."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llm_as_judge.config import load_config

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_full_pipeline.sh"
VERBS = [
    "judge audit",
    "models pull",
    "data download",
    "data process",
    "evaluate",
    "train",
    "evaluate",
    "report",
]

Start = Callable[..., "subprocess.Popen[str]"]


def hear_interrupts() -> None:
    """In the child: what is ignored at a shell's start (as in a background job) stays ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the real python said of the configuration, by what it was asked."""
    return tmp_path_factory.mktemp("answers")


@pytest.fixture
def start(tmp_path: Path, answers: Path) -> Iterator[Start]:
    """Start a copy of the script whose python is a shell script that ends with ``body``.

    What it asks of the configuration is answered by the real python, once for all tests.
    """
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    scripts: list[subprocess.Popen[str]] = []

    def started(body: str, *options: str) -> subprocess.Popen[str]:
        python.write_text(
            f'#!/bin/bash\nif [ "$1" = -c ]; then\nsaid={answers}/$(echo "$@" | cksum | tr " " _)\n'
            f'[ -f $said ] || {shlex.quote(sys.executable)} "$@" > $said\nexec cat $said\nfi\n'
            f'case "$3" in data|judge|models) echo "$3 $4";; *) echo "$3";; esac >> {tmp_path}/verbs\necho "${{@:3}}" >> {tmp_path}/lines\n{body}\n'
        )
        python.chmod(0o755)
        script = subprocess.Popen(
            [tmp_path / "scripts" / SCRIPT.name, *(options or ("--config", "embedded"))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.environ["PATH"]},
            preexec_fn=hear_interrupts,
        )
        scripts.append(script)
        return script

    yield started
    for script in scripts:
        script.kill()
        script.wait()


def ended(script: subprocess.Popen[str], status: int = 0) -> str:
    """All that it said, with the status that is wanted."""
    output, _ = script.communicate(timeout=60)
    assert script.returncode == status, output
    return output


def test_the_verbs_run_in_order(start: Start, tmp_path: Path) -> None:
    ended(start("exit 0"))
    assert (tmp_path / "verbs").read_text().splitlines() == VERBS


def test_a_verb_that_fails_ends_the_script_with_its_status(start: Start, tmp_path: Path) -> None:
    ended(start('if [ "$4" = process ]; then exit 2; fi'), 2)
    assert (tmp_path / "verbs").read_text().splitlines() == VERBS[:4]


def given_to(verb: str, folder: Path) -> list[str]:
    """The options of each call of ``verb``."""
    lines = (folder / "lines").read_text().splitlines()
    return [rest for word, _, rest in (line.partition(" ") for line in lines) if word == verb]


def test_a_judge_that_fails_its_audit_ends_the_script_before_anything_else(
    start: Start, tmp_path: Path
) -> None:
    ended(start('if [ "$4" = audit ]; then exit 3; fi', "--model", "qwen25-7b"), 3)
    assert (tmp_path / "verbs").read_text().splitlines() == ["judge audit"]


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (("--model", "qwen25-7b"), ["--limit 100"]),
        (("--limit", "7"), ["--limit 7"]),
        (("--limit", "all", "--config", "embedded"), ["--limit all"]),
        (("--config", "embedded"), []),  # it names two rows
    ],
    ids=["default", "given", "all", "of the configuration"],
)
def test_a_sample_of_each_set_is_evaluated_unless_told_otherwise(
    start: Start, tmp_path: Path, options: tuple[str, ...], limit: list[str]
) -> None:
    ended(start("exit 0", *options))
    before, after = given_to("evaluate", tmp_path)
    assert before == f"{after} --untrained"
    assert re.findall(r"--limit \S+", after) == limit


def test_labeled_rows_reach_the_audit_alone(start: Start, tmp_path: Path) -> None:
    ended(start("exit 0", "--config", "embedded", "--labeled", "mine.jsonl"))
    (given,) = given_to("judge", tmp_path)
    assert given == "audit --config embedded --labeled mine.jsonl --if-needed"
    assert (tmp_path / "lines").read_text().count("mine.jsonl") == 1


def test_a_warm_start_searches_first_and_its_policy_gets_the_short_prompt(
    start: Start, tmp_path: Path
) -> None:
    output = ended(start("exit 0", "--config", "embedded", "--seed", "3", "--warm-start", "40"))
    assert (tmp_path / "verbs").read_text().splitlines() == [*VERBS[:5], "search", *VERBS[5:]]
    (search,) = given_to("search", tmp_path)
    assert search == "--config embedded --seed 3 --split train --rows 40"
    (train,) = given_to("train", tmp_path)
    assert "--set training.warm_start=results/bank --set training.entropy_floor=0.06" in train
    assert "--set sampling.prompt_style=signatures" in train
    untrained, trained = given_to("evaluate", tmp_path)
    assert untrained == f"{trained} --untrained"  # a checkpoint keeps its prompt itself
    assert "prompt_style" not in trained + output[output.index("solve") :]
    config = load_config("embedded", overrides=re.findall(r"--set (\S+)", train))
    assert config.sampling.prompt_style == "signatures"
    assert config.training.entropy_floor > 0


def test_nothing_is_audited_where_nothing_is_trained(start: Start, tmp_path: Path) -> None:
    ended(start("exit 0", "--config", "embedded", "--eval-only", "--skip-download"))
    assert (tmp_path / "verbs").read_text().splitlines() == [
        "models pull",
        "data process",
        "evaluate",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--limit", "ten"), "--limit ten: wanted a number of rows"),
        (("--limit", "0"), "--limit 0: wanted a number of rows"),
        (("--warm-start", "1"), "--warm-start 1: wanted a number of rows, at least 2"),
        (("--eval-only", "--labeled", "mine.jsonl"), "--eval-only leaves out"),
        (("--labeled",), "--labeled wants a value"),
    ],
)
def test_wrong_options_are_one_line_before_any_verb(
    start: Start, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    output = ended(start("exit 0", *options), 2)
    (line,) = output.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert not (tmp_path / "verbs").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_verb_and_the_script_waits_for_its_end(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    name = number.name.removeprefix("SIG")
    body = f"""trap 'sleep 0.3; echo {name} > {tmp_path}/got; exit 77' {name}
touch {tmp_path}/ready
for _ in $(seq 1200); do sleep 0.05; done"""
    script = start(body)
    while not (tmp_path / "ready").exists():
        assert script.poll() is None
        time.sleep(0.01)
    script.send_signal(number)
    ended(script, 77)
    assert (tmp_path / "got").read_text().strip() == name
    assert (tmp_path / "verbs").read_text().splitlines() == VERBS[:1]


@pytest.mark.parametrize(
    ("target", "called"), [("run", "llm-as-judge quickstart"), ("full", SCRIPT.name)]
)
def test_make_run_is_the_quickstart_and_make_full_the_pipeline(target: str, called: str) -> None:
    make = ["make", "-n", target, "ARGS=--seed 7"]
    told = subprocess.run(make, cwd=SCRIPT.parents[1], capture_output=True, text=True, check=True)
    (line,) = (line for line in told.stdout.splitlines() if f"{called} " in line)
    assert re.search(rf"{re.escape(called)} .*--seed 7( \|\||$)", line)

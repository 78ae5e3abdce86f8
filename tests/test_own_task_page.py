"""docs/own-task.md is walked from its first command to its last: rows, training, figures, a served policy.

Only the address of the endpoint is put in; the policy's weights are the tests', the endpoint is scripted.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import own_task_walk
import pytest

from documented import ROOT, blocks, commands
from fault_endpoint import FaultEndpoint, in_a_thread
from judge_oracle import Oracle, audited_cases
from llm_as_judge.data.files import read_problems
from llm_as_judge.types.datasets import DOMAINS
from test_typed_commands import clean_environment, in_a_shell
from typed_place import Knowing, ended, write_config

PAGE = ROOT / "docs" / "own-task.md"
ROWS = ROOT / "examples" / "own_task.jsonl"
FEWER = (("--steps 60", "--steps 3"), ("step_60", "step_3"))
"""Three steps are trained in the place of the page's sixty."""


def fewer_steps(text: str) -> str:
    for page, here in FEWER:
        text = text.replace(page, here)
    return text


COMMANDS = [
    fewer_steps(c.text)
    for c in commands(PAGE)
    if " FILE" not in c.text and c.text.startswith("llm-as-judge ")
]
(SERVE,) = (c for c in COMMANDS if c.startswith("llm-as-judge serve"))
BEFORE_SERVING = COMMANDS[: COMMANDS.index(SERVE)]
(AUDIT,) = (c for c in COMMANDS if c.startswith("llm-as-judge judge audit"))


def without_figures(text: str) -> str:
    return re.sub(r"\d([\d,]*\d)?(\.\d+)?", "N", " ".join(text.split()))


def form_of(text: str) -> str:
    """``text`` without its figures and line ends, as a pattern; ``...`` is whatever stands there."""
    return ".*".join(map(re.escape, without_figures(text).split("...")))


PRINTED = [
    line
    for block in blocks(PAGE)
    if block.kind == "text" and not block.text.startswith("serving")
    for line in fewer_steps(block.text).splitlines()
    if line.strip() != "..."
]
"""Lines that the page shows below its commands; `served` reads the last one."""


def typed(command: str, url: str, wanted: int = 0) -> None:
    text = command.replace("MODEL@http://HOST:PORT/v1", f"m@{url}")
    ended(in_a_shell(rf"printf '%s\0' {text}").split("\0")[1:-1], wanted)


def results_of(system: str) -> dict[str, Any]:
    path = Path(f"results/evaluation/{system}_results.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@contextmanager
def served(place: Path) -> Iterator[str]:
    """URL of the page's server, as it says it itself; on a free port."""
    words = [sys.executable, "-m", "llm_as_judge", *SERVE.split()[1:], "--port", "0"]
    environment = dict(os.environ, COLUMNS="200")
    with subprocess.Popen(
        words, cwd=place, env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        try:
            said: list[str] = []
            for line in server.stderr:
                said.append(line)
                if found := re.match(r"serving\s+(\S+)", line):
                    yield found[1]
                    break
            else:
                raise AssertionError("".join(said))
        finally:
            server.send_signal(signal.SIGTERM)


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fluent_weights: Path, tiny_encoder: Path
) -> Path:
    """The reader's folder: the example's rows alone, and small weights under the shipped names."""
    clean_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    write_config(tmp_path / "config", fluent_weights, tiny_encoder, "http://127.0.0.1:9/v1")
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("audited")
def test_the_page_leads_from_rows_to_a_trained_evaluated_and_served_policy(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with in_a_thread(FaultEndpoint(0.0, answer=Knowing(ROWS))) as endpoint:
        for command in BEFORE_SERVING:
            typed(command, endpoint.url)
        said = capsys.readouterr()
        printed = without_figures(f"{said.out}\n{said.err}")
        missing = [line for line in PRINTED if not re.search(form_of(line), printed)]
        assert (missing, len(PRINTED) > 15) == ([], True)
        assert re.search(form_of("Training made no difference that is shown: "), printed)
        assert (place / "checkpoints/qwen25-coder-0.5b/grpo_mixed/step_3").is_dir()
        assert results_of("qwen25-coder-0.5b_untrained")["policy"] == "untrained"
        names = {part["dataset"] for part in results_of("qwen25-coder-0.5b")["datasets"]}
        assert names >= {"own_task_math", "own_task_qa", "own_task_code"}
        with served(place) as url:
            asked = {
                "model": "llm-as-judge:math",
                "messages": [{"role": "user", "content": "6*7?"}],
            }
            reply = httpx.post(f"{url}/chat/completions", json=asked, timeout=120)
        assert reply.status_code == 200, reply.text
        assert reply.json()["choices"][0]["message"]["content"]


@pytest.mark.chaos
@pytest.mark.usefixtures("audited")
def test_the_walk_times_every_verb_from_made_rows_to_a_served_answer(place: Path) -> None:
    rows = place / "rows.jsonl"
    own_task_walk.write_rows("invoices", rows, 0)
    row = json.loads(rows.read_text().splitlines()[0])

    def verb(words: Sequence[str]) -> int:
        ended(list(words))
        return 0

    with in_a_thread(FaultEndpoint(0.0, answer=Knowing(rows))) as endpoint:
        verbs = own_task_walk.verbs_of("invoices", f"openai:m@{endpoint.url}", 2)
        timed = list(own_task_walk.walk(place, verbs, verb))
        step = place / "checkpoints/qwen25-coder-0.5b/grpo_mixed/step_2"
        assert own_task_walk.served_answer(place, step, row)
    assert [one.verb for one in timed] == [
        *("init", "headroom", "pool fill", "search", "stop learn"),
        *("evaluate", "train", "evaluate", "compare"),
    ]
    assert (place / own_task_walk.STOP).is_file()


@pytest.mark.parametrize("task", own_task_walk.TASKS)
def test_the_walks_rows_are_different_ones_of_one_kind(task: str, tmp_path: Path) -> None:
    own_task_walk.write_rows(task, tmp_path / "rows.jsonl", 0)
    made = list(read_problems(tmp_path / "rows.jsonl"))
    assert len({problem.question for problem in made}) == own_task_walk.ROWS
    assert len({problem.domain for problem in made}) == 1


@pytest.mark.slow
def test_the_pages_judge_is_measured_on_the_shipped_rows_beside_the_file(place: Path) -> None:
    typed(BEFORE_SERVING[0], "http://127.0.0.1:9/v1")
    with in_a_thread(FaultEndpoint(0.0, answer=Oracle(audited_cases()).reply)) as endpoint:
        typed(f"{AUDIT} --sample 0.01", endpoint.url)
        assert endpoint.met["ok"]
    (path,) = (place / "results" / "audit").glob("*.sample.json")
    report = json.loads(path.read_text("utf-8"))
    assert report["mode"] == "model"
    assert report["failures"] == [], "so few say nothing of precision"


def test_the_page_says_every_step_in_order() -> None:
    verbs = [command.split()[1] for command in COMMANDS]
    wanted = ["init", "evaluate", "headroom", "train", "evaluate", "compare", "serve", "judge"]
    left = iter(verbs)
    assert all(verb in left for verb in wanted)


@pytest.mark.parametrize("document", ["docs/own-task.md", "README.md"])
def test_before_and_after_are_evaluated_around_a_training_of_sixty_steps(document: str) -> None:
    """So that `compare` has both."""
    told = [c.text for c in commands(ROOT / document)]
    train = "train --steps 60 --set training.warm_start=results/headroom/bank"
    steps = ("evaluate --untrained", train, "evaluate", "compare results/evaluation/")
    left = iter(told)
    assert all(
        any(text == f"llm-as-judge {step}" or (step[-1] == "/" and step in text) for text in left)
        for step in steps
    )


def test_the_rows_of_the_example_are_forty_of_three_kinds_and_can_be_graded() -> None:
    kinds = [problem.domain for problem in read_problems(ROWS)]
    assert (len(kinds), {kind: kinds.count(kind) for kind in kinds}) == (
        40,
        dict(zip(DOMAINS, (14, 13, 13), strict=True)),
    )


def test_the_rows_that_the_page_shows_are_rows(tmp_path: Path) -> None:
    (shown,) = (block.text for block in blocks(PAGE) if block.kind == "jsonl")
    (tmp_path / "shown.jsonl").write_text(shown, encoding="utf-8")
    assert [p.domain for p in read_problems(tmp_path / "shown.jsonl")] == list(DOMAINS)

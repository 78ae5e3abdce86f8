"""Killed with -9 at random moments, a run ends as if nothing had happened, and pays nothing twice.

``KILLS=20 pytest tests/training/test_killed_runs.py -s`` kills twenty times (``make kills``).
Processes are the command line itself; the executor is an endpoint of this process, which replies
after uneven times and remembers who asked what.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file
from tiny_runs import tiny_settings

from llm_as_judge.cli import main
from llm_as_judge.config import config_dir
from llm_as_judge.data.files import write_problems
from llm_as_judge.monitoring.runlog import PENDING, ROLLOUTS, read_lines
from llm_as_judge.types import Problem

KILLS = int(os.environ.get("KILLS", "0"))
pytestmark = pytest.mark.skipif(not KILLS, reason="kills whole runs: `make kills`")
# Not under coverage either: a signal's exception inside its collector's lock hangs the run.
STEPS, GROUPS, SAMPLES = 5, 2, 4
PROBLEMS = [
    *(
        Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2000?", (str(n + 2000),))
        for n in range(24)
    ),
    *(
        Problem(f"hotpotqa/train/{n}", "hotpotqa", "qa", f"Who lit lamp {n}?", ("Edna Moss",))
        for n in range(24)
    ),
]
FORK = multiprocessing.get_context("forkserver")


# ------------------------------------------------------------------------------------ the executor
@dataclass
class Endpoint:
    """Answers each request with a number that is its own; ``asked`` has these numbers in order."""

    asked: list[str] = field(default_factory=list)
    url: str = ""
    open: threading.Event = field(default_factory=threading.Event)
    """While it is not set, nobody gets a reply."""

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body["messages"])
        digest = hashlib.sha256(text.encode()).hexdigest()
        number = str(int(digest[:11], 16))
        if "lamp" in text or "plus 2000" in text:  # and not the probe at start
            self.asked.append(number)
            self.open.wait(300)
            time.sleep(0.4 * int(digest[-2:], 16) / 255)
        fields = dict.fromkeys(re.findall(r"<([a-z_]+)>", text))
        content = "\n".join(f"<{f}>{number}</{f}>" for f in fields) or number
        return {
            "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 5},
        }


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    found.open.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(found.reply(body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # the other side was killed
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


# ----------------------------------------------------------------------------------- the processes
@pytest.fixture
def place(tmp_path: Path, tiny_weights: Path, endpoint: Endpoint) -> Path:
    folder = tmp_path / "config"
    shutil.copytree(config_dir(), folder)
    models = {"tiny": {"format": "safetensors", "sources": [{"path": str(tiny_weights)}]}}
    (folder / "models.yaml").write_text(yaml.safe_dump({"models": models}))
    server = {"base_url": endpoint.url, "api_key": "x", "model_name": "m", "no_proxy": True}
    (folder / "aflow_llm.yaml").write_text(yaml.safe_dump({"models": {"counted": server}}))
    write_problems(tmp_path / "train.jsonl", PROBLEMS)
    return tmp_path


def settings(place: Path, name: str, staleness: int) -> Path:
    tree = {
        **tiny_settings(
            "counted",
            steps=STEPS,
            problems_per_step=GROUPS,
            samples_per_problem=SAMPLES,
            objective="truncated_is",
            max_staleness=staleness,
            save_every=2,
        ),
        "data": {"train_file": str(place / "train.jsonl")},
        "output": {
            "checkpoints": str(place / name / "checkpoints"),
            "results": str(place / "results"),
            "cache": str(place / "cache"),
        },
    }
    path = place / f"{name}.yaml"
    path.write_text(yaml.safe_dump(tree))
    return path


def command_line(arguments: list[str], config: str, output: str) -> None:
    """The whole life of a process: ``llm-as-judge`` with ``arguments``."""
    os.environ["LLM_AS_JUDGE_CONFIG"] = config
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    torch.set_num_threads(1)
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    main(arguments)


def started(place: Path, name: str, staleness: int, *options: str) -> Any:
    train = ["train", "--config", str(settings(place, name, staleness))]
    process = FORK.Process(
        target=command_line,
        args=(
            [*train, "--run-dir", str(place / name / "run"), *options],
            str(place / "config"),
            str(place / f"{name}.log"),
        ),
    )
    process.start()
    return process


def unbroken(place: Path, name: str, staleness: int) -> Path:
    process = started(place, name, staleness)
    process.join()
    assert process.exitcode == 0, (place / f"{name}.log").read_text()
    return place / name / "run"


# ------------------------------------------------------------------------------------- the checks
def ended(run: Path) -> dict[tuple[int, int, int], dict[str, Any]]:
    """Finished rollouts that a dead process left, by their place."""
    found = {}
    for name in (ROLLOUTS, PENDING):
        if (run / name).is_file():
            for row in read_lines(run / name, "step", "group"):
                if row["rollout"]["verdict"] is not None:
                    place = (row["step"], row["group"], row["rollout"]["index"])
                    found[place] = row["rollout"]
    return found


@dataclass
class Death:
    """What was finished when a process died, and how many requests had been made by then."""

    ended: dict[tuple[int, int, int], dict[str, Any]]
    asked: int


def paid_twice(deaths: list[Death], asked: list[str], run: Path) -> list[str]:
    """Requests of finished rollouts that were made again, unless by a sibling that asks the same."""
    final = ended(run)
    again = []
    for death in deaths:
        later = set(asked[death.asked :])
        for place, rollout in death.ended.items():
            number = rollout["execution"]["answer"]
            siblings = [
                r["execution"]["answer"]
                for other, r in final.items()
                if other[:2] == place[:2] and other not in death.ended
            ]
            if number in later and number not in siblings:
                again.append(f"{place}: {number}")
    return again


def adapter(place: Path, name: str) -> dict[str, torch.Tensor]:
    root = place / name / "checkpoints" / "tiny" / "grpo_mixed"
    return load_file(root / f"step_{STEPS}" / "adapter_model.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 1])
def test_a_run_killed_at_random_moments_ends_as_the_unbroken_one(
    place: Path, endpoint: Endpoint, staleness: int
) -> None:
    FORK.set_forkserver_preload(["llm_as_judge.training.trainer", "torch"])
    warm = FORK.Process(target=int)  # the fork server loads torch once, before the clock runs
    warm.start()
    warm.join()
    began = time.monotonic()
    reference = unbroken(place, "reference", staleness)
    seconds = time.monotonic() - began
    moments, kills, reused, number = random.Random(staleness), 0, 0, 0
    while kills < KILLS:
        name, deaths, options = f"killed{number}", list[Death](), list[str]()
        number += 1
        run = place / name / "run"
        first_request = len(endpoint.asked)
        while True:
            process = started(place, name, staleness, *options)
            process.join(moments.uniform(0.1, 1.0) * seconds if kills < KILLS else None)
            if process.exitcode is not None:
                break
            process.kill()
            process.join()
            kills += 1
            deaths.append(Death(ended(run), len(endpoint.asked)))
            if any((place / name / "checkpoints" / "tiny" / "grpo_mixed").glob("step_*")):
                options = ["--resume"]  # before that, it had not begun
        assert process.exitcode == 0, (place / f"{name}.log").read_text()
        for file in ("rollouts.jsonl", "metrics.jsonl"):
            assert (run / file).read_bytes() == (reference / file).read_bytes(), file
        wanted, found = adapter(place, "reference"), adapter(place, name)
        assert wanted.keys() == found.keys()
        assert all(torch.equal(wanted[key], found[key]) for key in wanted)
        assert not (run / PENDING).exists()
        assert len(endpoint.asked) > first_request
        assert paid_twice(deaths, endpoint.asked, run) == []
        reused += sum(len(death.ended) for death in deaths)
    print(  # noqa: T201
        f"\nstaleness {staleness}: {kills} kills in {number} runs of {STEPS} steps x "
        f"{GROUPS * SAMPLES} rollouts; {reused} finished rollouts found after a kill, none paid "
        "twice; rollouts, metrics and adapter equal to the unbroken run's"
    )


def descendants(pid: int) -> set[int]:
    """Processes below ``pid``, at any depth."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in {pid, *found}} - found:
        found |= more
    return found


def left_over(pids: set[int]) -> list[int]:
    """Those that are still there after some seconds: the sandbox's end when they see ours."""
    until = time.monotonic() + 20
    while (there := [p for p in pids if Path(f"/proc/{p}").exists()]) and time.monotonic() < until:
        time.sleep(0.05)
    return there


def wait_for(path: Path) -> None:
    until = time.monotonic() + 120
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert path.exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_training_with_one_line_and_leaves_nothing_behind(
    place: Path, number: int, status: int
) -> None:
    process = started(place, "stopped", 1)
    run, log = place / "stopped" / "run", place / "stopped.log"
    wait_for(run / ROLLOUTS)
    children = descendants(process.pid)
    os.kill(process.pid, number)
    process.join(120)
    assert process.exitcode == status, log.read_text()
    said = log.read_text()
    assert said.splitlines()[-1] == "stopped; finished rollouts, steps and checkpoints are kept"
    assert "Traceback" not in said
    assert children
    assert not left_over(children)
    resumed = started(place, "stopped", 1, "--resume")
    resumed.join()
    assert resumed.exitcode == 0, log.read_text()
    assert [row["step"] for row in read_lines(run / "metrics.jsonl")] == list(range(1, STEPS + 1))


@pytest.mark.slow
def test_a_second_trainer_and_other_settings_are_refused_with_one_line(
    place: Path, endpoint: Endpoint
) -> None:
    endpoint.open.clear()  # the first one cannot end before the second has been refused
    first = started(place, "twice", 1)
    log = place / "twice.log"
    wait_for(place / "twice" / "run" / PENDING)
    second = started(place, "twice", 1, "--resume")
    second.join()
    first.kill()
    first.join()
    endpoint.open.set()
    assert second.exitcode == 2, log.read_text()
    assert f"process {first.pid} is training here" in log.read_text()
    changed = started(place, "twice", 1, "--resume", "--set", "training.learning_rate=0.5")
    changed.join()
    assert changed.exitcode == 2, log.read_text()
    assert "were made with training.learning_rate = 0.001, now it is 0.5" in log.read_text()
    as_before = started(place, "twice", 1, "--resume")
    as_before.join()
    assert as_before.exitcode == 0, log.read_text()

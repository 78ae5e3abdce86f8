"""Training runs in processes of their own, which tests break in every way and start again.

Processes are the command line itself; the executor is an endpoint that replies after uneven times
and remembers who asked what.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import torch
import yaml
from safetensors.torch import load_file
from tiny_runs import require_same_records, run_settings

from llm_as_judge.cli import main
from llm_as_judge.data.files import write_problems
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.runlog import PENDING, ROLLOUTS
from llm_as_judge.types import Problem

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


EndpointT = TypeVar("EndpointT", bound="Endpoint")


# ------------------------------------------------------------------------------------ the executor
@dataclass
class Endpoint:
    """Answers each request with a number that is its own; ``asked`` has these numbers in order."""

    asked: list[str] = field(default_factory=list)
    url: str = ""
    port: int = 0
    open: threading.Event = field(default_factory=threading.Event)
    """While it is not set, nobody gets a reply."""

    def answer(self, text: str, number: str) -> str:
        """To the request ``text``, whose own number is ``number``."""
        return number

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body["messages"])
        digest = hashlib.sha256(text.encode()).hexdigest()
        number = str(int(digest[:11], 16))
        if "lamp" in text or "plus 2000" in text:  # and not the probe at start
            self.asked.append(number)
            self.open.wait(300)
            time.sleep(0.4 * int(digest[-2:], 16) / 255)
        answer = self.answer(text, number)
        return {
            "choices": [{"message": {"content": in_fields(text, answer)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 5},
        }


def in_fields(asked: str, answer: str) -> str:
    """``answer`` in the form that the operators ask for."""
    fields = dict.fromkeys(re.findall(r"<([a-z_]+)>", asked))
    return "\n".join(f"<{f}>{answer}</{f}>" for f in fields) or answer


@contextlib.contextmanager
def serving(found: EndpointT) -> Iterator[EndpointT]:
    """``found`` behind HTTP, at a free port or at ``found.port``."""
    found.open.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body go out as one: the second of two waits 40 ms for an echo

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

    with ThreadingHTTPServer(("127.0.0.1", found.port), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


# ----------------------------------------------------------------------------------- the processes
def prepared(place: Path, url: str) -> Path:
    """``place`` with an only endpoint at ``url``, and problems."""
    entry = {"base_url": url, "api_key": "x", "model_name": "m", "no_proxy": True}
    endpoints = yaml.safe_dump({"models": {"counted": entry}})
    (place / "config" / "aflow_llm.yaml").write_text(endpoints)
    write_problems(place / "train.jsonl", PROBLEMS)
    return place


def settings(place: Path, name: str, staleness: int) -> Path:
    shape = {"steps": STEPS, "problems_per_step": GROUPS, "samples_per_problem": SAMPLES}
    keep = {"loss_type": "truncated_is", "max_staleness": staleness, "save_every": 2}
    path = place / f"{name}.yaml"
    sections = {"executor": {"model": "counted"}, "training": shape | keep}
    path.write_text(yaml.safe_dump(run_settings(place, name, **sections)))
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


def load_once(*modules: str) -> None:
    """The fork server loads these of ours and torch before any clock runs."""
    FORK.set_forkserver_preload([*(f"llm_as_judge.{module}" for module in modules), "torch"])
    warm = FORK.Process(target=int)
    warm.start()
    warm.join()


def started(place: Path, name: str, staleness: int, *options: str) -> Any:
    """A process that trains in ``place / name / "run"``."""
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
    """Folder of a run that nothing happened to."""
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
            for row in JsonLines(run / name).rows():
                if row["rollout"]["verdict"] is not None:
                    found[_place(row)] = row["rollout"]
    return found


def _place(row: dict[str, Any]) -> tuple[int, int, int]:
    """Step and group, which pending rollouts have in the name of their program, and number in the group."""
    named = re.findall(r"\d+", row["program"]) if "program" in row else (row["step"], row["group"])
    step, group = map(int, named)
    return step, group, row["rollout"]["index"]


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
    folder = checkpoint_root(place, name) / f"step_{STEPS}"
    return load_file(folder / "adapter_model.safetensors")


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


def require_equal(place: Path, name: str, reference: str) -> None:
    """The run called ``name`` left what the unbroken ``reference`` left, to the last bit."""
    run, wanted_run = place / name / "run", place / reference / "run"
    require_same_records(run, wanted_run)
    wanted, found = adapter(place, reference), adapter(place, name)
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[key], found[key]) for key in wanted)
    assert not (run / PENDING).exists()


def checkpoint_root(place: Path, name: str) -> Path:
    return place / name / "checkpoints" / "tiny" / "grpo_mixed"


def resume_options(place: Path, name: str) -> list[str]:
    """``--resume``, where there is something to go on from."""
    return ["--resume"] if any(checkpoint_root(place, name).glob("step_*")) else []


def wait_for(path: Path) -> None:
    until = time.monotonic() + 120
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert path.exists()

"""Spoiled configurations, rows, checkpoints, replies and what runs keep: one line or a result, and whole files.

``FUZZ=300 pytest tests/test_fuzz.py`` tries 300 of each (``make fuzz``); without it, a few. Each is
drawn from its number alone, so that one that fails can be tried again by itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from llm_as_judge.assembly import program_options
from llm_as_judge.cli import main
from llm_as_judge.config import (
    config_file,
    load_config,
    load_endpoints,
    load_hub_records,
    load_models,
    shipped_dir,
)
from llm_as_judge.data.files import ProblemFile, read_problems, write_problems
from llm_as_judge.errors import LlmAsJudgeError, ModelError, UserError
from llm_as_judge.evaluation.baselines import single_call_baselines
from llm_as_judge.evaluation.stop_learning import learn_table
from llm_as_judge.files import write_text
from llm_as_judge.judge.judge_file import read_judge_file
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.operators.stopping import StopTable
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.checkpoint import MANIFEST, save_checkpoint
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.runs.table import Bank, grading_version
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.judge.rows import known_questions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.resuming import resumable
from llm_as_judge.types import ChatReply, ChatRequest, Message, Problem, Usage
from mutations import mutated_bytes, mutated_value
from stop_bank import filled

TRIES = int(os.environ.get("FUZZ", "3"))
pytestmark = pytest.mark.slow


def outcome(work: Callable[[], object], allowed: type[LlmAsJudgeError] = UserError) -> str:
    """``ok``, or the name of the one-line error; what else is raised is a bug and passes through."""
    try:
        work()
    except allowed as error:
        return one_line(error)
    return "ok"


def one_line(error: Exception) -> str:
    """The error's name; its message is one that a terminal can show."""
    message = str(error)
    assert 0 < len(message) < 4000
    assert "\n" not in message, message
    message.encode()
    return type(error).__name__


def spoiled(sound: bytes, chance: random.Random, read: Any, write: Any) -> bytes:
    """By its bytes, or by a value inside."""
    if chance.random() < 0.5:
        return mutated_bytes(sound, chance)
    return str(write(mutated_value(read(sound), chance))).encode(errors="surrogatepass")


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def seen_enough(met: Counter[str], *names: str) -> None:
    """A fuzz in which nothing is refused, or nothing passes, shows nothing."""
    print(f"\n{sum(met.values())} tries: {dict(met)}")  # noqa: T201
    assert TRIES < 50 or all(met[name] for name in names), met


# ------------------------------------------------------------------------------------------------ rows
CUSTOM = [
    {"problem": f"What is {n} plus 2?", "answer": str(n + 2), "type": "math"} for n in range(6)
]
PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(6)
]


PROCESS = [
    "data",
    "process",
    "--custom",
    "mine.jsonl",
    "--set",
    "data.sets=[]",
    "--data-dir",
    "data",
]


def lines_of(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_spoiled_rows_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    met: Counter[str] = Counter()
    for number in range(TRIES):
        chance = random.Random(number)
        Path("mine.jsonl").write_bytes(
            spoiled(jsonl(CUSTOM).encode(), chance, lines_of, jsonl_or_text)
        )
        data = Path("data")
        shutil.rmtree(data, ignore_errors=True)
        with pytest.raises(SystemExit) as ended:
            main(PROCESS)
        met[f"exit {ended.value.code or 0}"] += 1
        assert ended.value.code in (None, 0, 2)
        require_whole_outputs(data)
    seen_enough(met, "exit 0", "exit 2")


def jsonl_or_text(rows: Any) -> str:
    return jsonl(rows) if isinstance(rows, list) else json.dumps(rows)


def require_whole_outputs(data: Path) -> None:
    """No temporary file is left, and what is there is readable to its end."""
    for path in data.rglob("*"):
        assert not path.name.startswith("."), path
        if path.suffix == ".jsonl":
            list(read_problems(path))
        elif path.suffix == ".json":
            json.loads(path.read_text())


# ----------------------------------------------------------------------------------------- checkpoints
@pytest.fixture(scope="module")
def policy(tiny_weights: Path) -> Policy:
    return load_policy(tiny_weights, adapter=AdapterSpec(4, 8), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def learner(policy: Policy) -> Learner:
    """With moments, as after a step."""
    made = Learner(policy, LossOptions(), OptimizerOptions(learning_rate=1e-3))
    for _, parameter in policy.adapter_parameters():
        parameter.grad = parameter.detach().clone()
    made._optimizer.step()
    return made


def test_spoiled_checkpoints(
    tmp_path: Path, tiny_weights: Path, policy: Policy, learner: Learner
) -> None:
    plain, tensors = learner.state()
    state = {"step": 2, "learner": plain, "sampler": {"drawn": 4}, "run_dir": "r", "judges": []}
    root = tmp_path / "root"
    folder = save_checkpoint(root, 2, policy, state=state, tensors=tensors, config={}, keep=3)
    sound = folder_bytes(root)
    met: Counter[str] = Counter()

    def go_on() -> None:
        saved = resumable(root, lambda text: None)
        load_policy(tiny_weights, adapter=saved.folder, device="cpu", dtype="float32")
        learner.load_state(saved.state["learner"], saved.tensors)

    for number in range(TRIES):
        chance = random.Random(number)
        name = chance.choice([file for file in sound if not file.endswith((".md", ".yaml"))])
        readable = name.endswith(".json")
        spoil = spoiled if readable else lambda data, chance, *_: mutated_bytes(data, chance)
        path = root / name
        path.write_bytes(spoil(sound[name], chance, json.loads, json.dumps))
        if chance.random() < 0.8 and path.name != MANIFEST:  # or the digests tell it all
            (folder / MANIFEST).unlink()
        before = folder_bytes(root)
        met[outcome(go_on, ModelError)] += 1
        assert folder_bytes(root) == before
        for file, data in sound.items():
            (root / file).write_bytes(data)
    seen_enough(met, "ok", "ModelError")
    go_on()


# --------------------------------------------------------------------------------- files that are read
KEY = f"{1:064}"


def kept_pool(folder: Path) -> None:
    with closing(Pool(folder)) as pool:
        pool.of("m", {"weights": "w", "prompts": "p", "seed": "0"})
        request = ChatRequest((Message("user", "2+2?"),), max_tokens=16, seed=0)
        for draw in range(3):
            asked = {"model": "m", "request": request.later(draw)}
            pool.put(f"{draw + 1:064}", asked, Outcome(ChatReply("4", "stop", Usage(3, 2))))


def read_pool(folder: Path) -> None:
    with closing(Pool(folder)) as pool:
        pool.get(KEY)
        pool.export(folder / "exported.jsonl")


def kept_judge(folder: Path) -> None:
    folder.mkdir()
    for path in config_file("judge").iterdir():
        if path.suffix != ".safetensors":
            (folder / path.name).write_bytes(path.read_bytes())


def read_judge(folder: Path) -> None:
    read_judge_file(folder)
    known_questions(folder)


def kept_stops(folder: Path) -> None:
    bank = Bank(filled(folder.with_name("learned"), 36))
    ways = single_call_baselines(program_options(load_config("embedded")), ["cot"])
    write_text(folder / "stop.json", learn_table(bank, ways, {}, 0.1, 4, choose=False).table.dump())


def read_bank(folder: Path) -> None:
    Bank.named(folder, "--bank").table()
    grading_version(folder)


CONFIGS: dict[str, Callable[[Path], object]] = {
    "training.yaml": load_config,
    "embedded.yaml": load_config,
    "models.yaml": load_models,
    "dataset.yaml": load_hub_records,
    "aflow_llm.yaml.example": load_endpoints,
}


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


READ: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "configurations": (
        lambda folder: write_all(
            folder, {name: (shipped_dir() / name).read_bytes() for name in CONFIGS}
        ),
        lambda folder: [load(folder / name) for name, load in CONFIGS.items()],
    ),
    "rows": (
        lambda folder: write_problems(folder / "train.jsonl", PROBLEMS),
        lambda folder: list(ProblemFile(folder / "train.jsonl")),
    ),
    "bank": (lambda folder: filled(folder, 4), read_bank),
    "pool": (kept_pool, read_pool),
    "judge": (kept_judge, read_judge),
    "stop": (kept_stops, lambda folder: StopTable.read(folder / "stop.json")),
}


FORMS: dict[str, tuple[Any, Any]] = {
    ".json": (json.loads, json.dumps),
    ".jsonl": (lines_of, jsonl_or_text),
    ".yaml": (yaml.safe_load, yaml.safe_dump),
    ".example": (yaml.safe_load, yaml.safe_dump),
}


@pytest.mark.parametrize("kind", READ)
def test_spoiled_files_that_are_read(tmp_path: Path, kind: str) -> None:
    make, read = READ[kind]
    folder = tmp_path / kind
    make(folder)
    read(folder)
    sound = folder_bytes(folder)
    met: Counter[str] = Counter()
    for number in range(TRIES):
        chance = random.Random(number)
        name = chance.choice([file for file in sound if not file.startswith((".", "exported"))])
        form = FORMS.get(Path(name).suffix)
        spoil = partial(spoiled, read=form[0], write=form[1]) if form else mutated_bytes
        (folder / name).write_bytes(spoil(sound[name], chance))
        met[outcome(partial(read, folder))] += 1
        shutil.rmtree(folder)
        write_all(folder, sound)
    seen_enough(met, "ok")
    assert TRIES < 50 or len(met) > 1


# --------------------------------------------------------------------------------------------- replies
REPLY = {
    "id": "1",
    "choices": [{"message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
}
HEADERS: tuple[dict[str, str | bytes], ...] = (
    {},
    {"retry-after": "nan"},
    {"retry-after": "-3"},
    {"retry-after": "1e400"},
    {"retry-after": "Mon, 01 Jan 0001 00:00:00 -2359"},
    {"retry-after": b"\x80"},
    {"content-type": "text/html; charset=utf-16"},
    {"content-encoding": "gzip"},
)


async def test_spoiled_replies() -> None:
    met: Counter[str] = Counter()
    for number in range(TRIES):
        chance = random.Random(number)
        content = spoiled(json.dumps(REPLY).encode(), chance, json.loads, json.dumps)
        status = chance.choice([200, 200, 200, 200, 204, 301, 400, 401, 418, 429, 500, 599])
        headers = chance.choice(HEADERS)

        def handle(
            request: httpx.Request, made: Any = (status, headers, content)
        ) -> httpx.Response:
            status, headers, content = made
            return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))

        chat = OpenAIChat(
            "m",
            "http://model.test/v1",
            limits=EndpointLimits(timeout_s=5.0, retries=1, backoff_s=0.001),
            transport=httpx.MockTransport(handle),
        )

        async def ask_twice(chat: OpenAIChat = chat) -> None:
            """What was said is asked again: programs do that."""
            first = await chat.chat(ChatRequest((Message("user", "2+2?"),), max_tokens=16))
            await chat.chat(ChatRequest((Message("user", first.text),), max_tokens=16))

        met[await async_outcome(ask_twice)] += 1
        json.dumps(chat.ledger.snapshot()).encode()
        await chat.aclose()
        await asyncio.sleep(0)
    seen_enough(met, "ok", "EndpointError")


async def async_outcome(work: Callable[[], Any]) -> str:
    try:
        await work()
    except LlmAsJudgeError as error:
        return one_line(error)
    return "ok"

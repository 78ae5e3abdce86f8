"""A planted secret is in no file, on no screen and in no sandbox, even where an endpoint repeats it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_as_judge.config import checked_key, load_config, shipped_dir
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError
from llm_as_judge.quoting import without_known_keys
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Problem, RunLimits
from typed_place import ended

KEY = "sk-planted-4f1b9c7e2d"
OTHERS = ("OPENAI_API_KEY", "LLM_AS_JUDGE_API_KEY", "HF_TOKEN", "WANDB_API_KEY")
MARK = "4f1b9c7e2d"


class Echo(BaseHTTPRequestHandler):
    """Every third request fails; whatever is answered repeats the key that was sent, an error at
    the places where messages are cut."""

    protocol_version = "HTTP/1.1"
    heard: int
    met_keys: set[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        sent = str(self.headers["Authorization"])
        type(self).heard += 1
        self.met_keys.add(sent)
        content = f"<answer>{sent}</answer>\n<response>{sent}</response>\n{sent}"
        far = f"{'x' * (180 + self.heard // 3 % 20)} {sent} {'y' * 100}"
        reply: dict[str, Any] = {
            "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 3},
        }
        status = 500 if self.heard % 3 == 0 else 200
        data = json.dumps(reply if status == 200 else {"error": {"message": far}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    Echo.heard, Echo.met_keys = 0, set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.fixture
def place(tmp_path: Path, echo: str, fluent_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys come from the environment alone."""
    monkeypatch.chdir(tmp_path)
    for name in OTHERS:
        monkeypatch.setenv(name, f"{KEY}-{name}")
    monkeypatch.setenv("EXECUTOR_KEY", KEY)
    monkeypatch.setenv("EXECUTOR_URL", echo)
    shutil.copytree(shipped_dir(), tmp_path / "config")
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(tmp_path / "config"))
    models = {"tiny": {"format": "safetensors", "sources": [{"path": str(fluent_weights)}]}}
    (tmp_path / "config" / "models.yaml").write_text(yaml.safe_dump({"models": models}))
    entry = {"base_url": "${EXECUTOR_URL}", "api_key": "${EXECUTOR_KEY}", "no_proxy": True}
    endpoints = yaml.safe_dump({"models": {"echo": entry}})
    (tmp_path / "config" / "aflow_llm.yaml").write_text(endpoints)
    write_problems(
        tmp_path / "train.jsonl",
        [Problem(f"gsm8k/{n}", "gsm8k", "math", f"{n} + 2?", (str(n + 2),)) for n in range(4)],
    )
    return tmp_path


def training(place: Path, retries: int) -> list[str]:
    sets = {
        "policy.name": "tiny",
        "policy.device": "cpu",
        "policy.dtype": "float32",
        "policy.lora_rank": 4,
        "sampling.max_new_tokens": 60,
        "sampling.form": "body",
        "sampling.prompt_style": "short",
        "executor.model": "echo",
        "executor.retries": retries,
        "experience.enabled": "false",
        "judge.model": "none",
        "calls.mode": "record",
        "calls.folder": place / "calls",
        "training.steps": 1,
        "training.problems_per_step": 2,
        "training.samples_per_problem": 2,
        "training.max_failed_fraction": 1.0,
        "data.train_file": place / "train.jsonl",
        "output.checkpoints": place / "checkpoints",
        "output.cache": place / "cache",
    }
    return [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]


@pytest.mark.slow
@pytest.mark.usefixtures("audited")
def test_a_planted_key_is_found_nowhere(
    place: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for run, retries in (("patient", 3), ("hasty", 0)):
        options = [*training(place, retries), "--set", f"output.checkpoints={place / run / 'c'}"]
        ended(["train", "--run-dir", str(place / run / "log"), *options])
    ended(["report", "--run-dir", "patient/log", "--html", "page.html"])
    ended(["report", "--run-dir", "hasty/log"])
    ended(["monitor", "patient/log", "--once"])
    ended(["train", *training(place, 0), "--set", "executor.model=none-such"], 2)
    assert f"Bearer {KEY}" in Echo.met_keys, "the key was never sent: nothing was shown"
    files = [path for path in place.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"rollouts.jsonl", "run.json", "state.json", "page.html", "train.jsonl"} <= names
    assert any(path.parent.name == "calls" for path in files)
    holding = [str(path) for path in files if MARK[:7].encode() in path.read_bytes()]
    assert holding == []
    rollouts = (place / "patient" / "log" / "rollouts.jsonl").read_text()
    assert "Bearer ***" in rollouts, "the reply with the key did not get this far"
    out, err = capfd.readouterr()
    assert MARK[:7] not in out + err + caplog.text


async def test_a_program_in_the_sandbox_finds_no_secret(place: Path) -> None:
    source = (
        "import os\n"
        "def f():\n"
        "    found = [str(dict(os.environ))]\n"
        "    for path in ('/proc/self/environ', '/proc/1/environ', '.env', '/etc/environment'):\n"
        "        try:\n"
        "            found.append(open(path).read())\n"
        "        except Exception as error:\n"
        "            found.append(type(error).__name__)\n"
        "    return ' '.join(found)\n"
    )
    (place / ".env").write_text(f"A_KEY={KEY}\n")
    sandbox = await open_sandbox("auto", max_children=1)
    try:
        result = await sandbox.run_function(source, "f", [], RunLimits())
    finally:
        await sandbox.aclose()
    assert result.status == "ok", result
    assert MARK not in str(result.value)


def test_an_address_that_would_be_written_into_the_run_may_hold_no_password() -> None:
    server = f"sampling.server=http://someone:{KEY}@h:1/v1"
    with pytest.raises(ConfigError, match="holds a password") as raised:
        load_config("embedded", overrides=["sampling.backend=vllm", server])
    assert MARK not in str(raised.value)


def test_a_word_that_is_no_secret_stays_in_a_reply() -> None:
    checked_key("none", "here")
    assert without_known_keys("none of them") == "none of them"
    checked_key(KEY, "here")
    assert without_known_keys(f"I was sent {KEY}") == "I was sent ***"


# ---------------------------------------------------------------------------- files that hold keys
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(shutil.which("git") is None, reason="asks git")
def test_git_ignores_the_files_that_hold_keys_in_any_folder(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    git("init", "--quiet")
    shutil.copy(ROOT / ".gitignore", tmp_path)
    private = {".env", ".env.local", "mine/.env", "aflow_llm.yaml"}
    private |= {"config/aflow_llm.yaml", "my_config/aflow_llm.yaml", "a/b/config/aflow_llm.yaml"}
    shared = {".env.example", "config/aflow_llm.yaml.example", "mine/aflow_llm.yaml.example"}
    assert set(git("check-ignore", *private, *shared).split()) == private


def test_a_wheel_takes_along_all_configuration_but_the_file_that_holds_keys() -> None:
    """Names one by one: hatch includes a whole folder by force, ignored files too."""
    settings = (ROOT / "pyproject.toml").read_text()
    taken = dict(
        re.findall(r'^"config/?([^"]*)" = "llm_as_judge/_config/?([^"]*)"$', settings, re.M)
    )
    assert taken == {
        path.name: path.name
        for path in (ROOT / "config").iterdir()
        if path.name != "aflow_llm.yaml" and not path.name.startswith(".")
    }

"""An adapter for others: loaded by PEFT alone, without a path of this machine, and pushed to the hub."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from adapter_checkpoints import checkpoint, logits, told_of, trained
from llm_as_judge.assembly import PromptRecord
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError, ModelError, OutputError
from llm_as_judge.evaluation.systems import check_base_model
from llm_as_judge.export.adapter import export_adapter, push_token, without_paths
from llm_as_judge.export.card import model_card
from llm_as_judge.policy.checkpoint import load_state
from llm_as_judge.policy.model import load_policy
from typed_place import ended

LOAD = """
import sys, torch
from peft import AutoPeftModelForCausalLM
from safetensors.torch import save_file
found = {}
for number, folder in enumerate(sys.argv[2:]):
    model = AutoPeftModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        found[str(number)] = model(input_ids=torch.tensor([[3, 5, 8, 13, 21]])).logits
save_file(found, sys.argv[1])
assert "llm_as_judge" not in sys.modules
"""


def exported(folder: Path, out: Path) -> Path:
    export_adapter(folder, out, model_card(folder, {}, merged=False)[1]["README.md"])
    return out


@pytest.fixture
def snapshot(tiny_weights: Path, tmp_path: Path) -> Path:
    """The base model as the hub's cache has it, under the id ``acme/tiny-base``."""
    repository = tmp_path / "hub" / "models--acme--tiny-base"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    folder = repository / "snapshots" / "c0ffee"
    shutil.copytree(tiny_weights, folder)
    return folder


@pytest.mark.slow
def test_peft_alone_loads_checkpoint_and_export_from_another_folder(
    snapshot: Path, tmp_path: Path
) -> None:
    policy = trained(snapshot)
    saved = checkpoint(tmp_path / "own", policy, str(snapshot))
    out = exported(saved, tmp_path / "others" / "adapter")
    # a base that no hub has is found by its plain name, where its folder lies
    shutil.copytree(snapshot, tmp_path / "mine")
    local = checkpoint(tmp_path / "local", trained(tmp_path / "mine"), str(tmp_path / "mine"))
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(snapshot, elsewhere / "mine")
    folders = [saved, out, exported(local, tmp_path / "others" / "local")]
    shutil.rmtree(tmp_path / "mine")
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "logits"), *map(str, folders)],
        cwd=elsewhere,
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = logits(policy.model)
    with policy.model.disable_adapter():
        assert not torch.allclose(logits(policy.model), wanted, atol=1e-2)
    found = load_file(tmp_path / "logits")
    assert len(found) == len(folders)
    # an export is rounded to half precision
    for n, one in enumerate(found.values()):
        assert torch.allclose(one, wanted, atol=1e-2 if n else 1e-5)


def test_no_file_of_an_exported_adapter_holds_a_path_of_this_machine(
    snapshot: Path, tmp_path: Path
) -> None:
    saved = checkpoint(tmp_path / "own", trained(snapshot), str(snapshot))
    told = json.loads((saved / "adapter_config.json").read_text())
    assert told["base_model_name_or_path"] == "acme/tiny-base"
    assert str(tmp_path) not in (saved / "adapter_config.json").read_text()
    out = exported(saved, tmp_path / "out")
    for file in ("adapter_config.json", "README.md", "config.yaml", "state.json"):
        assert str(tmp_path) not in (out / file).read_text(), file
    card = (out / "README.md").read_text()
    assert yaml.safe_load(card.split("---")[1])["base_model"] == "acme/tiny-base"
    assert "vllm serve acme/tiny-base --enable-lora --max-lora-rank 64" in card
    assert (
        "llm-as-judge serve --config FOLDER/config.yaml --policy FOLDER --executor openai:" in card
    )
    nested = {"a": ["/x/y.gguf", "x/y", 3], "b": None}
    assert without_paths(nested) == {"a": ["y", "x/y", 3], "b": None}


def test_an_exported_adapter_is_the_checkpoints_without_what_only_training_needs(
    tiny_weights: Path, tmp_path: Path
) -> None:
    policy = trained(tiny_weights, "tiny")
    folder = checkpoint(tmp_path / "own", policy)
    out = tmp_path / "others" / "adapter"
    export_adapter(folder, out, "card")
    assert {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()} == {
        *("README.md", "adapter_config.json", "adapter_model.safetensors", "config.yaml"),
        *("experience/entries.jsonl", "manifest.json", "state.json"),
    }
    assert json.loads((out / "state.json").read_text()) == {
        "base_model": "tiny",
        "step": 7,
        "judges": [],
    }
    loaded = load_policy(tiny_weights, adapter=out, device="cpu", dtype="float32").adapter_state()
    halves = {name: value.half().float() for name, value in policy.adapter_state().items()}
    assert all(torch.equal(loaded[name], value) for name, value in halves.items())
    with pytest.raises(ModelError, match=r"exported adapter, without optimizer.*its own run"):
        load_state(out)
    with pytest.raises(OutputError, match="is there already"):
        export_adapter(folder, out, "card")
    (folder / "adapter_model.safetensors").write_bytes(b"changed")
    with pytest.raises(ModelError, match="has changed since"):
        export_adapter(folder, tmp_path / "damaged", "card")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["others", "own"]


def test_an_exported_adapter_takes_half_the_room_and_keeps_what_half_precision_cannot_hold(
    tiny_weights: Path, tmp_path: Path
) -> None:
    policy = trained(tiny_weights, "tiny")
    _, parameter = next(iter(policy.adapter_parameters()))
    with torch.no_grad():
        parameter.view(-1)[0] = 1e6
    folder = checkpoint(tmp_path / "own", policy)
    out = exported(folder, tmp_path / "out")
    kept, half = (load_file(f / "adapter_model.safetensors") for f in (folder, out))
    odd = {one for one in half if half[one].dtype == torch.float32}
    assert len(odd) == 1
    assert all(torch.equal(half[one], kept[one]) for one in odd)
    assert {half[one].dtype for one in half if one not in odd} == {torch.float16}
    sizes = [(f / "adapter_model.safetensors").stat().st_size for f in (folder, out)]
    assert sizes[1] < 0.7 * sizes[0]


def test_an_exported_adapter_keeps_its_prompt_and_the_card_names_it(
    tiny_weights: Path, tmp_path: Path
) -> None:
    record = PromptRecord.of(load_config("embedded")).model_dump(mode="json")
    saved = checkpoint(tmp_path / "own", trained(tiny_weights), prompt=record)
    out = exported(saved, tmp_path / "out")
    assert json.loads((out / "state.json").read_text())["prompt"] == record
    assert (
        "| form of programs, style of the prompt | class, full |" in (out / "README.md").read_text()
    )


def test_what_has_no_adapter_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a checkpoint of a run"):
        export_adapter(tmp_path, tmp_path / "out", "card")


def test_an_exported_adapter_fits_its_base_wherever_that_lies(
    tiny_weights: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here" / "mine"
    saved = checkpoint(tmp_path / "own", trained(tiny_weights), str(here))
    out = exported(saved, tmp_path / "out")
    check_base_model(out, "/elsewhere/mine")
    with pytest.raises(ModelError, match="the policy is /elsewhere/other"):
        check_base_model(out, "/elsewhere/other")
    with pytest.raises(
        ModelError, match="the policy is /elsewhere/mine"
    ):  # a checkpoint: this machine's
        check_base_model(saved, "/elsewhere/mine")


@pytest.mark.parametrize(
    ("told", "datasets", "words"),
    [
        ({"origin": "hub", "where": "openai/gsm8k@c0"}, ["openai/gsm8k"], "openai/gsm8k@c0"),
        ({"origin": "source", "where": ""}, ["openai/gsm8k"], "upstream files"),
        ({"origin": "sample", "where": ""}, None, "built-in sample"),
        (None, None, "not recorded; configured: gsm8k, "),
    ],
    ids=["hub", "upstream files", "rows of its form are not the set", "an older checkpoint"],
)
def test_the_card_names_the_sets_that_were_trained_on(
    tmp_path: Path,
    told: dict[str, str] | None,
    datasets: list[str] | None,
    words: str,
) -> None:
    own = {"problems": 40, "origin": "own", "where": ""}
    data: dict[str, Any] = (
        {"data": {"gsm8k": {"problems": 12, **told}, "invoices": own}} if told else {}
    )
    card = model_card(told_of(tmp_path, **data), {}, merged=False)[1]["README.md"]
    assert yaml.safe_load(card.split("---")[1]).get("datasets") == datasets
    said = f"gsm8k (12 problems, {words}), invoices (40 problems, own rows) |" if told else words
    assert f"| data sets | {said}" in card


def test_the_card_says_how_weights_that_are_gguf_alone_become_safetensors(tmp_path: Path) -> None:
    known = told_of(tmp_path / "a", "qwen25-coder-0.5b")
    card = model_card(known, {}, merged=False)[1]["README.md"]
    assert yaml.safe_load(card.split("---")[1])["base_model"] == "Qwen/Qwen2.5-Coder-0.5B-Instruct"
    assert "export model qwen25-coder-0.5b --out qwen25-coder-0.5b-base" in card
    assert "vllm serve qwen25-coder-0.5b-base --enable-lora" in card
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    own = told_of(tmp_path / "b", str(tmp_path / "mine.gguf"))
    card = model_card(own, {}, merged=False)[1]["README.md"]
    assert "base_model" not in yaml.safe_load(card.split("---")[1])
    assert "export model mine --out mine" in card
    assert str(tmp_path) not in card


# -------------------------------------------------------------------------------------------- push
class Hub(BaseHTTPRequestHandler):
    """As much of the hub as an upload asks: files come inside the commit."""

    repositories: list[dict[str, Any]]
    files: dict[str, bytes]
    tokens: set[str | None]

    def _reply(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self._reply({})

    def do_GET(self) -> None:
        self._reply({"error": "Repository not found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.tokens.add(self.headers.get("Authorization"))
        if "read_only" in str(self.headers.get("Authorization")):
            self._reply({"error": "this token may not write"}, 403)
        elif self.path == "/api/repos/create":
            self.repositories.append(json.loads(body))
            self._reply({"url": f"http://{self.headers['Host']}/acme/adapter"})
        elif self.path.endswith("/preupload/main"):
            asked = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in asked]
            self._reply({"files": modes})
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.files[line["value"]["path"]] = content
            url = f"http://{self.headers['Host']}/acme/adapter/commit/c0"
            self._reply({"success": True, "commitOid": "c0", "commitUrl": url})
        else:
            self._reply({"errors": [], "warnings": []})

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    Hub.repositories, Hub.files, Hub.tokens = [], {}, set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield Hub
        server.shutdown()


def test_push_uploads_the_adapter_and_its_card(
    hub: type[Hub],
    tiny_weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_TOKEN", "a_write_token")
    monkeypatch.chdir(tmp_path)
    saved = checkpoint(tmp_path / "own", trained(tiny_weights))
    ended(["export", "adapter", str(saved), "--push", "acme/adapter"])
    assert [(r["organization"], r["name"]) for r in hub.repositories] == [("acme", "adapter")]
    assert hub.files == {
        p.relative_to("adapter").as_posix(): p.read_bytes()
        for p in Path("adapter").rglob("*")
        if p.is_file()
    }
    assert hub.tokens == {"Bearer a_write_token"}
    assert "pushed   " in capsys.readouterr().out
    monkeypatch.setenv("HF_TOKEN", "read_only")
    ended(["export", "adapter", str(saved), "--push", "acme/adapter", "--out", "second"], 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --push acme/adapter: ")
    assert line.endswith("hf upload acme/adapter second")
    assert (tmp_path / "second" / "adapter_config.json").is_file()


def test_push_without_token_or_name_writes_nothing_and_without_network_the_adapter(
    hub: type[Hub],
    tiny_weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = checkpoint(tmp_path / "own", trained(tiny_weights))
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)  # whatever this machine has
    with pytest.raises(ConfigError, match="no token; run: hf auth login"):
        push_token("acme/adapter")
    with pytest.raises(ConfigError, match="wanted a repository's id OWNER/NAME"):
        push_token("adapter")
    ended(["export", "adapter", str(saved), "--push", "acme/adapter"], 2)
    assert not Path("adapter").exists()
    capsys.readouterr()
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "a_write_token")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ended(["export", "adapter", str(saved), "--push", "acme/adapter"], 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert "http://127.0.0.1:9 not reachable" in line
    assert line.endswith("hf upload acme/adapter adapter")
    assert Path("adapter/adapter_config.json").is_file()
    assert hub.repositories == []

"""A folder in which the documents' commands can be typed as they stand.

It looks like a checkout, with data, runs, checkpoints and results as the commands before would have
left them. What a document leaves to the reader (RUN, MODEL, FILE.py ...) is there under that name.
The configuration is the shipped one, made small; its models are the tests' weights, its endpoints a
server of this process.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from documented import ROOT, blocks
from llm_as_judge.cli import main
from llm_as_judge.data.files import read_problems
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import ChatRequest, Message

_LINKED = (
    *("scripts", "examples", "workflows", "benchmarks", "recipes", "src", "train.py"),
    *("monitor_training.py", "analyze_by_domain.py", "launch_vllm.sh", "requirements.txt"),
)
_SMALL: dict[str, Any] = {
    "policy": {"device": "cpu", "dtype": "float32", "lora_rank": 4, "lora_alpha": 8},
    "sampling": {
        "temperature": 1.0,
        "max_new_tokens": 60,
        "form": "body",
        "prompt_style": "short",
        "examples": False,
    },
    "executor": {"temperature": 0.7},
    "judge": {"model": "none"},
    "training": {
        "steps": 2,
        "problems_per_step": 3,
        "samples_per_problem": 2,
        "learning_rate": 1e-3,
        "save_every": 1,
    },
    "data": {"source": "DIR", "limit_per_set": 24, "val_fraction": 0.2},
    "evaluation": {"limit_per_set": 2},
}
BEFORE = (
    "llm-as-judge data download",
    "llm-as-judge data process",
    "llm-as-judge train",
    "llm-as-judge train --config embedded --steps 1",
    "llm-as-judge evaluate",
    "llm-as-judge evaluate --untrained",
    "llm-as-judge evaluate --policy direct",
    "llm-as-judge evaluate --policy cot",
    "llm-as-judge evaluate --config embedded --policy direct",
    "llm-as-judge evaluate --config embedded",
)
"""What is typed in the place before any document."""
_ENDPOINTS = ("gpt-oss-120b", "NAME")
_PROGRAM = 'answer = await answer_generate(input=problem)\nreturn answer["answer"]\n'
_ROWS = tuple(
    {"problem": f"What is {n} * 7?", "answer": str(7 * n), "type": "math"} for n in range(8)
)
_GRADED = {"id": "1", "domain": "math", "question": "6*7?", "reference": "42", "candidate": "42"}


def prepare(place: Path, weights: Path, encoder: Path, audits: Path, url: str) -> None:
    """Fill the empty folder ``place``, which is the working folder.

    Args:
        audits: folder of the reports of audits, which `train` looks into and adds to.
        weights: safetensors folder of the policies.
        encoder: safetensors folder of the sentence model.
        url: of the endpoint of executor and judge.
    """
    for name in _LINKED:
        (place / name).symlink_to(ROOT / name)
    write_config(place / "config", weights, encoder, url)
    _write_upstream(place / "DIR")
    _write_files(place)
    (place / "FOLDER").symlink_to(weights)
    (place / "results").mkdir()
    (place / "results" / "audit").symlink_to(audits)
    for typed in BEFORE:
        ended(typed.split()[1:])
    (run,) = place.glob("logs/train_qwen25-7b_*/")
    for name in ("RUN", "train_MODEL_TIME", "train_NAME"):
        shutil.copytree(run, place / "logs" / name)
    for model, step in (("qwen25-7b", "step_100"), ("qwen25-coder-0.5b", "step_30")):
        newest = max((place / "checkpoints" / model / "grpo_mixed").glob("step_*"))
        home = model if step == "step_30" else "MODEL"
        shutil.copytree(newest, place / "checkpoints" / home / "grpo_mixed" / step)
    results = place / "results" / "evaluation"
    for name in ("a", "b"):
        shutil.copy(results / "qwen25-7b_results.json", place / f"{name}_results.json")
    shutil.copy(next(place.glob("results/audit/*.json")), place / "audit.json")


class Knowing:
    """Replies in the form that an operator wants; to questions of the data, the right ones."""

    def __init__(self, *files: Path) -> None:
        self._files = files

    def __call__(self, asked: str) -> str:
        reply = rehearsed_reply(ChatRequest((Message("user", asked),), max_tokens=1))
        gold = next((gold for text, gold in self._golds.items() if text in asked), None)
        return reply if gold is None else re.sub(r"(?<=Answer: ).*", lambda _: gold, reply)

    @cached_property
    def _golds(self) -> dict[str, str]:
        problems = (problem for path in self._files for problem in read_problems(path))
        return {p.question: p.answers[0] for p in problems if p.answers}


def ended(arguments: list[str], wanted: int = 0) -> None:
    """Call a verb in this process, as the console script does, and see how it ends."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == wanted


def write_config(folder: Path, weights: Path, encoder: Path, url: str) -> None:
    """The shipped configuration, made small, and my.yaml in the working folder; as :func:`prepare`."""
    shutil.copytree(ROOT / "config", folder, ignore=shutil.ignore_patterns("aflow_llm.yaml"))
    for profile in ("training", "embedded"):
        path = folder / f"{profile}.yaml"
        shipped = yaml.safe_load(path.read_text(encoding="utf-8"))
        kept = {key: value for key, value in shipped.items() if key.endswith("_model")}
        policy = {k: v for k, v in shipped.get("policy", {}).items() if k == "name"}
        small = {**_SMALL, "policy": {**_SMALL["policy"], **policy}}
        path.write_text(yaml.safe_dump({**kept, **small}), encoding="utf-8")
    shutil.copy(folder / "training.yaml", "my.yaml")
    path = folder / "models.yaml"
    models = yaml.safe_load(path.read_text(encoding="utf-8"))["models"]
    for name, entry in models.items():
        if entry["format"] == "safetensors" or name == "qwen25-coder-0.5b":
            own = encoder if name == "all-minilm-l6-v2" else weights
            hubs = [source for source in entry["sources"] if "hub" in source]
            models[name] = {"format": "safetensors", "sources": [{"path": str(own)}, *hubs]}
    models["NAME"] = {"format": "safetensors", "sources": [{"path": str(weights)}]}
    path.write_text(yaml.safe_dump({"models": models}), encoding="utf-8")
    endpoint = {"base_url": url, "api_key": "none", "model_name": "m", "no_proxy": "127.0.0.1"}
    endpoints = {"models": dict.fromkeys(_ENDPOINTS, endpoint)}
    (folder / "aflow_llm.yaml").write_text(yaml.safe_dump(endpoints), encoding="utf-8")


def _write_upstream(folder: Path) -> None:
    """Upstream files: the built-in sample, and a few functions in HumanEval's form."""
    shutil.copytree(ROOT / "src/llm_as_judge/data/sample", folder)
    rows = (
        {
            "task_id": f"HumanEval/{n}",
            "prompt": f'def add_{n}(x):\n    """\n    x plus {n}.\n\n    >>> add_{n}(1)\n    {n + 1}\n    """\n',
            "canonical_solution": f"    return x + {n}\n",
            "test": f"def check(candidate):\n    assert candidate(2) == {n + 2}\n",
            "entry_point": f"add_{n}",
        }
        for n in range(12)
    )
    (folder / "humaneval").mkdir()
    with gzip.open(folder / "humaneval" / "HumanEval.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def _write_files(place: Path) -> None:
    (place / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _ROWS))
    rows, *_ = (b.text for b in blocks(ROOT / "docs" / "grading.md") if b.kind == "jsonl")
    (place / "rows.jsonl").write_text(rows)
    for name in ("FILE", "labeled.jsonl", "others.jsonl"):
        (place / name).write_text(json.dumps({**_GRADED, "correct": True}) + "\n")
    (place / "my_module.py").write_text('"""A plugin that adds nothing."""\n', encoding="utf-8")
    program = shutil.copy(ROOT / "workflows" / "direct" / "math.py", place / "FILE.py")
    shutil.copy(program, place / "my_workflow.py")
    (place / "q.txt").write_text("What is 17 * 3?")
    (place / "bin").mkdir()
    vllm = place / "bin" / "vllm"  # says how it was called
    vllm.write_text('#!/bin/sh\necho "vllm $@"\n')
    vllm.chmod(0o755)

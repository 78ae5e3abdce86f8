"""llm-as-judge.yaml of a task of one's own, as ``init`` writes it, and read back where nobody has edited it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from llm_as_judge.config.endpoints import Endpoint
from llm_as_judge.config.providers import provider_of

KEY_VARIABLE = "OPENAI_API_KEY"
HOSTED_TOKENS = 2048
"""Tokens of a reply at most: the full-size default, since a profile's limit may be a small model's."""
LOCAL_TOKENS = 512
"""The same on this machine: at the shipped sets' 160, six of seven chains of thought of a 0.5B were cut off."""


@dataclass(frozen=True, slots=True)
class OwnTask:
    """What ``init`` was told and found."""

    rows: Path
    profile: str
    """Shipped profile below the file."""
    sets: Sequence[str]
    executor: str
    """Name of a model; of ``endpoint``, where there is one."""
    policy: str
    """Base model."""
    endpoint: Endpoint | None = None
    data_dir: Path = Path("data")
    answers: Sequence[tuple[str, str]] = ()
    """Sets that no tests grade, each with the kinds that its answers are read as: ``11 money, 1 number``."""
    documents: Path | None = None
    """Folder whose passages questions without any get."""


def own_file_text(task: OwnTask) -> str:
    """Commented YAML. Keys of endpoints are never in it: it names the variable that holds them."""
    lines = [
        f"# Own task {_comment(task.rows.name)}. Every command in this folder reads this file, unless",
        "# it says --config. docs/configuration.md lists all keys.",
        f"profile: {task.profile}  # the shipped profile below this file",
        "data:",
        "  sets: []  # no shipped sets beside your own",
    ]
    if task.data_dir != Path("data"):
        lines += [
            f"  data_dir: {_text(str(task.data_dir))}",
            f"  train_file: {_text(str(task.data_dir / 'mixed' / 'train_mixed.jsonl'))}",
            f"  val_file: {_text(str(task.data_dir / 'mixed' / 'val_mixed.jsonl'))}",
        ]
    if task.documents is not None:
        lines.append(
            f"  documents: {_text(str(task.documents))}  # questions without a passage get some of these"
        )
    if task.answers:
        lines.append("  answers:  # how they are compared; docs/DATA.md lists the keys")
        lines += [f"    {_text(name)}: {{}}  # read as {kinds}" for name, kinds in task.answers]
    lines += [
        "evaluation:",
        f"  sets: [{', '.join(map(_text, task.sets))}]",
        "  limit_per_set: all",
    ]
    lines += ["policy:", f"  name: {_text(task.policy)}  # the model that learns"]
    lines += ["executor:", f"  model: {_text(task.executor)}"]
    hosted = task.endpoint is not None or provider_of(task.executor)
    most = HOSTED_TOKENS if hosted else LOCAL_TOKENS
    lines.append(f"  max_tokens: {most}  # of one reply; a longer one is cut off")
    lines += [
        "judge:",
        "  kind: rules  # no judge: a short answer among other words stays open, another short text is wrong,",
        "  # another long text stays open",
        "  # kind: scoring with model: none: the shipped judge reads all three (docs/judge.md)",
        "  # kind: llm with model: openai:MODEL@URL: a model reads all three",
    ]
    if task.endpoint is not None:
        lines += _endpoint_lines(task.executor, task.endpoint)
    return "\n".join(lines) + "\n"


_READ_AS = re.compile(r"""^    ("(?:[^"\\]|\\.)*"): \{\}  # read as (.*)$""", re.MULTILINE)


def unedited_task(text: str) -> OwnTask | None:
    """What ``init`` was told when it wrote ``text``; None where it would write another one, byte for byte."""
    try:
        said = yaml.safe_load(text)
        executor = str(said["executor"]["model"])
        entry = said.get("endpoints", {}).get(executor)
        task = OwnTask(
            Path(text.partition("# Own task ")[2].partition(". Every command ")[0]),
            str(said["profile"]),
            [str(name) for name in said["evaluation"]["sets"]],
            executor,
            str(said["policy"]["name"]),
            Endpoint(base_url=entry["base_url"], model_name=entry["model_name"]) if entry else None,
            Path(said["data"].get("data_dir", "data")),
            [(json.loads(name), kinds) for name, kinds in _READ_AS.findall(text)],
            Path(said["data"]["documents"]) if "documents" in said["data"] else None,
        )
        return task if own_file_text(task) == text else None
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _endpoint_lines(name: str, endpoint: Endpoint) -> list[str]:
    return [
        "endpoints:  # docs/configuration.md#endpoints lists their keys",
        f"  {_text(name)}:",
        f"    base_url: {_text(endpoint.base_url)}",
        f"    model_name: {_text(endpoint.model_name or name)}",
        f'    api_key: "${{{KEY_VARIABLE}:-}}"  # read from this variable, or from .env',
        "    # usd_per_million_prompt_tokens: 0.10      # with both prices, dollars are",
        "    # usd_per_million_completion_tokens: 0.50  # estimated and counted",
    ]


def _text(value: str) -> str:
    """A JSON text is a YAML text, whatever it holds."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> str:
    return text if text.isprintable() else repr(text)

"""The record of one run: a folder of plain files.

    config.yaml     the resolved configuration
    run.json        versions, hashes of the data, isolation, what judge and executor were used
    metrics.jsonl   one line a step; nothing that depends on a clock
    timings.jsonl   one line a step: seconds by stage, and what the endpoints were paid
    rollouts.jsonl  one line a rollout: everything but its clock times
    pending.jsonl   rollouts of the steps that are not yet in rollouts.jsonl
    ledger.json     calls, attempts, tokens, dollars of the run: all, by role, operator, try
    ledger.jsonl    the same sums by rollout; lines of one rollout add up, and so do its problem's
    train.log       what the terminal said

Numbers that come from a clock, or from retries, are kept apart so that a run with a scripted model
is the same byte for byte when repeated. Every line is flushed: a killed run keeps all finished steps and rollouts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from llm_as_judge.errors import DataError
from llm_as_judge.files import output_errors, read_json, write_text
from llm_as_judge.jsonl import JsonLines, is_whole
from llm_as_judge.quoting import quoted
from llm_as_judge.renamed import with_new_names
from llm_as_judge.runs.sinks import Sink
from llm_as_judge.types import Group, Rollout, from_json, to_json

METRICS, TIMINGS, ROLLOUTS = "metrics.jsonl", "timings.jsonl", "rollouts.jsonl"
PENDING = "pending.jsonl"
LEDGER, BILLS = "ledger.json", "ledger.jsonl"
_TIMED = ("time/", "ledger/", "workers/")


class RunLog:
    """Writes one run's folder."""

    def __init__(self, folder: Path, sinks: Sequence[Sink] = ()) -> None:
        """
        Args:
            sinks: get the numbers of each step too, once they are in the folder.
        Raises:
            OutputError: the folder cannot be made or written.
        """
        self.folder = folder
        self._sinks = sinks
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def write_config(self, config: Mapping[str, Any]) -> None:
        write_text(self.folder / "config.yaml", yaml.safe_dump(dict(config), sort_keys=False))

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        write_text(self.folder / "run.json", json.dumps(facts, indent=2, sort_keys=True) + "\n")

    def step(
        self, step: int, metrics: Mapping[str, float], warnings: Mapping[str, str] | None = None
    ) -> None:
        """Append one step; keys of ``_TIMED`` go to timings.jsonl, ``warnings`` (name -> message)
        beside the metrics where there are any."""
        timed = {k: v for k, v in metrics.items() if k.startswith(_TIMED)}
        counted = {k: v for k, v in metrics.items() if k not in timed}
        said = {"warnings": dict(warnings)} if warnings else {}
        self._append(METRICS, {"step": step, **dict(sorted(counted.items())), **said})
        self._append(TIMINGS, {"step": step, **dict(sorted(timed.items()))})
        for sink in self._sinks:
            sink.log(step, {**counted, **timed})

    def groups(self, step: int, groups: list[Group]) -> None:
        """Append every rollout of ``groups``, what depends on a clock set to 0."""
        for number, group in enumerate(groups):
            for rollout in group.rollouts:
                line = {
                    "step": step,
                    "group": number,
                    "dataset": group.problem.dataset,
                    "domain": group.problem.domain,
                    "prompt": to_json(group.prompt),
                    "rollout": _without_clock(to_json(rollout)),
                }
                self._append(ROLLOUTS, line)

    def bills(
        self, ledger: Mapping[str, Any], rollouts: Mapping[str, Mapping[str, Any]], step: int
    ) -> None:
        """Write what the run has used so far, and append what rollouts used since the last time.

        Args:
            rollouts: sums by rollout (``PROBLEM_ID#INDEX``). Paid is paid: :meth:`cut_after`
                leaves these lines.
        """
        write_text(self.folder / LEDGER, json.dumps(ledger, indent=2, sort_keys=True) + "\n")
        for name, sums in rollouts.items():
            problem = name.rpartition("#")[0]
            self._append(BILLS, {"step": step, "problem": problem, "rollout": name, **sums})

    def steps(self) -> list[dict[str, Any]]:
        """Metrics of the steps so far, in order.

        Raises:
            DataError: the file is broken (``file:line``).
        """
        return list(_read_metrics(self.folder / METRICS, missing_ok=True))

    def config(self) -> dict[str, Any]:
        """What :meth:`write_config` wrote; empty if there is none.

        Raises:
            DataError: the file is broken.
        """
        path = self.folder / "config.yaml"
        if not path.is_file():
            return {}
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
        return data if isinstance(data, dict) else {}

    def ledger(self) -> dict[str, Any] | None:
        """What :meth:`bills` wrote last; None if there is none yet.

        Raises:
            DataError: the file is broken.
        """
        path = self.folder / LEDGER
        if not path.is_file():
            return None
        try:
            data = read_json(path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read as JSON: {error}") from None
        if not isinstance(data, dict):
            raise DataError(f"{path}: found {type(data).__name__}, wanted an object of sums")
        return data

    def cut_after(self, step: int) -> None:
        """Drop what a killed run had written of later steps: the resumed run writes it anew.

        Raises:
            DataError: a line is not a row of a run (``file:line``).
        """
        for name in (METRICS, TIMINGS, ROLLOUTS):
            file = JsonLines(self.folder / name)
            if file.path.is_file():
                kept = [row for row in file.rows("step") if row["step"] <= step]
                write_text(file.path, "".join(json.dumps(row) + "\n" for row in kept))

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        JsonLines(self.folder / name).append(row)


def _without_clock(data: Any) -> Any:
    """Seconds, and which of a group's equal calls came first and was paid, are matters of timing;
    timings.jsonl and the ledger have them."""
    if isinstance(data, dict):
        timed = {"seconds": 0.0, "cached": 0}
        return {k: timed[k] if k in timed else _without_clock(v) for k, v in data.items()}
    if isinstance(data, list):
        return [_without_clock(item) for item in data]
    return data


# --------------------------------------------------------------------------------------- reading
def read_steps(folder: Path) -> list[dict[str, Any]]:
    """Metrics and timings of a run by step, in order.

    Raises:
        DataError: a file is missing or broken (``file:line``).
    """
    if not (folder / METRICS).is_file() and (folder / ROLLOUTS).is_file():
        raise DataError(
            f"{folder}: its rollouts are there and {METRICS} is not; what they alone can tell: python "
            f"analyze_by_domain.py {folder}"
        )
    steps = {row["step"]: row for row in _read_metrics(folder / METRICS)}
    for row in _read_metrics(folder / TIMINGS, missing_ok=True):
        steps.get(row["step"], {}).update(row)
    return [steps[number] for number in sorted(steps)]


def _read_metrics(path: Path, *, missing_ok: bool = False) -> Iterator[dict[str, Any]]:
    """Rows of metrics.jsonl or timings.jsonl, under the names of now; all but the warnings are numbers."""
    rows = JsonLines(path).rows("step", missing_ok=missing_ok)
    for number, row in enumerate(map(with_new_names, rows), start=1):
        for key, value in row.items():
            if key != "warnings" and not is_number(value):
                found = quoted(json.dumps(value), 40)
                raise DataError(f"{path}:{number}: {quoted(key)}: found {found}, wanted a number")
        yield row


def is_number(value: object) -> bool:
    """Whether a figure can be made of it: no truth value, no whole number beyond what is counted with."""
    return isinstance(value, float) or (isinstance(value, int) and is_whole(value))


def read_rollouts(folder: Path) -> Iterator[tuple[int, str, Rollout]]:
    """(step, domain, Rollout) of every line of rollouts.jsonl.

    Raises:
        DataError: the file is missing or broken (``file:line``).
    """
    path = folder / ROLLOUTS
    for number, row in enumerate(JsonLines(path).rows("step"), start=1):
        try:
            rollout: Rollout = from_json(Rollout, row["rollout"])
            yield row["step"], str(row["domain"]), rollout
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}:{number}: not a rollout: {error}") from None


def is_used(folder: Path) -> bool:
    """Whether a run has written steps or rollouts there."""
    return any((folder / name).is_file() for name in (METRICS, ROLLOUTS, PENDING))


def newest_run(logs: Path) -> Path:
    """The run folder under ``logs`` that was written to last.

    Raises:
        DataError: there is none.
    """
    written = [path for name in (METRICS, "run.json") for path in logs.glob(f"*/{name}")]
    if not written:
        raise DataError(f"{logs}: no run found (no */{METRICS}); run: llm-as-judge train")
    return max(written, key=lambda path: path.stat().st_mtime).parent

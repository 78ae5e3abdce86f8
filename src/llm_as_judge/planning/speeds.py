"""The speeds of the machine that a run was made on, instead of assumed ones: plans for more like it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_as_judge.errors import DataError
from llm_as_judge.monitoring.runlog import LEDGER, read_steps
from llm_as_judge.planning.costs import Costs, Source

__all__ = ["measured_speeds", "rollouts_an_hour"]


def measured_speeds(folder: Path, costs: Costs) -> Costs:
    """``costs`` with what the run's clock says of sampling, update and replies.

    A reply's seconds are those of its requests, waiting for the server included and its prompt's
    reading too, which then costs nothing beside. What several processes or replicas did together
    counts as one GPU.

    Raises:
        DataError: no run, or its clock times are missing, or no machine's.
    """
    steps = read_steps(folder)

    def total(name: str) -> float:
        return float(sum(row.get(name, 0.0) for row in steps))

    written = sum(row.get("rollout/program_tokens", 0.0) * row["rollout/count"] for row in steps)
    paid = _paid(folder)
    measured = {
        "sampling_tokens_s": _speed(written, total("time/sample_s")),
        "update_tokens_s": _speed(total("update/row_tokens"), total("time/update_s")),
        "executor_stream_tokens_s": _speed(paid["completion_tokens"], paid["seconds"]),
    }
    if lacking := [name for name, speed in measured.items() if not speed]:
        raise DataError(
            f"{folder}: its files do not tell {lacking[0]}; give --cost {lacking[0]}=..."
        )
    measured["sampling_stream_tokens_s"] = measured["sampling_tokens_s"]
    measured["executor_tokens_s"] = max(
        costs.executor_tokens_s, measured["executor_stream_tokens_s"]
    )
    measured["executor_prefill_tokens_s"] = 1e9
    for name, bounds in Costs.bounds().items():
        if name in measured and not bounds.hold(measured[name]):
            raise DataError(
                f"{folder}: its files make {name} {measured[name]:g}, wanted {bounds}; "
                "plan without --speeds"
            )
    sources: dict[str, Source] = dict.fromkeys(measured, "measured")
    del sources["executor_tokens_s"]
    values: dict[str, Any] = measured
    return replace(costs, **values, sources={**costs.sources, **sources})


def rollouts_an_hour(folder: Path) -> float:
    """What the run itself came to, by the length of its steps; 0: its files do not tell."""
    steps = read_steps(folder)
    seconds = sum(row.get("time/step_s", 0.0) for row in steps)
    return 3600.0 * _speed(sum(row.get("rollout/count", 0.0) for row in steps), seconds)


def _speed(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def _paid(folder: Path) -> Mapping[str, float]:
    path = folder / LEDGER
    try:
        total = json.loads(path.read_text(encoding="utf-8"))["total"]
        return {name: float(total[name]) for name in ("completion_tokens", "seconds")}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: no ledger of a run; give the speeds by --cost") from None

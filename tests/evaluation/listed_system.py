"""A system that writes nothing, for tests of what is kept of an evaluation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evaluation_values import DOWN, OK, RIGHT, problem, rollout

from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.systems import EvaluatedSystem, Keep, Opened
from llm_as_judge.types import Domain, IsolationReport, Problem

ROWS = [problem(n) for n in range(6)]
QA = [Problem(f"squad2/test/{n}", "squad2", "qa", f"Who {n}?", ("x",)) for n in range(2)]


class Listed(EvaluatedSystem):
    """Writes nothing: each wanted rollout is right; it stops after ``most`` of them."""

    adapter: Path | None = None
    domains: frozenset[Domain] = frozenset({"math"})

    def __init__(self, most: int = 99, *, fails: Sequence[str] = (), version: str = "1") -> None:
        self.label = "listed"
        self.most, self.fails, self.version = most, fails, version
        self.jail = "bubblewrap+seccomp"
        self.ran: list[tuple[str, int]] = []

    def identity(self) -> Mapping[str, str]:
        return {"version": self.version}

    def check(self, config: Config) -> None:
        pass

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
            for of, index in wanted:
                if len(self.ran) == self.most:
                    raise KeyboardInterrupt
                self.ran.append((of.id, index))
                failed = of.id in self.fails
                keep(
                    rollout(of, None, None, failure=DOWN, index=index)
                    if failed
                    else rollout(of, OK, RIGHT, index=index)
                )

        yield Opened(attempt, IsolationReport(self.jail, {"no_network": True}))


def rows_in(folder: Path) -> Path:
    """``folder`` with the test rows."""
    write_problems(folder / "test" / "gsm8k_test.jsonl", ROWS)
    write_problems(folder / "test" / "squad2_test.jsonl", QA)
    return folder


def settings(place: Path, **more: Any) -> Config:
    tree: dict[str, Any] = {
        "executor": {"model": "scripted"},
        "judge": {"model": "none"},
        "data": {"data_dir": place, "sets": ["gsm8k", "squad2"], "train_file": place / "none"},
        "output": {"results": place / "results", "cache": place / "cache"},
        **more,
    }
    return Config.model_validate(tree)


def begun(
    config: Config, system: Listed, name: str = "x", *, fresh: bool = False
) -> EvaluationRecord:
    with open_evaluation(config, system, name, fresh=fresh) as record:
        return record


async def evaluated(config: Config, system: EvaluatedSystem, name: str = "x") -> EvaluationRecord:
    with open_evaluation(config, system, name) as record:
        await run_evaluation(record, system)
    return record

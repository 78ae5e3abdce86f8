"""Results files of an evaluation: one model for those who write them and those who read them.

``NAME_results.json`` is a :class:`Results`, the documented form; ``full.json`` a
:class:`FullResults`, which adds a row a problem. Fields with a default are not in older files.
"""

from __future__ import annotations

import gzip
import json
import reprlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from llm_as_judge.errors import DataError
from llm_as_judge.files import write_text
from llm_as_judge.refused import place_and_reason
from llm_as_judge.types import Budget

FORMAT = 1
_NEEDED = (
    *("accuracy", "accuracy_low", "accuracy_high"),
    *("strictly_valid", "executed", "calls", "tokens"),
)


def _whole(figures: Mapping[str, float | None]) -> Mapping[str, float | None]:
    if missing := next((name for name in _NEEDED if name not in figures), None):
        raise ValueError(f"no {missing!r}")
    return figures


Figures = Annotated[Mapping[str, float | None], AfterValidator(_whole)]
"""Shares in 0..1 and means per rollout, by name; None = not known, or a mean of nothing."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class SetResults(_Part):
    """One evaluated set."""

    dataset: str
    domain: str = ""
    official: tuple[str, ...] = ()
    """Metrics that the set officially reports."""
    num_samples: int = 0
    rows_in_test_file: int = 0
    sample: str = ""
    """How the problems were chosen, in words."""
    seen_in_training: int | None = None
    metrics: Figures


class ProblemRow(_Part):
    """One problem; a list entry a run: of each program in turn its ``draws`` runs."""

    sets: tuple[str, ...] = ()
    """Evaluated sets that it is in, the mix among them."""
    id: str
    dataset: str
    domain: str
    content: str | None = None
    """Digest of what was asked and of its golds."""
    correct: tuple[bool | None, ...]
    rule: tuple[str, ...] = ()
    official: tuple[Mapping[str, float], ...] = ()
    status: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    tokens: tuple[int | float, ...]
    cost: tuple[float, ...] = ()
    """In written tokens."""
    policy_tokens: tuple[int, ...] = ()
    cost_usd: tuple[float | None, ...] = ()
    seconds: tuple[float, ...] = ()
    strictly_valid: tuple[bool, ...] = ()
    operators: tuple[tuple[str, ...], ...] = ()
    answers: tuple[str, ...] = ()
    """Salted hash of each answer's normal form; empty where there was none."""


class Results(_Part):
    """The documented form: ``.datasets[] | {name: .dataset, accuracy: .metrics.accuracy}``.

    ``overall`` and ``domains`` are over the problems of the sets, ``overall.macro_accuracy`` balanced
    over the sets; the mix, which is drawn from them, only has a row of its own.
    """

    format: int = Field(0, le=FORMAT)
    model: str = ""
    policy: str = ""
    checkpoint: str | None = None
    executor: str | None = None
    judge: str | None = None
    """That graded here."""
    judges: tuple[Mapping[str, Any], ...] = ()
    """That rewarded the checkpoint in training."""
    seed: int = 0
    split: str = "test"
    samples: int = 1
    """Programs of a problem."""
    draws: int = 1
    """Runs of a program."""
    budget: Budget | None = None
    """That the policy was told; None: none."""
    run: str | None = None
    """Folder of the evaluation, beside the file."""
    grading_version: int = 1
    """Of the rules that graded, see ``grading/version.py``."""
    complete: bool = True
    datasets: tuple[SetResults, ...]
    domains: Mapping[str, Figures] = {}
    overall: Figures

    def metrics_of(self, dataset: str) -> Mapping[str, float | None]:
        """Figures of one set; none where it was not evaluated."""
        return next((one.metrics for one in self.datasets if one.dataset == dataset), {})

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def write(self, path: Path) -> None:
        """
        Raises:
            OutputError: the file cannot be written.
        """
        write_text(path, json.dumps(self.as_json(), indent=1) + "\n")


class FullResults(Results):
    """The documented form, and: configuration, versions, isolation, totals, one row a problem."""

    policy: str
    executor: str
    seed: int
    hash: str = ""
    versions: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}
    """See ``Plan.facts`` of ``evaluation/records.py``."""
    isolation: tuple[Mapping[str, Any], ...] = ()
    salt: str = ""
    """Of the answers' hashes; those under another one cannot be compared."""
    config: Mapping[str, Any] = {}
    totals: Mapping[str, int | float] = {}
    problems: tuple[ProblemRow, ...]


R = TypeVar("R", bound=Results)


def read_results_file(kind: type[R], path: Path) -> R:
    """The results in a file, which may be packed by gzip.

    Raises:
        DataError: the file is missing or not whole.
    """
    what = "full results file" if kind is FullResults else "results file"
    try:
        data = path.read_bytes()
        return kind.model_validate_json(gzip.decompress(data) if path.suffix == ".gz" else data)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run: llm-as-judge evaluate") from None
    except IsADirectoryError:
        raise DataError(f"{path}: a folder; wanted a {what} of evaluate") from None
    except ValidationError as error:
        place, reason = place_and_reason(error)
        where = f"{place}: " if place else ""
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise DataError(
                f"{path}: not JSON; wanted a {what} of results/evaluation: name one, or evaluate again"
            ) from None
        found = "" if first["type"] == "missing" else f", found {reprlib.repr(first['input'])}"
        raise DataError(
            f"{path}: not a {what} of evaluate: {where}{reason}{found}; evaluate again"
        ) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None

"""What comparisons read of results files, checked once: a file that is not whole is one line."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import FULL, run_folder


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


P = TypeVar("P", bound=_Part)


class ProblemRow(_Part):
    """One problem; a list entry a rollout."""

    id: str
    dataset: str
    sets: tuple[str, ...] = ()
    """Evaluated sets that it is in, the mix among them; empty in files of before they were said."""
    domain: str
    content: str | None = None
    """Digest of what was asked and of its golds; None in files of before there was one."""
    correct: tuple[bool | None, ...]
    tokens: tuple[float, ...]


class Overall(_Part):
    """Means per rollout."""

    accuracy: float | None
    policy_tokens: float
    calls: float
    seconds: float
    cost_usd: float | None


class FullResults(_Part):
    """A full.json, as far as comparisons read it."""

    policy: str
    checkpoint: str | None = None
    control: bool = False
    executor: str
    judge: str | None = None
    seed: int
    complete: bool = True
    overall: Overall
    problems: tuple[ProblemRow, ...]
    facts: Mapping[str, str] = {}
    """See :attr:`Plan.facts`; empty in files of before there were any."""
    config: Mapping[str, Any] = {}


class _Tokens(_Part):
    tokens: float | None


class _ByDomain(_Part):
    domains: Mapping[str, _Tokens]


def read_full(path: Path) -> FullResults:
    """The full results of an evaluation, from its folder, a file of it, or its results file.

    Raises:
        DataError: a file is missing or not whole, or no rollout is in it.
    """
    file = run_folder(path) / FULL
    if path.is_dir() and not file.is_file() and (found_in := sorted(path.glob(f"*/{FULL}"))):
        folders = ", ".join(str(one.parent) for one in found_in)
        raise DataError(f"{path}: holds several evaluations or one; name its folder: {folders}")
    found = _checked(FullResults, file, "full results file")
    if not any(row.correct for row in found.problems):
        raise DataError(f"{file}: no rollout in it; run: llm-as-judge evaluate")
    return found


def tokens_by_domain(path: Path) -> dict[str, float | None]:
    """Executor tokens a rollout by domain of a results file; None where nothing was run.

    Raises:
        DataError: it is missing or not whole.
    """
    domains = _checked(_ByDomain, path, "results file").domains
    return {name: part.tokens for name, part in domains.items()}


def _checked(kind: type[P], path: Path, what: str) -> P:
    try:
        return kind.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run: llm-as-judge evaluate") from None
    except IsADirectoryError:
        raise DataError(f"{path}: a folder; wanted a {what} of evaluate") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in (".".join(map(str, first["loc"])),) if part)
        found = "" if first["type"] == "missing" else f", found {reprlib.repr(first['input'])}"
        raise DataError(
            f"{path}: not a {what} of evaluate: {where}{first['msg']}{found}; evaluate again"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None

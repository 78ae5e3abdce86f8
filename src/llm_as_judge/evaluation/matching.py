"""Self-consistency at an equal token budget: as many votes as meet what another spends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.build import DOMAINS
from llm_as_judge.config import Config
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.conditions import (
    Conditions,
    conditions_of,
    differing,
    of_executor,
    settings_of,
)
from llm_as_judge.evaluation.full_results import read_full, tokens_by_domain
from llm_as_judge.evaluation.layout import FULL, read_results
from llm_as_judge.types import Domain

VOTE_OF: Mapping[Domain, str] = {"math": "cot", "qa": "cot", "code": "direct"}
"""By domain the baseline that is one vote of self-consistency."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The votes of one domain; executor tokens a problem."""

    votes: int
    budget: float
    """Aimed at."""
    price: float
    """Of one vote."""
    capped: bool
    """More votes would pass workflow.max_worst_case_calls."""

    @property
    def expected(self) -> float:
        return self.votes * self.price


@dataclass(frozen=True, slots=True)
class Matching:
    by_domain: Mapping[Domain, Matched]
    """Of the domains that the target has."""
    unchecked: tuple[Path, ...]
    """Results that do not say all settings of their executor."""


def matching_votes(target: Path, folder: Path, config: Config) -> Matching:
    """Votes by domain that cost self-consistency about the tokens a problem of ``target``.

    The price of a vote is what the results of `cot` (math, qa) and `direct` (code) in ``folder``
    say; a vote among code solutions costs one call more, which is left out.

    Raises:
        DataError: a results file is missing or not whole, or it and ``config`` have not the same
            executor with the same settings.
    """
    wanted = tokens_by_domain(target)
    by_domain: dict[Domain, Matched] = {}
    for domain in DOMAINS:
        if domain not in wanted:
            continue
        budget = wanted[domain]
        if budget is None:
            raise DataError(f"{target}: nothing run of {domain}; finish that evaluation first")
        price = _price(_priced(folder, domain), domain)
        most = config.workflow.max_worst_case_calls - (1 if domain == "code" else 0)
        votes = max(1, round(budget / price))
        by_domain[domain] = Matched(min(most, votes), budget, price, votes > most)
    files = dict.fromkeys([target, *(_priced(folder, domain) for domain in by_domain)])
    return Matching(by_domain, _check_executor(list(files), config))


def _priced(folder: Path, domain: Domain) -> Path:
    return folder / f"{VOTE_OF[domain]}_results.json"


def _price(path: Path, domain: Domain) -> float:
    if not path.exists():
        raise DataError(
            f"{path}: no such file, and it says what a vote costs; "
            f"run: llm-as-judge evaluate --policy {VOTE_OF[domain]}"
        )
    found = tokens_by_domain(path).get(domain)
    if not found:
        raise DataError(
            f"{path}: no tokens of {domain}; run: llm-as-judge evaluate --policy {VOTE_OF[domain]}"
        )
    return found


def _check_executor(files: list[Path], config: Config) -> tuple[Path, ...]:
    """Those of ``files`` that do not say all of it."""
    own = of_executor(settings_of(config.model_dump(mode="json")))
    found: dict[str, Conditions] = {"this evaluation": own}
    found |= {str(path): _executor_of(path) for path in files}
    if phrases := differing(found):
        raise DataError(
            f"--match: {phrases[0]}; votes meet a budget only with one executor and its settings: "
            "evaluate all of them alike"
        )
    return tuple(path for path in files if own.keys() - found[str(path)].keys())


def _executor_of(path: Path) -> Conditions:
    data = read_results(path)
    run = data.get("run")
    if isinstance(run, str) and (path.parent / run / FULL).is_file():
        return of_executor(conditions_of(read_full(path)))
    return {"executor.model": data["executor"]} if "executor" in data else {}

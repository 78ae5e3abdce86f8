"""Self-consistency at an equal token budget: as many votes as meet what another policy spends.

    python recipes/matched_votes.py results/evaluation/trained_results.json --out results/matched_votes
    llm-as-judge evaluate --policy results/matched_votes --name self_consistency

Reads the executor tokens a problem of the results, and what one vote costs from cot_results.json (code:
direct_results.json) beside them. Writes the shipped workflow self_consistency with these numbers of votes. All of the files
must be of one executor with the same settings; `compare` says so if the evaluation then has others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.config import Config
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.evaluation.baselines import program_files, workflows_dir
from llm_as_judge.evaluation.conditions import (
    Conditions,
    conditions_of,
    differing,
    of_executor,
)
from llm_as_judge.evaluation.layout import full_file, read_full, read_results
from llm_as_judge.files import write_text
from llm_as_judge.types import DOMAINS, Domain
from recipe import parser_of, run

VOTE_OF: Mapping[Domain, str] = {"math": "cot", "qa": "cot", "code": "direct"}
"""By domain the baseline that is one vote of self-consistency."""
_VOTES = re.compile(r"^VOTES = \d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Matched:
    """The votes of one domain; executor tokens a problem."""

    votes: int
    budget: float
    """Aimed at."""
    price: float
    """Of one vote."""
    capped: bool
    """More votes would pass the limit of calls."""

    @property
    def expected(self) -> float:
        return self.votes * self.price


def matching_votes(target: Path, most_calls: int) -> dict[Domain, Matched]:
    """Votes by domain that cost self-consistency about the tokens a problem of ``target``.

    A vote among code solutions costs one call more, whose tokens are left out.

    Raises:
        DataError: a results file is missing or not whole, or they have not the same executor with
            the same settings.
    """
    wanted = _tokens_by_domain(target)
    by_domain: dict[Domain, Matched] = {}
    for domain in DOMAINS:
        if domain not in wanted:
            continue
        budget = wanted[domain]
        if budget is None:
            raise DataError(f"{target}: nothing run of {domain}; finish that evaluation first")
        price = _price(_priced(target, domain), domain)
        most = most_calls - (1 if domain == "code" else 0)
        votes = max(1, round(budget / price))
        by_domain[domain] = Matched(min(most, votes), budget, price, votes > most)
    _require_one_executor([target, *(_priced(target, domain) for domain in by_domain)])
    return by_domain


def write_programs(votes: Mapping[Domain, Matched], out: Path) -> None:
    """The shipped self-consistency with these votes, as OUT/DOMAIN.py.

    Raises:
        OutputError: ``out`` is there, or cannot be written.
    """
    if out.exists():
        raise OutputError(f"{out}: is there already; remove it, or give another --out")
    shipped = program_files(workflows_dir() / "self_consistency")
    for domain, matched in votes.items():
        text = shipped[domain].read_text(encoding="utf-8")
        write_text(out / f"{domain}.py", _VOTES.sub(f"VOTES = {matched.votes}", text))


def _priced(target: Path, domain: Domain) -> Path:
    return target.parent / f"{VOTE_OF[domain]}_results.json"


def _price(path: Path, domain: Domain) -> float:
    if not path.exists():
        raise DataError(
            f"{path}: no such file, and it says what a vote costs; "
            f"run: llm-as-judge evaluate --policy {VOTE_OF[domain]}"
        )
    found = _tokens_by_domain(path).get(domain)
    if not found:
        raise DataError(
            f"{path}: no tokens of {domain}; run: llm-as-judge evaluate --policy {VOTE_OF[domain]}"
        )
    return found


def _require_one_executor(files: list[Path]) -> None:
    if phrases := differing({str(path): _executor_of(path) for path in files}):
        raise DataError(
            f"{phrases[0]}; votes meet a budget only with one executor and its settings: evaluate "
            "all of them alike"
        )


def _executor_of(path: Path) -> Conditions:
    data = read_results(path)
    if data.run is not None and full_file(path.parent / data.run).is_file():
        return of_executor(conditions_of(read_full(path)))
    return {"executor.model": data.executor} if data.executor else {}


def _tokens_by_domain(path: Path) -> dict[str, float | None]:
    """Executor tokens a rollout; None where nothing was run."""
    domains = read_results(path).domains
    if not domains:
        raise DataError(f"{path}: no figures by domain; evaluate again")
    return {name: figures["tokens"] for name, figures in domains.items()}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("target", type=Path, help="results file whose tokens are to be met")
    parser.add_argument("--out", type=Path, default=Path("results/matched_votes"))
    parser.add_argument(
        "--most-calls",
        type=int,
        default=Config().workflow.max_calls,
        help="workflow.max_calls of the evaluation (default: %(default)s)",
    )
    arguments = parser.parse_args()
    found = matching_votes(arguments.target, arguments.most_calls)
    write_programs(found, arguments.out)
    for domain, one in found.items():
        limit = f"; {arguments.most_calls} calls have no room for more" * one.capped
        print(
            f"{domain:5} votes {one.votes}, each of {one.price:,.0f} tokens ({VOTE_OF[domain]}): about "
            f"{one.expected:,.0f} tokens a problem, for a budget of {one.budget:,.0f}{limit}"
        )
    print(f"programs  {arguments.out}")


if __name__ == "__main__":
    run(main)

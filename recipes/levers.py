"""Levers alone and together, on fresh rows, against the best of the fixed programs at equal cost.

    python recipes/levers.py programs OUT --stop results/stop.json
    llm-as-judge search --split train --rows 200 --programs OUT --count 0 --bank results/bank --set stop.table=results/stop.json
    llm-as-judge search --split train --rows 200 --programs OUT --count 0 --bank results/fresh --set stop.table=results/stop.json \\
        --set data.train_file=fresh.jsonl
    python recipes/levers.py table results/bank results/fresh --stop results/stop.json

Levers: the learned stop, fewer passages, a vote behind fewer passages, and all that a domain has together.
References: single calls, votes of 3 to 5, `until_agree` and `until_passed`. Which of these, or which mixture of two,
costs what a lever costs is chosen on the first bank; all figures are of the second. Cost is in written tokens; an open
answer is not right. Intervals (95 %) are bootstraps over problems; p is adjusted for all levers (Holm).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt

import agreement_programs
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.files import write_text
from llm_as_judge.operators.stopping import StopTable
from llm_as_judge.runs.table import Bank
from llm_as_judge.statistics import holm, paired_p
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import parse_program
from recipe import parser_of, run

MOST, RESAMPLES, LEAST = 5, 1000, 30
_NAMES = {"program_of_thought": "pot"}
TOGETHER = "together"
Array = npt.NDArray[np.float64]
Texts = Mapping[str, str]


# ------------------------------------------------------------------------------------- programs
def references(domain: Domain) -> dict[str, str]:
    """Single calls, votes of one way, agreement of one way or two in turn, code until it passes."""
    ways = agreement_programs.WAYS[domain]
    turns = [*permutations(ways, 1), *permutations(ways, 2)]
    starts = ("until_passed_", *("_".join(turn) + "_until_" for turn in turns))
    votes = [f"{way}_vote_{n}" for way in ways for n in (3, 4, 5)]
    return {
        name: text
        for name, text in agreement_programs.programs(domain, MOST)
        if name in ways or name in votes or name.startswith(starts)
    }


def levers(domain: Domain, stop: StopTable) -> dict[str, str]:
    """Those of a domain; the ways of the stop are its table's."""
    found: dict[str, str] = {}
    names = [_NAMES.get(name, name) for name in stop.ways.get(domain, ())]
    ways = [agreement_programs.WAYS[domain][name][0] for name in names]
    if domain in stop.rules:
        found["stop"] = _worth(ways)
    if domain == "qa":
        chain, key = agreement_programs.WAYS["qa"]["cot"]
        found["retrieve"] = f'{_FOUND}reply = await {_short(chain)}\nreturn reply["{key}"]\n'
        three = ", ".join(f'a{n}["{key}"]' for n in range(3))
        lines = "".join(f"a{n} = await {_short(chain)}\n" for n in range(3))
        vote = f'best = await vote(solutions=[{three}])\nreturn best["answer"]\n'
        found["retrieve, vote of 3"] = f"{_FOUND}{lines}{vote}"
        if "stop" in found:
            found[TOGETHER] = _FOUND + _worth([_short(way) for way in ways])
    elif "stop" in found:
        found[TOGETHER] = found["stop"]
    return found


_FOUND = "found = await retrieve(problem=problem, keep=4)\n"


def _short(call: str) -> str:
    return call.replace("=problem", '=found["problem"]')


def _worth(ways: Sequence[str]) -> str:
    drawn = ", ".join(f"lambda: {way}" for way in ways)
    return f'best = await until_worth(ways=[{drawn}])\nreturn best["answer"]\n'


def write_programs(out: Path, stop: StopTable) -> list[str]:
    """A line for each domain.

    Raises:
        OutputError: the folder is there, or cannot be written.
    """
    if out.exists():
        raise OutputError(f"{out}: there already; name another folder")
    lines = []
    for domain in DOMAINS:
        found = references(domain) | levers(domain, stop)
        for name, text in found.items():
            write_text(out / domain / f"{name.replace(', ', '_').replace(' ', '_')}.py", text)
        lines.append(f"{domain}: {len(found)} programs in {out / domain}")
    return lines


# ---------------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Figures:
    """Programs of one domain on problems, means over draws."""

    right_JP: Array
    cost_JP: Array

    def of(self, picked_P: npt.NDArray[np.int_]) -> tuple[Array, Array]:
        """(share right, cost) of each program on these problems."""
        return self.right_JP[:, picked_P].mean(axis=1), self.cost_JP[:, picked_P].mean(axis=1)


def figures(bank: Bank, domain: Domain, texts: Texts) -> Figures:
    """
    Raises:
        DataError: a program or too many problems lack runs.
    """
    keys = {name: f"{domain}/{parse_program(t, domain, 'body').hash}" for name, t in texts.items()}
    ran = {key.program for key in bank.runs}
    if lacking := [name for name, key in keys.items() if key not in ran]:
        raise DataError(
            f"{bank.folder}: {domain}: no run of {lacking[0]!r}; run: llm-as-judge search --split train "
            "--count 0 --programs OUT, of the folder that `levers.py programs OUT` writes"
        )
    ids = [one.id for one in bank.problems.values() if one.domain == domain]
    table = bank.table(list(keys.values()), ids)
    there_P = np.logical_not(np.isnan(table.right_JPD).any(axis=(0, 2)))
    if there_P.sum() < LEAST:
        raise DataError(
            f"{bank.folder}: {domain}: {there_P.sum()} problems have every run; {LEAST} are wanted"
        )
    return Figures(
        table.right_JPD[:, there_P].mean(axis=2), table.cost_JPD[:, there_P].mean(axis=2)
    )


def hull(right_J: Array, cost_J: Array) -> list[int]:
    """Programs that no mixture of others beats, the cheapest first."""
    order = sorted(range(len(right_J)), key=lambda j: (cost_J[j], -right_J[j]))
    kept: list[int] = []
    for j in order:
        if kept and right_J[j] <= right_J[kept[-1]]:
            continue
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            slope = (right_J[last] - right_J[before]) / (cost_J[last] - cost_J[before])
            if right_J[before] + slope * (cost_J[j] - cost_J[before]) > right_J[j]:
                break
            kept.pop()
        kept.append(j)
    return kept


def mixture(values: Sequence[float], wanted: float) -> list[tuple[int, float]]:
    """(position, share) of the one or two of rising ``values`` whose mixture is ``wanted``; the nearest end's
    where it lies outside."""
    if wanted <= values[0]:
        return [(0, 1.0)]
    if wanted >= values[-1]:
        return [(len(values) - 1, 1.0)]
    n = int(np.searchsorted(values, wanted))
    part = (wanted - values[n - 1]) / (values[n] - values[n - 1])
    return [(n - 1, 1 - part), (n, part)]


@dataclass(frozen=True)
class Compared:
    """A lever on fresh rows, beside what was chosen for it."""

    domain: str
    name: str
    right: float
    cost: float
    reference: str
    gains_P: Array
    """Of each problem, at equal cost, in -1..1."""
    ratio: float
    """Its cost in that of as many right; NaN: no reference has as many."""


def compared(
    domain: Domain, learned: Figures, fresh: Figures, names: Sequence[str]
) -> list[Compared]:
    """Each lever of a domain.

    Args:
        names: of all programs, the references first.
    """
    count = len(references(domain))
    everything = np.arange(learned.right_JP.shape[1])
    right_J, cost_J = learned.of(everything)
    front = hull(right_J[:count], cost_J[:count])
    found = []
    for j in range(count, len(names)):
        mixed = [(front[n], w) for n, w in mixture([cost_J[n] for n in front], cost_J[j])]
        gains_P = fresh.right_JP[j] - sum(w * fresh.right_JP[n] for n, w in mixed)
        ratio = np.nan
        if right_J[j] <= right_J[front[-1]]:
            level = [(front[n], w) for n, w in mixture([right_J[n] for n in front], right_J[j])]
            ratio = fresh.cost_JP[j].mean() / sum(w * fresh.cost_JP[n].mean() for n, w in level)
        said = " and ".join(f"{w:.0%} {names[n]}" if w < 1 else names[n] for n, w in mixed)
        figures_j = (float(fresh.right_JP[j].mean()), float(fresh.cost_JP[j].mean()))
        found.append(Compared(domain, names[j], *figures_j, said, gains_P, float(ratio)))
    return found


HEAD = ("domain", "lever", "right, %", "cost", "beside, as dear", "points", "p (Holm)", "cost for as many right")  # fmt: skip


def report(learned: Bank, fresh: Bank, stop: StopTable) -> str:
    """Markdown.

    Raises:
        DataError: a row is in both banks, or runs are missing.
    """
    if both := sorted(learned.problems.keys() & fresh.problems.keys()):
        raise DataError(f"{fresh.folder}: {both[0]} is in {learned.folder}, too; name fresh rows")
    lines: list[Compared] = []
    for domain in sorted({one.domain for one in fresh.problems.values()}, key=DOMAINS.index):
        texts = references(domain) | levers(domain, stop)
        lines += compared(
            domain, figures(learned, domain, texts), figures(fresh, domain, texts), list(texts)
        )
    together = [one for one in lines if one.name == TOGETHER]
    if len(together) > 1:
        gains = np.concatenate([one.gains_P for one in together])
        sizes = [len(one.gains_P) for one in together]
        right, cost = (
            float(np.average([getattr(one, name) for one in together], weights=sizes))
            for name in ("right", "cost")
        )
        lines.append(Compared("all", TOGETHER, right, cost, "", gains, np.nan))
    adjusted = holm([paired_p(one.gains_P.tolist()) for one in lines])
    rows = [HEAD, ["---"] * 2 + ["---:"] * 2 + ["---"] + ["---:"] * 3]
    rows += [_row(one, p) for one, p in zip(lines, adjusted, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Compared, p: float) -> list[str]:
    chance = np.random.default_rng(0)
    size = len(one.gains_P)
    means = 100 * one.gains_P[chance.integers(0, size, (RESAMPLES, size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return [
        one.domain,
        one.name,
        f"{100 * one.right:.1f}",
        f"{one.cost:.0f}",
        one.reference,
        f"{100 * one.gains_P.mean():+.1f} [{low:+.1f}, {high:+.1f}]",
        "< 0.001" if p < 0.001 else f"{p:.3f}",
        "-" if np.isnan(one.ratio) else f"x {one.ratio:.2f}",
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("do", choices=("programs", "table"))
    parser.add_argument("folders", type=Path, nargs="+", help="OUT; or two banks")
    parser.add_argument("--stop", type=Path, required=True, help="what `stop learn` wrote")
    given = parser.parse_args()
    stop = StopTable.read(given.stop)
    if given.do == "programs":
        print("\n".join(write_programs(given.folders[0], stop)))
        return
    if len(given.folders) != 2:
        parser.error("table: two banks are wanted, of training rows and of fresh rows")
    learned, fresh = (Bank.named(folder, "BANK") for folder in given.folders)
    print(report(learned, fresh, stop))


if __name__ == "__main__":
    run(main)

"""compare: evaluations side by side, with tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.accuracy import Accuracy
from llm_as_judge.dollars import in_dollars
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation import compare as comparing
from llm_as_judge.evaluation.before_after import few_words, sentence, sentences, too_few
from llm_as_judge.evaluation.compare import Comparison, Front, p_text
from llm_as_judge.evaluation.system_results import SystemResults, read_systems, reservations
from llm_as_judge.types import to_json
from llm_as_judge.views.console import console, say, say_json
from llm_as_judge.views.open_answers import POINTER, REACH, counted
from llm_as_judge.views.tables import number_cell, show_table, turned


def compare(
    *,
    results: list[Path],
    against: str | None,
    by_domain: bool,
    details: bool,
    markdown: bool,
    as_json: bool,
) -> None:
    systems = read_systems(results)
    reference = _reference(systems, against)
    pairs = comparing.compare(systems, reference)
    domains = sorted(set(reference.domains.values())) if by_domain else []
    of_domain = {name: comparing.compare(systems, reference, name) for name in domains}
    front = comparing.pareto_front(systems)
    doubts = reservations(systems)
    tested = {reference.name, *(pair.name for pair in pairs)}
    apart = [c.name for c in systems if c.name not in tested]
    said = _verdict(systems, reference, pairs, front)
    if as_json:
        found = {
            "verdict": said,
            "remarks": doubts,
            "reference": reference.name,
            "systems": [
                {**to_json(c), **_summary(c), "pareto": c.name in front.names} for c in systems
            ],
            "pareto_problems": front.problems,
            "headroom": to_json(comparing.headroom_of(systems)),
            "comparisons": to_json(pairs),
            "not_tested": apart,
            "comparisons_by_domain": {name: to_json(found) for name, found in of_domain.items()},
        }
        say_json(found)
        return
    whole = details or markdown
    for line in said:
        say(line, "bold")
    for line in doubts:
        console.print(line, markup=False, highlight=False, soft_wrap=markdown)
    if said or doubts:
        console.print()
    table = _accuracy_rows(systems, front, markdown)
    title = "Accuracy, % [95 % interval]"
    show_table(title, *(table if whole else _brief(*turned(*table))), markdown)
    if apart:
        why = [f" {c.name}: all failed; the first: {c.failed}." for c in systems if c.failed]
        names = ", ".join(apart)
        say(
            f"no problem that {reference.name} has answered, too: {names}; not tested.{''.join(why)}"
        )
    for name, tested_in in {"": pairs, **of_domain}.items():
        if tested_in:
            title = f"Against {reference.name}{f', {name}' if name else ''}"
            show_table(title, *_pair_table(tested_in, details, markdown), markdown)
    lines = _open(systems, pairs if whole else [])
    if whole or any(c.seconds is not None for c in systems):
        lines += _not_timed(systems)
    for line in [*lines, *_remarks(systems, front, whole)]:
        console.print(line, markup=False, highlight=False, soft_wrap=markdown)


def _verdict(
    systems: Sequence[SystemResults],
    reference: SystemResults,
    pairs: Sequence[Comparison],
    front: Front,
) -> list[str]:
    """What training changed; without a trained policy, how the best of the others stands to the reference, of
    those that were evaluated on as many problems as anybody, where there is one."""
    if (said := sentences(systems)) or not pairs:
        return said
    if all(map(too_few, pairs)):
        most = max(pair.problems for pair in pairs)
        return [f"No difference is shown: {few_words(most)}."]
    widest = [pair for pair in pairs if pair.name not in front.apart]
    best = max(widest or pairs, key=lambda pair: pair.difference)
    other = next(system for system in systems if system.name == best.name)
    return [sentence(reference, other, (reference.name, other.name))]


def _reference(systems: Sequence[SystemResults], name: str | None) -> SystemResults:
    if name is None:
        untrained = [c for c in systems if c.policy == "untrained"]
        direct = [c for c in systems if c.name == "direct"]
        return (untrained or direct or systems)[0]
    for system in systems:
        if name in (system.name, *system.files):
            return system
    known = ", ".join(dict.fromkeys(n for c in systems for n in (c.name, *c.files)))
    raise ConfigError(f"--against {name!r}: not among the results ({known})")


def _summary(system: SystemResults) -> dict[str, Any]:
    names = sorted(set(system.datasets.values()))
    domains = sorted(set(system.domains.values()))
    return {
        "correct": system.correct,
        "overall": to_json(system.accuracy()),
        "balanced": to_json(system.balanced_accuracy),
        "by_dataset": {name: to_json(system.accuracy(dataset=name)) for name in names},
        "by_domain": {name: to_json(system.accuracy(domain=name)) for name in domains},
        "mean_tokens": system.mean_tokens,
        "mean_cost": system.mean_cost,
        "right_per_1000_tokens": system.right_per_1000_tokens,
        "seed_deviation": system.seed_deviation,
    }


# ----------------------------------------------------------------------------------------- tables
_DECIDE = frozenset(
    {
        *("overall", "problems", "open answers", "seeds, deviation", "cost, written tokens"),
        *("seconds", "US dollars"),
        *("difference, points", "wins : losses", "p (Holm)", "p at most (Holm)", "cost"),
    }
)
"""Columns that are shown without --details."""
_NOTHING = frozenset({"-", "0", "$0.00"})
_MORE = (
    "Each set, tokens, calls, what open answers could change: --details. What a figure means: "
    "docs/evaluation.md#is-one-better"
)


def _brief(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The columns that decide, where they say something; without any cost, the tokens."""
    priced = any(name.startswith("cost") for name in head)
    wanted = _DECIDE if priced else _DECIDE | {"executor tokens"}
    kept = [
        n
        for n, name in enumerate(head)
        if n == 0 or (name in wanted and {row[n] for row in rows} - _NOTHING)
    ]
    return [head[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _accuracy_rows(
    systems: Sequence[SystemResults], front: Front, markdown: bool
) -> tuple[list[str], list[list[str]]]:
    names = list(dict.fromkeys(d for c in systems for d in c.datasets.values()))
    domains = list(dict.fromkeys(d for c in systems for d in c.domains.values()))
    star = " *" if markdown else "*"
    head = ["", *(c.name + star * (c.name in front.names) for c in systems)]
    rows = [[name, *(_cell(c.accuracy(dataset=name)) for c in systems)] for name in names]
    rows += [
        [f"all {name}", *(_cell(c.accuracy(domain=name)) for c in systems)] for name in domains
    ]
    if any(c.mix for c in systems):
        rows.append(["mixed (not in overall)", *(_cell(c.mix_accuracy) for c in systems)])
    rows.append(["overall", *(_cell(c.accuracy()) for c in systems)])
    if len(names) > 1:
        rows.append(["balanced over sets", *(_cell(c.balanced_accuracy) for c in systems)])
    rows.append(["problems", *(str(len(c.right)) for c in systems)])
    if any(c.open for c in systems):
        rows.append(["open answers", *(str(sum(c.open.values())) for c in systems)])
    if any(len(c.seeds) > 1 for c in systems):
        rows.append(["seeds, deviation", *(_seeds(c) for c in systems)])
    rows.append(["executor tokens", *(f"{c.mean_tokens:.0f}" for c in systems)])
    rows.append(
        ["right per 1,000 of these", *(number_cell(c.right_per_1000_tokens) for c in systems)]
    )
    if any(c.mean_cost is not None for c in systems):  # older files say none
        costs = (number_cell(c.mean_cost, "{:.0f}") for c in systems)
        rows.append(["cost, written tokens", *costs])
    rows.append(["policy tokens", *(f"{c.policy_tokens:.0f}" for c in systems)])
    rows.append(["calls", *(f"{c.calls:.2f}" for c in systems)])
    rows.append(["seconds", *(number_cell(c.seconds, "{:.1f}") for c in systems)])
    rows.append(
        ["US dollars", *("-" if c.cost_usd is None else in_dollars(c.cost_usd) for c in systems)]
    )
    return head, rows


def _pair_table(
    pairs: Sequence[Comparison], details: bool, markdown: bool
) -> tuple[list[str], list[list[str]]]:
    head, rows = _pair_rows(pairs)
    if markdown:
        return head, rows
    return turned(head, rows) if details else _brief(head, rows)


def _pair_rows(pairs: Sequence[Comparison]) -> tuple[list[str], list[list[str]]]:
    head = ["", "problems", "difference, points", "wins : losses", "p", "p (Holm)"]
    head += ["detectable", "executor tokens"]
    rows = [
        [
            pair.name,
            str(pair.problems),
            f"{100 * pair.difference:+.1f} [{100 * pair.low:+.1f}, {100 * pair.high:+.1f}]",
            "-" if pair.only_other is None else f"{pair.only_other} : {pair.only_reference}",
            p_text(pair.p),
            p_text(pair.p_holm),
            "-" if pair.detectable is None else f"{100 * pair.detectable:.0f}",
            number_cell(pair.token_ratio, "x {:.2f}"),
        ]
        for pair in pairs
    ]
    if any(pair.open for pair in pairs):
        head += ["by open answers, points", "p at most (Holm)"]
        for row, pair in zip(rows, pairs, strict=True):
            row.append(f"{100 * pair.least:+.1f} to {100 * pair.most:+.1f}")
            row.append(p_text(pair.p_most_holm))
    if any(pair.cost_ratio is not None for pair in pairs):
        head.append("cost")
        for row, pair in zip(rows, pairs, strict=True):
            row.append(number_cell(pair.cost_ratio, "x {:.2f}"))
    return head, rows


def _open(systems: Sequence[SystemResults], pairs: Sequence[Comparison]) -> list[str]:
    """What is open, and what it could change; nothing where nothing is."""
    if not any(system.open for system in systems):
        return []
    counts = ", ".join(f"{c.name} {sum(c.open.values())}" for c in systems if c.open)
    of_sets = sum((Counter(system.open) for system in systems), Counter[str]())
    could = [f"{pair.name}: {pair.open_words}." for pair in pairs if pair.open]
    return [f"open answers: {counts} ({counted(of_sets)}). {REACH} What to do: {POINTER}", *could]


def _not_timed(systems: Sequence[SystemResults]) -> list[str]:
    """Whose runs are not in the seconds, and why; nothing where all are."""
    told = ", ".join(f"{c.name} {c.not_timed}" for c in systems if c.not_timed)
    silent = ", ".join(c.name for c in systems if c.not_timed is None)
    left = f"seconds leave out runs that got kept or shared replies, which take no time: {told}."
    unknown = f"seconds are not known of {silent}: these older results do not say which replies were kept; with calls.mode=off evaluate measures them."
    return [line for line, names in ((left, told), (unknown, silent)) if names]


def _remarks(systems: Sequence[SystemResults], front: Front, whole: bool) -> list[str]:
    apart = f" No star for those with fewer problems or more failures: {', '.join(front.apart)}."
    less, same = (
        ("at less", "at the same cost") if front.priced else ("with fewer", "with as many tokens")
    )
    best = (
        f"Star (*): no other is as accurate {less} {same.split()[-1]}, or more accurate {same}. Executor and "
        f"policy are counted, on the {front.problems} problems that all have answered.{apart if front.apart else ''}"
    )
    lines = [best] if front.names else []
    if len(systems) > 1:
        read = (
            "difference: paired, Tango's score interval. p: McNemar's exact test; of several draws, a "
            "permutation test of signs. detectable: the true difference, in points, that so many problems show "
            "with 80 % power."
        )
        return [*lines, read if whole else _MORE]
    other = "llm-as-judge evaluate --untrained gives the one before training"
    if systems[0].policy == "untrained":
        other = "llm-as-judge train, then evaluate, gives the one after training"
    return [
        *lines,
        f"One evaluation alone: {other}, to compare it with.",
        *([] if whole else [_MORE]),
    ]


def _cell(share: Accuracy | None) -> str:
    if share is None:
        return "-"
    return share.text("{:.0%}").replace("%", "")


def _seeds(system: SystemResults) -> str:
    deviation = system.seed_deviation
    return "1" if deviation is None else f"{len(system.seeds)}, {100 * deviation:.1f}"

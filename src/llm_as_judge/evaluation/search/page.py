"""The page of a search: what it means in words, accuracy against cost, every choice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from llm_as_judge.accuracy import Right, accuracy
from llm_as_judge.evaluation.search.choices import Choice, Found, Score
from llm_as_judge.evaluation.search.credit import Credit, Gain
from llm_as_judge.evaluation.search.halving import mean_of_draws
from llm_as_judge.runs.bank import Bank, Table
from llm_as_judge.views.report import charts, curves
from llm_as_judge.views.report.page import TextTable, write_plain

PAGE = "page.html"
_CROSSED = (
    "Crossed figures: the search was done again five times without a fifth of the problems, and what it "
    "chose was scored on that fifth. Flattered ones are of the rows that the program was chosen on."
)


def write_page(
    found: Found,
    bank: Bank,
    draws: int,
    words: Sequence[str],
    path: Path,
    added: Sequence[Credit] = (),
) -> None:
    """
    Args:
        added: what operators added.
        words: what the figures mean, a paragraph each.
    Raises:
        OutputError: the file cannot be written.
    """
    fronts = [
        chart
        for domain, programs in found.finalists.items()
        if (chart := _front(domain, bank.table([p.key for p in programs], found.chosen_on, draws)))
    ]
    spent = (
        f"{found.search_runs} runs of programs, cost {found.search_cost:.0f} written tokens, kept ones "
        "included."
    )
    tables = [_ladder(found), _choices(found), *([_operators(added)] if added else [])]
    write_plain(path, "Best fixed programs", [*words, spent], tables, fronts)


def _front(domain: str, table: Table) -> charts.Chart | None:
    right, cost = mean_of_draws(table.right_JPD), mean_of_draws(table.cost_JPD)
    left = mean_of_draws(table.open_JPD)
    named = []
    for j, program in enumerate(table.programs):
        there = ~np.isnan(right[j])
        pairs = zip(right[j][there], left[j][there], strict=True)
        share = accuracy([Right(float(a), float(b)) for a, b in pairs])
        if share is not None:
            spent = float(cost[j][~np.isnan(cost[j])].mean())
            short = program.name.rpartition("/")[2].removesuffix(".py")
            named.append((short, curves.Point(spent, share.value, share.low, share.high)))
    return charts.front_chart(
        f"front-{domain}",
        f"Cost and accuracy: {domain}",
        "The finalists on all rows; bars: 95 % intervals; the line joins those that no other beats in "
        "both. The figures are flattered: these programs were chosen on these rows.",
        "cost per problem, in written tokens",
        named,
        curves.pareto([(point.x, point.y) for _, point in named]),
    )


def _ladder(found: Found) -> TextTable:
    rows = [
        (
            f"one for each {step.scope}" if step.scope != "everything" else "one for everything",
            step.budget,
            right_text(step.crossed),
            cost_text(step.crossed),
            right_text(step.flattered),
        )
        for step in found.ladder
    ]
    return TextTable(
        "All problems",
        _CROSSED,
        ("programs", "budget", "right, crossed", "cost", "right, flattered"),
        tuple(rows),
    )


def _choices(found: Found) -> TextTable:
    return TextTable(
        "Choices",
        "The program that was chosen on all rows, and what such a choice is worth.",
        ("of", "scope", "budget", "program", "right, crossed", "cost", "right, flattered"),
        tuple(map(_row, found.choices)),
    )


def _row(choice: Choice) -> tuple[str, ...]:
    return (
        choice.of,
        choice.scope,
        choice.budget,
        choice.name,
        right_text(choice.crossed),
        cost_text(choice.crossed),
        right_text(choice.flattered),
    )


def _operators(added: Sequence[Credit]) -> TextTable:
    return TextTable(
        "What operators added",
        "Pairs of programs that differ in one operator call, on the same problems from the same draws: with it less "
        "without it, in points and written tokens; 95 % intervals over problems, each by itself.",
        ("domain", "operator", "with it", "without it", "problems", "right", "cost"),
        tuple(row for credit in added for row in _credit_rows(credit)),
    )


def _credit_rows(credit: Credit) -> list[tuple[str, ...]]:
    named = (credit.domain, credit.operator)
    of_pairs: list[tuple[str, ...]] = [
        (*named, a, b, *_gain_texts(gain)) for a, b, gain in credit.pairs
    ]
    if len(of_pairs) == 1:
        return of_pairs
    return [(*named, f"{len(of_pairs)} pairs", "", *_gain_texts(credit.gain)), *of_pairs]


def _gain_texts(gain: Gain) -> tuple[str, str, str]:
    right = f"{100 * gain.right:+.1f} [{100 * gain.low:+.0f}, {100 * gain.high:+.0f}]"
    return str(len(gain.by_problem)), right, f"{gain.cost:+.0f}"


def right_text(score: Score) -> str:
    """``61.5 [50, 72]``, in per cent; a mean of nothing is a dash."""
    if not score.problems:
        return "-"
    reach = f" to {100 * score.most:.1f}" if score.most > score.right else ""
    return f"{100 * score.right:.1f}{reach} [{100 * score.low:.0f}, {100 * score.high:.0f}]"


def cost_text(score: Score) -> str:
    """In written tokens."""
    return f"{score.cost:.0f}" if score.problems else "-"

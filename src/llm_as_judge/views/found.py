"""The table of a search's choices, and the short names of its programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm_as_judge.types import Budget
from llm_as_judge.views.console import say
from llm_as_judge.views.open_answers import open_runs
from llm_as_judge.views.tables import show_table

if TYPE_CHECKING:
    from llm_as_judge.evaluation.search.choices import Score, SearchResult


def show_found(found: SearchResult, budget: Budget | None = None) -> None:
    """One row for each choice, of ``budget`` or of all; a budget is named where the choice depends on it."""
    choices = [one for one in found.choices if budget in (None, one.budget)]
    short = short_names({choice.name for choice in choices})
    budgets: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for choice in choices:
        same = (
            short[choice.name],
            right_text(choice.cross_validated),
            cost_text(choice.cross_validated),
            f"{100 * choice.in_sample.right:.1f}",
        )
        chosen = budgets.setdefault((choice.scope, choice.of), {})
        chosen.setdefault(same, []).append(choice.budget)
    rows = [
        [_row_name(scope, of) + (f" ({', '.join(which)})" if len(chosen) > 1 else ""), *same]
        for (scope, of), chosen in budgets.items()
        for same, which in chosen.items()
    ]
    head = ["for", "program", "right", "cost", "in-sample"]
    show_table("Best fixed programs, % right [95 % interval]", head, rows, False)
    for line in _reading(found, any(len(chosen) > 1 for chosen in budgets.values())):
        say(line)
    if told := open_runs(found.not_graded, found.search_runs):
        say(told)


def right_text(score: Score) -> str:
    """``61.5 [50, 72]``, in per cent; a mean of nothing is a dash."""
    if not score.problems:
        return "-"
    reach = f" to {100 * score.most:.1f}" if score.most > score.right else ""
    return f"{100 * score.right:.1f}{reach} [{100 * score.low:.0f}, {100 * score.high:.0f}]"


def cost_text(score: Score) -> str:
    """In written tokens."""
    return f"{score.cost:.0f}" if score.problems else "-"


def _row_name(scope: str, of: str) -> str:
    """A domain can have the name of a data set."""
    return f"all {of}" if scope == "domain" else of


def _reading(found: SearchResult, by_budget: bool) -> list[str]:
    """What the columns are, and what the runs cost, a line each."""
    columns = "right, cost: cross-validated, five folds. in-sample: on the rows of the choice, so too high."
    lines = [columns]
    if by_budget:
        lines.append("(low), (middle), (high): the budgets that the program was chosen at.")
    new = (
        f"{found.measuring_runs:,} of its runs are new"
        if found.measuring_runs
        else "it asked nobody anew"
    )
    spent = (
        f"{found.search_runs:,} runs, kept ones included, cost {found.search_cost:,.0f} written tokens; "
        f"cross-validation read {found.measuring_cost:,.0f} ({new})."
    )
    return [*lines, spent]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Of each program the shortest end of its path that no other has: ``until_3`` for
    ``exported/math/until_3.py``, with the mark of one that was drawn."""
    parts = {name: _path_and_mark(name) for name in names}
    whole = [f"/{path}{mark}" for path, mark in parts.values()]
    found = {}
    for name, (path, mark) in parts.items():
        steps = path.split("/")
        ends = ["/".join(steps[n:]) + mark for n in reversed(range(len(steps)))]
        alone = (end for end in ends if sum(one.endswith(f"/{end}") for one in whole) == 1)
        found[name] = next(alone, ends[-1])
    return found


def _path_and_mark(name: str) -> tuple[str, str]:
    """``("exported/qa", "~a1b2c3")`` of ``exported/qa.py~a1b2c3``."""
    path = name.partition("~")[0]
    return path.removesuffix(".py"), name[len(path) :]

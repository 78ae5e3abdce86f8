"""stop learn: a table that says when one more draw is worth its price, learned from a bank."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.assembly import program_options
from llm_as_judge.assembly.executor_settings import bound_of, operator_settings
from llm_as_judge.cli.asking import Asked
from llm_as_judge.evaluation.baselines import single_call_baselines
from llm_as_judge.evaluation.stop_learning import LearnedDomain, learn_table
from llm_as_judge.files import write_text
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.table import Bank, conditions_of
from llm_as_judge.views.console import note, say
from llm_as_judge.views.tables import show_table


def learn(asked: Asked, *, bank: Path, way: list[str] | None, most: int, out: Path) -> None:
    settings = asked.settings()
    kept = Bank.named(bank, "--bank")
    learned = learn_table(
        kept,
        single_call_baselines(program_options(settings), way or ()),
        bound_of(conditions_of(bank), bank),
        operator_settings(settings).prompt_price,
        most,
        choose=not way,
    )
    write_text(out, learned.table.dump())
    for one in learned.domains:
        _show(one)
    for domain, why in learned.left_out.items():
        note(f"{domain} is left out: {why}; ask for more: llm-as-judge pool fill --split train")
    say(f"the table is in {out}; use it: --set stop.table={out}, and until_worth in a program")


def _show(one: LearnedDomain) -> None:
    ways = " and ".join(one.ways)
    best = next(each for each in one.prices if each.price == PRICES["middle"])
    level = (
        f"a vote of {best.vote} is as right for {best.vote_cost:.0f}"
        if best.vote
        else "no vote of these draws is as right"
    )
    say(
        f"{one.domain}: {ways} in turn, {one.problems} problems, cross-validated. At the middle budget's "
        f"price {best.right:.1%} right for {best.cost:.0f} written tokens; {level}."
    )
    rows = [
        [f"price {price.price:g}", f"{price.right:.1%}", f"{price.cost:.0f}"]
        for price in one.prices
    ]
    rows += [
        [f"vote of {n}", f"{right:.1%}", f"{cost:.0f}"]
        for n, (right, cost) in enumerate(one.votes, start=1)
    ]
    show_table("", ["", "right", "cost, written tokens"], rows, False)

"""The outcome of a quickstart: its verdict, its table, what to do next."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.evaluation.compare import Comparison
from llm_as_judge.evaluation.quickstart import Outcome, right_of
from llm_as_judge.views.console import say
from llm_as_judge.views.open_answers import counted
from llm_as_judge.views.tables import show_table


def show_outcome(outcome: Outcome, page: Path, config: str) -> None:
    kinds = list(dict.fromkeys(outcome.systems[0].datasets.values()))
    rows = [
        [
            system.name,
            *(right_of(system, kind) for kind in kinds),
            right_of(system),
            f"{system.mean_tokens:.0f}",
        ]
        for system in outcome.systems
    ]
    show_table("Held-out rows right", ["", *kinds, "all", "tokens"], rows, False)
    for line in _graded_how(outcome):
        say(line)
    for what, pair in _comparisons(outcome).items():
        say(_difference(what, pair))
    for line in verdict(outcome):
        say(line)
    say(f"page  {page}")
    say("What next:")
    for line in _next(outcome, config):
        say(f"  {line}")


def _graded_how(outcome: Outcome) -> list[str]:
    answers = sum(len(c.datasets) for c in outcome.systems)
    counts = {c.name: sum(c.open.values()) for c in outcome.systems if c.open}
    failed = sum(len(c.datasets) - len(c.right) for c in outcome.systems)
    lines = [_verdicts(answers - failed, outcome.judged, sum(counts.values()))]
    if counts:
        lines.append(f"open (not right in the table and in the tests): {counted(counts)}")
    return lines


def _verdicts(answers: int, judged: int, open_: int) -> str:
    by_rules = answers - judged - open_
    return (
        f"verdicts on {answers} answers: {by_rules} by rules and tests, {judged} by the trained judge, which is asked "
        f"where these leave an answer open; {open_} open"
    )


def _difference(what: str, pair: Comparison) -> str:

    cost = "" if pair.token_ratio is None else f"; executor tokens x {pair.token_ratio:.2f}"
    return f"{what}: on {pair.problems} rows {pair.figures}{cost}"


def _comparisons(outcome: Outcome) -> dict[str, Comparison]:
    return {
        "trained - warm-started": outcome.against_warm,
        "the same with drawn programs": outcome.against_warm_sampled,
        "trained - best fixed programs": outcome.against_fixed,
        "trained - untrained": outcome.against_untrained,
    }


def verdict(outcome: Outcome) -> list[str]:
    """What each part has taught, and what to do where GRPO's is not shown."""
    return [*_of_grpo(outcome), _of_fixed(outcome)]


def _of_grpo(outcome: Outcome) -> list[str]:
    greedy, drawn = outcome.against_warm, outcome.against_warm_sampled
    rows = (
        f"{_won(greedy)} rows won : lost against its own start, {_won(drawn)} with drawn programs"
    )
    if outcome.grpo_lost:
        return [
            f"GRPO did harm: {rows}. The checkpoint step_0 is the better policy.",
            "Lower --set training.learning_rate in a new --out, or take more problems to a step.",
        ]
    if outcome.grpo_taught:
        return [
            f"GRPO taught the policy to choose: {rows}.",
            "The warm start had taught it to write each program, and to prefer none.",
        ]
    return [
        f"GRPO's part is not shown on this seed: {rows}.",
        "--steps 16 goes on from here; another --seed makes another task.",
    ]


def _won(pair: Comparison) -> str:
    return f"{pair.only_other} : {pair.only_reference}"


def _of_fixed(outcome: Outcome) -> str:
    if outcome.beats_fixed:
        return "The trained policy beats the best fixed programs: it reads the problem."
    return "The trained policy is not shown to beat the best fixed programs."


def _next(outcome: Outcome, config: str) -> list[str]:
    results = outcome.results["trained"].parent
    return [
        f"llm-as-judge compare {results}/*_results.json --by-domain",
        (
            f"llm-as-judge solve --config {config} --policy {outcome.checkpoint} --domain math "
            '--problem "Work out 417 * 583 - 96 * 240."'
        ),
        "llm-as-judge init mine.jsonl --executor openai:MODEL@http://HOST:PORT/v1    # your own rows",
    ]

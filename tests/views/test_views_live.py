"""Tables, as a terminal of known width shows them."""

from __future__ import annotations

import io

from rich.console import Console

from llm_as_judge.runs.results import Results
from llm_as_judge.views.live import (
    STEP_COLUMNS,
    cells,
    results_table,
    smallness,
    step_line,
    step_table,
)
from llm_as_judge.views.report.results import results_view

STEP = {"step": 3, "accuracy/all": 0.5, "reward/mean": -1.25, "executor/tokens": 120.4}


def screen() -> Console:
    return Console(file=io.StringIO(), width=200)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_figure_that_is_missing_is_a_dash() -> None:
    by_heading = dict(zip((name for name, _, _ in STEP_COLUMNS), cells(STEP), strict=True))
    assert by_heading["step"] == "3"
    assert by_heading["right"] == "50%"
    assert by_heading["reward"] == "-1.25"
    assert by_heading["tokens"] == "120"
    assert by_heading["math"] == by_heading["learn s"] == "-"


def test_the_step_table_has_a_row_a_step() -> None:
    console = screen()
    console.print(step_table([STEP, {"step": 4, "reward/mean": 2.0}], title="training"))
    text = shown(console)
    assert "training" in text
    assert "-1.25" in text
    assert "+2.00" in text


def metrics(accuracy: float) -> dict[str, float]:
    return {
        "accuracy": accuracy,
        "accuracy_low": accuracy - 0.1,
        "accuracy_high": accuracy + 0.1,
        "strictly_valid": 0.75,
        "executed": 0.5,
        "calls": 1.5,
        "tokens": 99.6,
    }


def results(*sets: str, accuracy: float, **overall: float) -> Results:
    rows = tuple({"dataset": name, "metrics": metrics(accuracy)} for name in sets)
    return Results.model_validate({"datasets": rows, "overall": metrics(accuracy) | overall})


def test_results_stand_side_by_side_with_their_intervals() -> None:
    console = screen()
    table = results_table(
        {
            "before": results("gsm8k", "mbpp", accuracy=0.2),
            "after": results("gsm8k", accuracy=0.6),
        }
    )
    console.print(table)
    rows = {line.split("│")[1].strip(): line for line in shown(console).splitlines() if "│" in line}
    assert "20% [10%, 30%]" in rows["gsm8k"]
    assert "60% [50%, 70%]" in rows["gsm8k"]
    assert rows["mbpp"].split("│")[3].strip() == "-"
    assert "1.50" in rows["calls per problem"]
    assert "100" in rows["tokens per problem"]


def test_a_set_whose_answers_are_all_open_says_how_far_its_accuracy_could_reach() -> None:
    console = screen()
    open_ = {"graded": 0.0, "accuracy_if_open_right": 1.0, "accuracy_high": 1.0}
    found = Results.model_validate(
        {
            "datasets": ({"dataset": "gsm8k", "metrics": metrics(0.2) | open_},),
            "overall": metrics(0.2) | {"graded": 10.0},
        }
    )
    console.print(results_table({"after": found}))
    rows = {line.split("│")[1].strip(): line for line in shown(console).splitlines() if "│" in line}
    assert "20% to 100% [10%, 100%]" in rows["gsm8k"]
    assert "20% [10%, 30%]" in rows["overall"]
    assert rows["graded"].split("│")[2].strip() == "10"


def test_the_mix_beside_sets_is_called_what_it_is() -> None:
    beside, alone = results("gsm8k", "mixed", accuracy=0.2), results("mixed", accuracy=0.2)
    named = [row[0] for row in results_view({"a": beside}).rows]
    assert named[:3] == ["gsm8k", "mixed (test mix, not in overall)", "overall"]
    assert results_view({"a": alone}).rows[0][0] == "mixed"


def test_a_few_problems_are_told_to_show_little_and_many_are_not() -> None:
    before, after = results("gsm8k", accuracy=0.2), results("gsm8k", accuracy=0.4)
    assert smallness({"before": before, "after": after}) == ""  # how many is not known
    before = results("gsm8k", accuracy=0.2, graded=12.0)
    after = results("gsm8k", accuracy=0.4, graded=10.0, accuracy_high=0.9)
    said = smallness({"before": before, "after": after})
    assert said.startswith("So few problems give the accuracy to within 30 points; ")
    many = results("gsm8k", accuracy=0.2, graded=100.0)
    assert smallness({"before": many, "after": many}) == ""


def test_who_has_evaluated_every_row_is_not_told_to_evaluate_more() -> None:
    def of(rows: int) -> str:
        data = {
            "dataset": "mine",
            "metrics": metrics(0.2),
            "num_samples": 7,
            "rows_in_test_file": rows,
        }
        whole = metrics(0.2) | {"graded": 7.0}
        return smallness({"all": Results.model_validate({"datasets": (data,), "overall": whole})})

    assert of(9).endswith("Evaluate more, with --limit.")
    assert of(7).endswith("Bring more rows: these are all.")


def test_the_line_of_a_step_has_seconds_right_and_cost() -> None:
    metrics = {
        "time/step_s": 41.4,
        "accuracy/all": 0.5,
        "rollout/strictly_valid": 0.97,
        "reward/mean": 1.2,
        "ledger/cost": 1234.0,
        "ledger/cost_usd": 0.0123,
    }
    assert step_line(2, 5, metrics) == (
        "step 2 of 5: 41 s, right 50%, valid 97%, reward +1.20, cost 1,234 written tokens, $0.0123"
    )
    assert step_line(1, 5, {"ledger/cost": 9.0, "ledger/cost_usd": 0.0}).endswith(" tokens")
    kept = step_line(1, 5, {"executor/tokens": 113.0, "ledger/cost": 0.0})
    assert kept == "step 1 of 5: no new replies to pay"

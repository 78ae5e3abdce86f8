"""Seeds of one training are averaged by problem, and only where they were evaluated alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written_results import row, written

from llm_as_judge.errors import DataError
from training_seeds import rows


def trained(folder: Path, seed: int, right: str, **more: Any) -> Path:
    facts = {"adapter": f"of seed {seed}", "executor": "w", "judge": "r", "code": "c"}
    problems = [row(i, [letter == "y"], 10) for i, letter in enumerate(right)]
    return written(folder, f"seed_{seed}", problems, **{"facts": facts, **more})


def test_each_training_weighs_the_same_on_each_problem(tmp_path: Path) -> None:
    seeds = [trained(tmp_path, 0, "yyyn"), trained(tmp_path, 1, "yynn")]
    fixed = [row(0, [True], 5), row(1, [False], 5), row(2, [False], 5), row(9, [True], 5)]
    everything, math = rows(seeds, [written(tmp_path, "fixed", fixed)])
    assert (everything.of, math.of) == ("all", "math")
    # on the problems that both have: 1, 1 and 1/2, to 1, 0 and 0
    assert everything.mean.problems == 3
    assert everything.mean.difference == pytest.approx(1.5 / 3)
    assert everything.seeds == pytest.approx((2 / 3, 1 / 3))
    assert everything.mean.low < everything.mean.difference < everything.mean.high


def test_each_seed_is_compared_with_its_own_start(tmp_path: Path) -> None:
    after = [trained(tmp_path / "after", 0, "yyn"), trained(tmp_path / "after", 1, "ynn")]
    starts = [trained(tmp_path / "before", 0, "nnn"), trained(tmp_path / "before", 1, "yyn")]
    everything, _ = rows(after, [], starts)
    assert everything.mean.reference == "before"
    assert everything.seeds == pytest.approx((2 / 3, -1 / 3))
    assert everything.mean.difference == pytest.approx(1 / 6)
    with pytest.raises(DataError, match="--before: 1 evaluations; wanted 2, one for each seed"):
        rows(after, [], starts[:1])
    with pytest.raises(DataError, match="nothing to compare with"):
        rows(after, [])


def test_holm_is_over_the_results_compared_with(tmp_path: Path) -> None:
    seeds = [trained(tmp_path, 0, "y" * 12), trained(tmp_path, 1, "y" * 12)]
    none = written(tmp_path, "none", [row(i, [False], 1) for i in range(12)])
    half = written(tmp_path, "half", [row(i, [i % 2 == 0], 1) for i in range(12)])
    found = {r.mean.reference: r for r in rows(seeds, [none, half]) if r.of == "all"}
    assert list(found) == ["none", "half"]
    assert found["none"].p_holm == pytest.approx(2 * found["none"].mean.p)
    assert found["half"].p_holm == pytest.approx(found["half"].mean.p)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"budget": "low"}, "budget middle .*, low .*; seeds of one training are evaluated alike"),
        ({"draws": 3}, "draws"),
        ({"judge": "other"}, "judge"),
        ({"problems": [row(0, [True], 10)]}, "problems 2 .*, 1"),
        (
            {"facts": {"adapter": "of seed 0", "executor": "w"}},
            "seed_0 and seed_1: the same adapter",
        ),
        (
            {"problems": [row(0, [True], 1), {**row(1, [True], 1), "content": "another"}]},
            "is not the same problem in both",
        ),
    ],
)
def test_what_was_not_evaluated_alike_is_refused(
    tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    first = trained(tmp_path, 0, "yn", budget="middle", draws=5)
    second = trained(tmp_path, 1, "yn", **{"budget": "middle", "draws": 5, **other})
    with pytest.raises(DataError, match=said):
        rows([first, second], [first])


def test_a_domain_that_the_other_lacks_is_one_line(tmp_path: Path) -> None:
    seeds = []
    for seed in (0, 1):
        both = [row(0, [True], 1), row(1, [True], 1, "squad2")]
        seeds.append(trained(tmp_path, seed, "", problems=both))
    fixed = written(tmp_path, "fixed", [row(0, [True], 1)])
    with pytest.raises(DataError, match="fixed: no problem of qa that both have graded"):
        rows(seeds, [fixed])


def test_the_recipe_prints_a_table_and_one_line_for_what_can_be_mended(
    tmp_path: Path, start: Callable[..., tuple[int, str, str]]
) -> None:
    seeds = [str(trained(tmp_path, seed, "yyn")) for seed in (0, 1)]
    fixed = str(written(tmp_path, "fixed", [row(i, [False], 5) for i in range(3)]))
    end = ["--against", fixed, "--markdown"]
    status, out, err = start("recipes/training_seeds.py", *seeds, *end)
    assert status == 0, err
    assert "| fixed | all | 3 | +66.7 [" in out
    assert "| +66.7, +66.7 |" in out
    status, _, err = start("recipes/training_seeds.py", seeds[0], *end)
    assert (status, err.count("\n")) == (2, 1)
    assert "1 evaluation given; wanted two or more" in err

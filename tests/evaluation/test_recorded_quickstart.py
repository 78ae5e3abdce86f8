"""The run that the package ships: its rows, its verdicts by today's rules, and damaged files."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import resources
from pathlib import Path

import pytest

from llm_as_judge.config import load_config
from llm_as_judge.data.quickstart import SIZES
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import compare
from llm_as_judge.evaluation.pages import changes
from llm_as_judge.evaluation.quickstart import right_of
from llm_as_judge.evaluation.recorded_quickstart import (
    FILE,
    RECORDED,
    grade_recorded,
    read_recorded,
    shipped_recording,
)
from llm_as_judge.evaluation.system_results import read_systems

README = Path(__file__).parents[2] / "README.md"
DOCS = README.parent / "docs"
COLUMN = {
    "best fixed programs": "best_fixed",
    "untrained policy": "untrained",
    "warm-started: the form": "warm_started",
    "**ten GRPO steps later**": "trained",
}
"""Rows of the page's table."""
ROWS = sum(sizes["test"] for sizes in SIZES.values())


def test_the_shipped_run_is_of_todays_held_out_rows_and_holds_no_prompt() -> None:
    recorded = shipped_recording()
    assert tuple(one.system for one in recorded) == RECORDED
    for one in recorded:
        assert len(one.pairs) == ROWS
        assert all(problem.id == rollout.problem_id for problem, rollout in one.pairs)
        assert not any(rollout.completion.prompt_ids for _, rollout in one.pairs)
        assert all(rollout.verdict is None for _, rollout in one.pairs)


@pytest.mark.slow
def test_todays_rules_show_of_the_shipped_run_what_the_readme_says(tmp_path: Path) -> None:
    config = load_config("quickstart")
    paths = asyncio.run(grade_recorded(shipped_recording(), config, tmp_path))
    found = dict(zip(paths, read_systems(list(paths.values())), strict=True))
    changed = changes(paths["warm_started"], paths["trained"], ("before", "after"))
    assert changed is not None
    pair = compare([found["trained"], found["warm_started"]], found["warm_started"])[0]
    assert (len(changed.won), len(changed.lost)) == (pair.only_other, pair.only_reference)
    kinds = {one.dataset for one in changed.won}
    assert {one.dataset for one in changed.won[: len(kinds)]} == kinds  # they take turns
    right = {name: right_of(one).removesuffix(f" of {ROWS}") for name, one in found.items()}
    assert right["trained"].isdecimal()  # else "45" alone would be a bound
    dear = found["trained"].mean_tokens / found["best_fixed"].mean_tokens
    assert (
        f"{ROWS} held-out rows: {right['untrained']} right untrained, {right['warm_started']} after the warm start, "
        f"{right['trained']} after ten GRPO steps. Best fixed programs: {right['best_fixed']}, "
        f"for {1 / dear:.1f} times the executor tokens."
    ) in " ".join(README.read_text().split())
    page = (DOCS / "results" / "quickstart.md").read_text()
    for label, name in COLUMN.items():
        assert f"| {label} | {right[name] if name != 'trained' else f'**{right[name]}**'} |" in page
    for label, name in (("warm-started", "warm_started"), ("best fixed programs", "best_fixed")):
        pair = compare([found["trained"], found[name]], found[name])[0]
        low, high = (f"{100 * end:.0f}" for end in (pair.low, pair.high))
        assert f"| - {label}, points | {100 * pair.difference:+.0f} [{low}, {high}] |" in page
        assert f"| won : lost | {pair.only_other} : {pair.only_reference} |" in page
    start = right["warm_started"].replace(" to ", "-")
    for text in ((DOCS / "TRAINING.md").read_text(), (DOCS.parent / "CHANGELOG.md").read_text()):
        assert re.search(rf"{start}, \S+, \S+ -> {right['trained']}, ", text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rollout": {"problem_id": 3}}, ":2: not a recorded answer"),
        ({"seed": 7}, "answers of one seed are wanted"),
        ({"system": "another"}, "its rows are not those of this version"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    shipped = resources.files("llm_as_judge.evaluation") / FILE
    lines = shipped.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    (tmp_path / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_recorded(tmp_path / FILE)

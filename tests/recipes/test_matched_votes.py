"""Self-consistency at an equal token budget: votes worked by hand, programs that pass the check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.types import Domain
from matched_votes import Matched, matching_votes, write_programs

CONFIG = Config()


NEEDED = dict.fromkeys(
    ("accuracy", "accuracy_low", "accuracy_high", "strictly_valid", "executed", "calls"), 0.5
)


def results(path: Path, **tokens: float | None) -> Path:
    domains = {domain: {**NEEDED, "tokens": count} for domain, count in tokens.items()}
    overall = {**NEEDED, "tokens": 1.0}
    path.write_text(json.dumps({"datasets": [], "domains": domains, "overall": overall}))
    return path


def with_settings(path: Path, **executor: Any) -> None:
    """The full results behind ``path``, of an evaluation with these settings of its executor."""
    run = path.parent / "runs" / path.stem
    run.mkdir(parents=True)
    config = Config().model_dump(mode="json")
    rows = [{"id": "a", "dataset": "d", "domain": "math", "correct": [True], "tokens": [1]}]
    figures = dict.fromkeys(("policy_tokens", "seconds", "cost_usd"), 1.0)
    results = json.loads(path.read_text())
    full = {
        "policy": "p",
        "executor": CONFIG.executor.model,
        "seed": 0,
        "datasets": [],
        "overall": {**results["overall"], **figures},
        "problems": rows,
        "facts": {"executor": executor.pop("weights", "w")},
        "config": {"executor": {**config["executor"], **executor}},
    }
    (run / "full.json").write_text(json.dumps(full))
    path.write_text(json.dumps({**results, "run": f"runs/{path.stem}"}))


def test_votes_meet_the_tokens_of_the_target(tmp_path: Path) -> None:
    target = results(tmp_path / "trained_results.json", math=1000, qa=90, code=900)
    results(tmp_path / "cot_results.json", math=300, qa=400)
    results(tmp_path / "direct_results.json", code=10)
    found = matching_votes(target, 12)
    # 1000 / 300 = 3.3; less than one vote is one; code is capped, its ensemble being a call
    assert found == {
        "math": Matched(3, 1000, 300, False),
        "qa": Matched(1, 90, 400, False),
        "code": Matched(11, 900, 10, True),
    }
    assert [one.expected for one in found.values()] == [900, 400, 110]


def test_the_programs_cast_these_votes_pass_the_check_and_replace_none(tmp_path: Path) -> None:
    votes: dict[Domain, Matched] = {
        "math": Matched(3, 1, 1, False),
        "code": Matched(11, 1, 1, True),
    }
    write_programs(votes, tmp_path / "new")
    voting = find_system(str(tmp_path / "new"), program_options(CONFIG))
    assert voting.domains == {"math", "code"}
    assert "VOTES = 3\n" in (tmp_path / "new" / "math.py").read_text()
    with pytest.raises(OutputError, match="new: is there already; remove it"):
        write_programs(votes, tmp_path / "new")


def test_votes_without_their_price_say_what_to_run(tmp_path: Path) -> None:
    target = results(tmp_path / "trained_results.json", math=1000)
    with pytest.raises(DataError, match=r"no such file, and it says what a vote .* --policy cot"):
        matching_votes(target, 12)
    with pytest.raises(DataError, match="a folder; wanted a results file of evaluate"):
        matching_votes(tmp_path, 12)
    results(tmp_path / "cot_results.json", qa=10)
    with pytest.raises(DataError, match=r"no tokens of math; run: .* --policy cot"):
        matching_votes(target, 12)


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        (None, "no figures by domain; evaluate again"),
        ({"math": {}}, "domains.math: no 'accuracy'"),
        ({"math": 5}, "domains.math: Input should be an object, found 5"),
        (
            {"math": {**NEEDED, "tokens": "x"}},
            "domains.math.tokens: Input should be a valid number, found",
        ),
        ({"math": {**NEEDED, "tokens": None}}, "nothing run of math; finish that evaluation first"),
    ],
)
def test_a_target_that_is_not_whole_is_one_line(tmp_path: Path, domains: Any, said: str) -> None:
    target = results(tmp_path / "trained_results.json")
    data = json.loads(target.read_text())
    data["domains"] = domains
    target.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
    with pytest.raises(DataError) as caught:
        matching_votes(target, 12)
    assert str(caught.value).startswith(f"{target}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"concurrency": 1}, ""),  # how fast is no matter
        (
            {"max_tokens": 99},
            r"executor.max_tokens 2048 \(.*trained.*\), 99 \(.*cot.*\); .* evaluate all of them alike",
        ),
        ({"enhance": False}, r"executor.enhance true \(.*\), false"),
        ({"weights": "others"}, r"weights of the executor w .*, others"),
    ],
)
def test_votes_are_matched_only_with_one_executor_and_its_settings(
    tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    target = results(tmp_path / "trained_results.json", math=1000)
    price = results(tmp_path / "cot_results.json", math=300)
    with_settings(target)
    with_settings(price, **other)
    if said:
        with pytest.raises(DataError, match=said):
            matching_votes(target, 12)
    else:
        assert matching_votes(target, 12)["math"].votes == 3

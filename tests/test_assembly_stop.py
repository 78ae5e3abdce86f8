"""The stop table of a configuration: bound to the executor that its draws came of."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.assembly.executor_settings import BOUND, bound_of, stop_settings
from llm_as_judge.assembly.policy_prompt import shown_operators
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable

RULE = StopRule(((0.0,) * (1 + len(FEATURES)),), ())


def config(table: Path | None, **stop: object) -> Config:
    return Config.model_validate(
        {"executor": {"model": "scripted"}, "stop": {"table": table, **stop}}
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    here = config(None)
    bound = bound_of({name: read(here) for name, read in BOUND.items()}, tmp_path)
    path = tmp_path / "stop.json"
    path.write_text(StopTable(bound, {}, {}, {"math": {"0.1": RULE}}).dump())
    return path


def test_the_price_is_that_of_the_budget_unless_one_is_given(table: Path) -> None:
    usual, own = stop_settings(config(table)), stop_settings(config(table, price=0.2, round=3))
    assert usual is not None
    assert own is not None
    assert (usual.price, usual.round, usual.fixed) == (0.1, 1, False)
    assert (own.price, own.round, own.fixed) == (0.2, 3, True)
    assert stop_settings(config(None)) is None


def test_the_table_of_another_executor_is_refused_with_both_names(table: Path) -> None:
    other = config(table).model_copy(
        update={"executor": config(None).executor.model_copy(update={"model": "gpt-4o-mini"})}
    )
    with pytest.raises(
        ConfigError, match=r'executor.model "scripted", and here it is "gpt-4o-mini"'
    ):
        stop_settings(other)


def test_a_bank_of_an_earlier_version_binds_nothing() -> None:
    with pytest.raises(DataError, match=r"results/bank/about.json: no 'executor"):
        bound_of({}, Path("results/bank"))


def test_a_prompt_shows_the_operator_only_with_a_table(table: Path) -> None:
    assert "UntilWorth" not in shown_operators(config(None))
    assert "UntilWorth" in shown_operators(config(table))

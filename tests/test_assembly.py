"""Configuration reaches the parts it is for."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from llm_as_judge.assembly import answer_kinds, code_tests, policy_prompt, run_limits
from llm_as_judge.assembly.answer_kinds import kinds_of_sets
from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.assembly.executor_settings import (
    BOUND,
    bound_of,
    operator_settings,
    stop_settings,
)
from llm_as_judge.assembly.policy_prompt import shown_operators
from llm_as_judge.config import Config, load_config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError, DataError, IsolationError
from llm_as_judge.operators import registry
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.types import BUDGETS, DOMAINS, AnswerSpec, Domain, Problem, Prompt, Sandbox

OVERRIDES = (
    "workflow.timeout_s=7", "workflow.cpu_s=3", "workflow.memory_mb=100",
    "workflow.max_operator_calls=5", "workflow.code_timeout_s=2", "workflow.code_cpu_s=1",
    "executor.max_tokens=11", "executor.temperature=0.1",
    "workflow.max_calls=9", "executor.seed=null", "training.seed=4",
)  # fmt: skip


def test_limits_of_a_run_come_from_the_configuration() -> None:
    limits = run_limits(load_config(overrides=OVERRIDES))
    assert (limits.wall_s, limits.cpu_s, limits.operator_calls) == (7.0, 3.0, 5)
    assert limits.memory_bytes == 100 * 2**20


def test_code_of_the_executor_has_limits_of_its_own() -> None:
    settings = operator_settings(load_config(overrides=OVERRIDES))
    limits = settings.code_limits
    assert (limits.wall_s, limits.cpu_s, limits.memory_bytes) == (2.0, 1.0, 100 * 2**20)
    assert (settings.max_tokens, settings.seed, settings.max_calls) == (11, 4, 9)
    assert settings.temperature == 0.1


def test_the_prompt_shows_the_operators_that_the_configuration_names() -> None:
    shown = load_config(overrides=[*OVERRIDES, "sampling.operators=[Programmer, Vote]"])
    (prompt,) = policy_prompt(shown).write([Problem("t/t/1", "gsm8k", "math", "?")])
    told = prompt.messages[0].content
    assert ("programmer(" in told, "vote(" in told, "answer_generate(" in told) == (
        True, True, False,
    )  # fmt: skip


def asked(*overrides: str) -> Prompt:
    """The policy's prompt."""
    (prompt,) = policy_prompt(load_config(overrides=[*OVERRIDES, *overrides])).write(
        [Problem("t/t/1", "gsm8k", "math", "?")]
    )
    return prompt


def told(*overrides: str) -> str:
    """Its system message."""
    return asked(*overrides).messages[0].content


def test_a_budget_is_told_where_one_is_in_force() -> None:
    few = asked("reward.scheme=weighted")
    assert "- Use few calls. " in few.messages[0].content
    assert few == asked("reward.scheme=weighted", "reward.budget=low")
    assert few == asked("reward.scheme=gated", "reward.budget=high")
    priced = ["reward.scheme=priced", "experience.reward_threshold=0.9"]
    for word in BUDGETS:
        found = asked(*priced, f"reward.budget={word}")
        assert found.facts.budget == word
        *before, last = found.messages
        assert last.content.startswith(f"The budget for calls is {word}: ")
        assert last.content.endswith("\n" + few.messages[-1].content)
        assert "few calls." not in before[0].content
        assert before[1:] == few.messages[1:-1]
    assert asked(*priced) == asked(*priced, "reward.budget=middle")


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("form", ["body", "class"])
def test_the_prompt_of_signatures_names_each_operator_once_and_shows_nothing_else(
    form: str, domain: Domain
) -> None:
    style = ["sampling.prompt_style=signatures", f"sampling.form={form}"]
    config = load_config(overrides=[*OVERRIDES, *style])
    (found,) = policy_prompt(config).write([Problem("t/t/1", "gsm8k", domain, "?")])
    system, asked = (message.content for message in found.messages)
    shown = [one for one in registry().values() if not one.operator.wants_stop_table]
    entries = [one for one in shown if domain in one.description.domains]
    for entry in entries:
        assert system.count(f"{entry.call_name}(") == 1
        assert f"{entry.description.call} -> {', '.join(entry.empty)}\n" in system
        assert entry.description.summary not in system
    assert len(system.splitlines()) == len(entries) + 2
    assert asked.endswith("?")
    assert found.facts.examples == 0


def test_the_prompt_tells_of_further_executors_behind_the_operators() -> None:
    several = told("executors.small={model: scripted, price: 0.25, strength: weak at sums}")
    lines = (
        "Each operator that asks also takes `executor`; without it the default one is asked:\n"
        'executor="small"  # 0.25 of the price of the default one: weak at sums\n'
    )
    assert several.replace(lines, "") == told()


def test_an_operator_to_be_shown_that_does_not_exist_is_one_line() -> None:
    wrong = load_config(overrides=[*OVERRIDES, "sampling.operators=[Voter]"])
    with pytest.raises(
        ConfigError, match=r"sampling\.operators: there is no operator 'Voter'"
    ) as e:
        policy_prompt(wrong)
    assert "\n" not in str(e.value)
    assert "Vote" in str(e.value)


# ------------------------------------------------------------------------------- kinds of answers
def row(number: int, *answers: str, question: str = "What?", **more: object) -> Problem:
    return Problem(f"mine/{number}", "mine", "qa", question, answers, **more)  # type: ignore[arg-type]


def files(folder: Path, name: str, *rows: Problem) -> Path:
    for place, side in (("processed", "train"), ("processed", "val"), ("test", "test")):
        held = rows if side == "train" else ()
        write_problems(folder / place / f"{name}_{side}.jsonl", held)
    return folder


def test_each_row_counts_once_by_the_kind_that_its_answer_is_read_as(tmp_path: Path) -> None:
    rows = (
        row(1, "$5", "five dollars"),
        row(2, "12:30", question="When?"),
        row(3, "B", question="Which?\nA. argon\nB. neon"),
        row(4, "blue", spec=AnswerSpec(kind="long_text")),
        row(5),
        row(6, "$7"),
    )
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.shown == "2 money, 1 time, 1 choice, 1 long_text, 1 without an answer"


def test_of_code_nothing_is_said(tmp_path: Path) -> None:
    code = Problem("c/1", "c", "code", "q", hidden_tests=("assert f()",), entry_point="f")
    assert kinds_of_sets(files(tmp_path, "c", code), ["c"]) == []


def test_of_a_large_set_the_first_rows_are_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_kinds, "MOST_ROWS", 2)
    rows = [row(n, str(n)) for n in range(3)]
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.shown == "2 number (of the first 2 rows)"


def test_units_that_nothing_knows_are_counted(tmp_path: Path) -> None:
    units = ["km/h", "EUR", "%", "frobs", "frobs", "m^2"]
    rows = [row(n, "5", spec=AnswerSpec(unit=unit)) for n, unit in enumerate(units)]
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.units == {"frobs": 2}


# ----------------------------------------------------------------------------- tests of code rows
GOOD = Problem("o/t/1", "o", "code", "?", entry_point="f", hidden_tests=("assert f(1) == 2",))
TESTS_NOTHING = replace(GOOD, id="o/t/2", hidden_tests=("assert True",))
"""A row that any code passes: what the check has to name."""


async def no_sandbox(*_: object, **__: object) -> Sandbox:
    raise IsolationError("no sandbox here")


@pytest.mark.slow
def test_rows_without_a_fault_are_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    check = CodeTestCheck("auto", tmp_path)
    assert check([GOOD]) == [""]
    assert "only raises" in check([GOOD, TESTS_NOTHING])[1]
    monkeypatch.setattr(code_tests, "open_sandbox", no_sandbox)
    with caplog.at_level(logging.WARNING):
        assert check([GOOD]) == [""]
    assert not caplog.records


def test_without_a_sandbox_it_is_said_that_nothing_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(code_tests, "open_sandbox", no_sandbox)
    assert CodeTestCheck("auto", tmp_path)([TESTS_NOTHING]) == [""]
    assert "tests of 1 code rows are not tried: no sandbox here" in caplog.text
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------------- the stop table
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

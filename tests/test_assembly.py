"""Configuration reaches the parts it is for."""

from __future__ import annotations

import pytest

from llm_as_judge.assembly import policy_prompt, run_limits
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import registry
from llm_as_judge.types import BUDGETS, DOMAINS, Domain, Problem, Prompt

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

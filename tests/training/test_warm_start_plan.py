"""The warm start's lessons are told before any model is loaded, by domain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly.learning import warm_start_options
from llm_as_judge.config import Config
from llm_as_judge.data.files import ProblemFile, write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.training.warm_start import WarmStartPlan, WarmStartState, foretold
from llm_as_judge.types import Domain, Problem
from llm_as_judge.workflow.program import parse_program

BODY = 'r = await custom(input=problem, instruction="{}")\nreturn r["response"]'


def problem(domain: Domain, n: int) -> Problem:
    tests = ("assert f() == 1",) if domain == "code" else ()
    return Problem(
        f"own/{domain}/{n}", f"own_{domain}", domain, f"{domain} {n}?", ("1",), hidden_tests=tests
    )


def program(domain: Domain, word: str) -> BankProgram:
    found = parse_program(BODY.format(word), domain, "body")
    return BankProgram(domain, found.hash, word, "given", found.runnable)


def told(place: Path, right: Mapping[Domain, str], **sections: Any) -> str:
    """What is said of a bank of one program a domain.

    Args:
        right: domain -> of each of its training problems 1 or 0, whether the program was right there; a
            dash: the bank does not know it.
    """
    file = place / "train.jsonl"
    problems = [
        (problem(domain, n), mark)
        for domain, marks in right.items()
        for n, mark in enumerate(marks)
    ]
    write_problems(file, [one for one, _ in problems])
    with Bank.writing(place / "bank", {}) as bank:
        for one, mark in problems:
            if mark != "-":
                key = bank.add_program(program(one.domain, one.domain)).key
                bank.add_problem(one)
                bank.add(RunRecord(key, one.id, 0, float(mark), 50.0, 9, 1, "ok"))
        held_out = problem("math", 99)
        bank.add_problem(held_out)
        bank.add(RunRecord(program("math", "math").key, held_out.id, 0, 1.0, 50.0, 9, 1, "ok"))
    training = {
        "warm_start": place / "bank",
        "problems_per_step": 2,
        "samples_per_problem": 2,
        **sections.pop("training", {}),
    }
    config = Config.model_validate(
        {"training": training, "sampling": {"form": "body"}, "reward": {}, **sections}
    )
    options = warm_start_options(config)
    plan = WarmStartPlan.of(options, ProblemFile(file), None)
    assert isinstance(plan, WarmStartPlan)
    return foretold(options, plan)


def test_problems_and_programs_are_counted_by_domain_and_a_domain_that_teaches_nothing_is_named(
    tmp_path: Path,
) -> None:
    assert told(tmp_path, {"math": "0000", "qa": "1111", "code": "1011"}) == (
        "warm start: 7 of the bank's 12 training problems teach 2 programs (qa 4 of 4, code 3 of 4, "
        "math none: no program was right there): 4 updates"
    )


def test_a_domain_that_the_bank_does_not_know_is_named(tmp_path: Path) -> None:
    assert told(tmp_path, {"math": "1", "qa": "--"}, training={"warm_start_epochs": 3}) == (
        "warm start: 1 of the bank's 1 training problems teach 1 program (math 1 of 1, qa none: the bank "
        "has no problem of it): 3 updates"
    )


def test_a_bank_in_which_all_are_wrong_is_said_to_teach_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, {"math": "00"}) == (
        "warm start: 0 of the bank's 2 training problems teach 0 programs (math none: no program was right "
        "there): 0 updates. So GRPO begins with an untrained policy; training.warm_start_mode=form would "
        "teach the form"
    )


def test_the_form_is_taught_also_where_no_program_was_right(tmp_path: Path) -> None:
    training = {"warm_start_mode": "form"}
    assert told(tmp_path / "a", {"math": "00", "qa": "1-"}, training=dict(training)) == (
        "warm start: 3 of the bank's 3 training problems teach 2 programs (math 2 of 2, qa 1 of 1): 2 updates"
    )
    with pytest.raises(DataError, match=r"bank: no program can be written in form body"):
        told(
            tmp_path / "b",
            {"math": "0"},
            training=training,
            sampling={"form": "body", "operators": ["Programmer"]},
        )


def test_programs_that_the_policy_is_not_shown_are_refused_without_a_tokenizer(
    tmp_path: Path,
) -> None:
    sampling = {"form": "body", "operators": ["Programmer"]}
    with pytest.raises(
        DataError, match=r"no program that was right .* can be written in form body"
    ):
        told(tmp_path, {"math": "1"}, sampling=sampling)


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ((), "0 updates"),
        ((1.5,), "1 update, mean loss 1.50 nats a token"),
        ((1.17, 0.5, 0.5, 2.04), "4 updates, mean loss 1.05 nats a token"),
        ((3.0, 2.0, *[1.0] * 16, 0.5, 0.25), "20 updates, loss 2.50, then 0.38 nats a token"),
    ],
)
def test_losses_of_few_updates_are_one_mean(losses: tuple[float, ...], said: str) -> None:
    assert WarmStartState("bank", "0", losses=losses).words == f"warm start: {said}"


def test_the_figures_of_losses_are_those_of_the_ends_and_of_all() -> None:
    found = WarmStartState("bank", "0", losses=(1.0, 2.0, 6.0)).metrics()
    ends = [found[f"warm_start/loss_{of}"] for of in ("first", "last", "mean")]
    assert ends == [1.0, 6.0, 3.0]
    assert "warm_start/loss_mean" not in WarmStartState("bank", "0").metrics()

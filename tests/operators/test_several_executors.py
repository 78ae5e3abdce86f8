"""The argument ``executor``: who is asked, at which price, and that a program cannot name another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from operator_fakes import service

from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import ExecutorSettings, OperatorSettings, executors_told, operator_docs
from llm_as_judge.operators.base import Operator
from llm_as_judge.operators.prompts import Enhancement
from llm_as_judge.operators.registry import load_registry
from llm_as_judge.types import DOMAINS, Json

SMALL = ExecutorSettings(
    "little-1b", temperature=0.9, steady_temperature=0.1, top_p=0.8, prompt_price=0.5, written_price=0.25
)  # fmt: skip
SETTINGS = OperatorSettings(temperature=0.7, executors={"small": SMALL})
ASKED: list[Json] = ["2 + 2?", "Add."]


async def test_a_call_asks_the_executor_that_it_names_as_that_one_is_asked() -> None:
    serve, chat = service(lambda _: "4", settings=SETTINGS)
    await serve("Custom", ASKED, {"executor": "small"})
    await serve("Custom", ASKED, {})
    await serve("Custom", ASKED, {"executor": "default"})
    await serve("Revise", ["2 + 2?", "5", "no"], {"executor": "small"})
    sent = [(r.executor, r.draw, r.temperature, r.top_p) for r in chat.requests]
    assert sent == [("small", 0, 0.9, 0.8), ("", 0, 0.7, 1.0), ("", 1, 0.7, 1.0), ("small", 0, 0.1, 0.8)]  # fmt: skip
    assert [call.executor for call in serve.calls] == ["small", "", "", "small"]


async def test_each_call_costs_what_its_own_executor_costs_and_its_prompt_once() -> None:
    serve, chat = service(lambda _: "4444", settings=SETTINGS)
    for executor in ("small", "small", "default"):
        await serve("Custom", ASKED, {"executor": executor})
    prompt = -(-len(chat.requests[0].messages[0].content.encode()) // 4)
    costs = [call.cost for call in serve.calls]
    assert costs == [(1 + prompt * 0.5) * 0.25, 0.25, 1 + prompt * 0.25]


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("tiny", "'tiny'"),
        ("", "''"),
        ("x" * 10_000, "'" + "x" * 37 + " ..."),
        (["small"], "\"['small']\""),
        ({"small": 1}, "\"{'small': 1}\""),
        (None, "'None'"),
        (True, "'True'"),
        ("small\n", r"'small\n'"),
    ],
    ids=["unknown", "empty", "long", "list", "dict", "none", "bool", "line end"],
)
async def test_a_name_that_the_program_made_up_is_one_line_and_asks_nobody(
    named: Json, shown: str
) -> None:
    serve, chat = service(lambda _: "4", settings=SETTINGS)
    with pytest.raises(TypeError) as caught:
        await serve("Custom", ASKED, {"executor": named})
    assert str(caught.value) == (
        f"custom(input, instruction): there is no executor {shown} (known: default, small)"
    )
    assert (chat.requests, serve.calls) == ([], ())


async def test_an_operator_that_asks_nobody_takes_no_executor() -> None:
    serve, _ = service(lambda _: "4", settings=SETTINGS)
    with pytest.raises(TypeError, match="has no argument 'executor'"):
        await serve("Vote", [["4"]], {"executor": "small"})


async def test_hints_are_those_of_the_model_that_is_asked() -> None:
    hint = Enhancement(name="for_little", add="Be brief.", executors=("little*",))
    serve, chat = service(lambda _: "4", settings=SETTINGS, enhancements=(hint,))
    await serve("AnswerGenerate", ["2 + 2?"], {"executor": "small"})
    await serve("AnswerGenerate", ["2 + 2?"], {})
    assert ["Be brief." in r.messages[0].content for r in chat.requests] == [True, False]


def test_an_operator_of_ones_own_cannot_take_the_argument_for_itself(tmp_path: Path) -> None:
    class Mine(Operator):
        empty: ClassVar[Mapping[str, Json]] = {"response": ""}
        prompt_names = ("ask",)

        async def run(self, input: str, executor: str) -> dict[str, Json]:  # noqa: A002
            return {}

    (tmp_path / "Mine.yaml").write_text(
        "name: Mine\nsummary: s\ncall: mine(input, executor)\narguments: {input: i, executor: e}\n"
        "returns: {response: r}\nworst_case_calls: 1\ndomains: [math]\nexample: x\n"
        "prompts: {ask: '{input}'}\n"
    )
    with pytest.raises(ConfigError, match="argument 'executor': every operator that asks has it"):
        load_registry([Mine], tmp_path)


def test_the_prompt_tells_of_the_executors_that_there_are_and_of_none_where_there_is_one() -> None:
    assert executors_told({}) == ""
    assert all("executor=" not in operator_docs(domain, "full") for domain in DOMAINS)
    told = executors_told({"small": (0.25, "weaker at arithmetic"), "far": (2.0, "")})
    assert told.splitlines()[2:] == [
        'executor="small"  # 0.25 of the price of the default one: weaker at arithmetic',
        'executor="far"  # 2 of the price of the default one',
    ]

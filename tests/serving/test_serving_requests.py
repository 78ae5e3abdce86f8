"""Requests of strangers: what is honored, what is refused and with which status."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from documented import ROOT, blocks, commands
from llm_as_judge.data.files import read_problems
from llm_as_judge.serving.answering import cut
from llm_as_judge.serving.requests import Ask, RequestError, RequestLimits, read_ask
from llm_as_judge.types import Problem

LIMITS = RequestLimits(calls=8, tokens=1000, seconds=60.0)


def ask(**fields: Any) -> Ask:
    body = {"model": "m", "messages": [{"role": "user", "content": "2 + 2?"}], **fields}
    return read_ask(body, "m", "qa", LIMITS)


def refused(**fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        ask(**fields)
    return caught.value


def test_a_lone_question_is_the_problem_as_it_is() -> None:
    assert ask().problem.statement() == "2 + 2?"


def test_the_page_asks_about_a_passage_in_the_form_of_the_rows_that_are_taught() -> None:
    page = ROOT / "docs" / "serving.md"
    (command,) = (c.text for c in commands(page) if c.text.startswith("curl "))
    words = shlex.split(command)
    asked = read_ask(
        json.loads(words[words.index("-d") + 1]), "llm-as-judge", "math", LIMITS
    ).problem
    (row,) = (
        row
        for row in read_problems(ROOT / "examples" / "own_task.jsonl")
        if row.question in asked.question
    )
    assert row.context
    assert (asked.statement(), asked.domain) == (row.statement(), row.domain)
    form = Problem("p", "custom", "qa", "QUESTION", context="PASSAGE").statement()
    assert form in [block.text.rstrip("\n") for block in blocks(page) if block.kind == "text"]


def test_a_conversation_keeps_its_roles() -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "2 + 2?"},
    ]
    found = ask(messages=messages)
    assert found.problem.question == (
        "system: Be brief.\n\nuser: Hi\n\nassistant: Hello\n\nuser: 2 + 2?"
    )
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "user"]


def test_the_domain_comes_from_the_field_or_the_models_name() -> None:
    assert ask().problem.domain == "qa"
    assert ask(model="m:math").problem.domain == "math"
    assert ask(workflow={"domain": "code", "entry_point": "f"}).problem.entry_point == "f"
    assert ask(model="m:math", workflow={"domain": "code"}).problem.domain == "code"


def test_a_budget_is_the_requests_else_the_servers() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "2 + 2?"}]}
    low = {**asked, "workflow": {"budget": "low"}}
    assert read_ask(asked, "m", "qa", LIMITS).budget is None
    assert read_ask(asked, "m", "qa", LIMITS, "middle").budget == "middle"
    assert read_ask(low, "m", "qa", LIMITS, "middle").budget == "low"
    assert "workflow.budget" in refused(workflow={"budget": "lower"}).message
    nobody = refused(workflow={"budget": "low"})  # would be told it
    assert (nobody.status, nobody.param) == (400, "workflow.budget")


def test_a_request_may_ask_for_less_and_never_for_more() -> None:
    less = ask(workflow={"max_calls": 2, "max_tokens": 10, "timeout_s": 1.5})
    assert less.limits == RequestLimits(2, 10, 1.5)
    more = ask(workflow={"max_calls": 99, "max_tokens": 9999, "timeout_s": 1e9})
    assert more.limits == LIMITS


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"model": "other"}, 404, "not served; here: m, m:math"),
        ({"messages": []}, 400, "messages"),
        ({"messages": "hi"}, 400, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, 400, "not empty"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400, "must be the user's"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, "messages.0.role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            400,
            "messages.0.content",
        ),
        ({"n": 2}, 400, "n: 2 choices"),
        ({"tools": [{}]}, 400, "tools"),
        ({"logprobs": True}, 400, "log-probs"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format"),
        ({"temperature": float("nan")}, 400, "temperature"),
        ({"temperature": 3}, 400, "temperature"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"workflow": {"domain": "art"}}, 400, "workflow.domain"),
        ({"workflow": {"foo": 3}}, 400, "workflow.foo: no such key (known: domain, budget, entry"),
        ({"workflow": {"timeout_s": float("inf")}}, 400, "workflow.timeout_s"),
    ],
)
def test_what_cannot_be_honored_is_refused(fields: dict[str, Any], status: int, said: str) -> None:
    error = refused(**fields)
    assert (error.status, said in error.message) == (status, True), error.message


@pytest.mark.parametrize("body", [None, [], "x", 3, {}])
def test_a_body_of_another_form_is_400(body: object) -> None:
    with pytest.raises(RequestError) as caught:
        read_ask(body, "m", "qa", LIMITS)
    assert caught.value.status == 400


def test_an_error_has_the_form_that_clients_read() -> None:
    assert RequestError(429, "later", "overloaded").body() == {
        "error": {
            "message": "later",
            "type": "rate_limit_error",
            "param": None,
            "code": "overloaded",
        }
    }


def test_an_answer_ends_before_the_first_stop_text() -> None:
    assert cut("one. two; three", ("; ", ". ")) == "one"
    assert cut("one", ("x",)) == "one"

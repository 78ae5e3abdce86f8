"""Every way in which an endpoint misbehaves ends in the right answer or in one line that says what and where."""

from __future__ import annotations

import pytest

from endpoint_modes import FAILURES, GIVEN_UP, LISTS, MODES, OF_THE_REQUEST, RIGHT
from fault_endpoint import FaultEndpoint
from llm_as_judge.errors import EndpointError, ModelError, RefusedRequestError
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.conformance import examine
from llm_as_judge.llm.ledger import Price
from llm_as_judge.types import ChatRequest, Message

ASKED = ChatRequest(
    (Message("system", "Be brief."), Message("user", "6*7?")),
    max_tokens=16,
    temperature=0.5,
    seed=1,
)
CLOCKED = ("hang", "slow_stream")


def client(server: FaultEndpoint, mode: str) -> OpenAIChat:
    limits = EndpointLimits(timeout_s=0.3 if mode in CLOCKED else 20.0, retries=1, backoff_s=0.001)
    return OpenAIChat("m", server.url, limits=limits, price=Price(1.0, 2.0))


def test_there_are_more_than_sixty_modes() -> None:
    assert len(MODES) > 60


@pytest.mark.parametrize("mode", RIGHT)
async def test_the_right_answer_comes_of_what_can_be_read(mode: str) -> None:
    async with FaultEndpoint(1.0, faults=[mode]) as server:
        chat = client(server, mode)
        async with chat.opened():
            reply = await chat.chat(ASKED)
    assert reply.text == "echo 6*7?" or reply.text == "echo Be brief.\n\n6*7?"
    assert reply.attempts <= 2
    assert chat.ledger.total.tokens < 1000


@pytest.mark.parametrize("mode", FAILURES)
async def test_a_failure_is_one_line_with_its_name_place_and_tries(mode: str) -> None:
    kind, _ = FAILURES[mode]
    async with FaultEndpoint(1.0, faults=[mode]) as server:
        chat = client(server, mode)
        async with chat.opened():
            with pytest.raises(EndpointError) as caught:
                await chat.chat(ASKED)
    once = mode in GIVEN_UP or mode in OF_THE_REQUEST
    said = str(caught.value)
    assert said.startswith(f"executor m at {server.url}: ")
    assert f"{kind}: " not in said  # the words say it
    assert said.endswith("(1 try)" if once else "(2 tries)")
    assert said.isprintable()
    assert len(said) < 500
    assert chat.ledger.failures == {kind: 1 if once else 2}
    assert isinstance(caught.value, RefusedRequestError) == (mode in OF_THE_REQUEST)


@pytest.mark.parametrize("listed", LISTS)
async def test_a_list_of_models_is_read_or_refused_in_one_line(listed: str) -> None:
    words, said = LISTS[listed]
    async with FaultEndpoint(0.0, listing=said) as server:
        chat = OpenAIChat("m", server.url)
        async with chat.opened():
            wait_s = 0.5 if words == "no answer in" else 20.0
            if not words:
                await chat.probe(wait_s)
                return
            with pytest.raises(ModelError) as caught:
                await chat.probe(wait_s)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"executor m at {server.url}: ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "mode", ["content is a list of texts", "nested 100,000 levels", "a refusal"]
)
async def test_a_probe_of_what_cannot_be_read_says_that_nothing_was_readable(mode: str) -> None:
    async with FaultEndpoint(1.0, faults=[mode]) as server:
        report = await examine(server.url, "m", max_concurrency=1, timeout_s=20.0)
    assert (report.readable, report.asked, report.tokens_per_s) == (0, 8, {})

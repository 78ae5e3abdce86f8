"""Texts of others are quoted without keys wherever they are cut, and no message cuts one by itself."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llm_as_judge
from llm_as_judge.config import checked_key
from llm_as_judge.errors import EndpointError, LlmAsJudgeError, ModelError
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.quoting import (
    beginning,
    hide_from_now_on,
    quoted,
    without_keys,
    without_known_keys,
)
from llm_as_judge.types import ChatRequest, Message

PLAIN = "q7Zx-91Vd/Ye+44Km.Rb0T"
"""A key of no known maker, with signs that JSON may escape."""
MADE = "sk-proj-Jq83_xW-tY61vUn0"
hide_from_now_on(PLAIN)


def shows_a_piece(text: str, key: str) -> bool:
    """Four characters of it, one after the other."""
    return any(key[at : at + 4] in text for at in range(3, len(key) - 3))


@given(
    key=st.sampled_from([PLAIN, MADE]),
    before=st.text(max_size=70) | st.integers(0, 260).map(lambda n: "x " * n),
    blanks=st.integers(0, 300),
    most=st.integers(8, 260),
)
def test_a_key_is_shown_at_no_cut(key: str, before: str, blanks: int, most: int) -> None:
    text = f"{before}{' ' * blanks} {key} and more" + " of it" * 60
    assert not shows_a_piece(quoted(text, most), key)
    assert len(quoted(text, most)) <= most
    assert not shows_a_piece(beginning(text, most), key)


@pytest.mark.parametrize("key", [PLAIN, MADE])
@pytest.mark.parametrize("behind", [65_536 - 12, 65_536 - 1, 65_536, 900_000])
def test_blanks_before_a_key_cut_no_part_of_it_off(key: str, behind: int) -> None:
    assert not shows_a_piece(quoted(f"found{' ' * behind}{key}"), key)


def test_a_key_is_found_as_json_and_repr_write_it() -> None:
    assert without_keys(json.dumps(PLAIN).replace("/", "\\/")) == '"***"'
    assert without_keys(repr({"k": PLAIN})) == "{'k': '***'}"


def test_of_two_keys_the_one_that_holds_the_other_is_hidden_whole() -> None:
    hide_from_now_on("abcd-efgh")
    hide_from_now_on("abcd-efgh-ijkl")
    hide_from_now_on("abcd-efg")
    assert without_known_keys("abcd-efgh-ijkl abcd-efgh") == "*** ***"


def test_a_word_for_a_server_that_wants_no_key_is_shown() -> None:
    checked_key("EMPTY", "here")
    assert quoted("EMPTY reply") == "EMPTY reply"


def test_a_key_that_was_read_is_in_no_error_of_ours() -> None:
    key = checked_key("W4rm-Biscuit-2201", "here")
    assert str(LlmAsJudgeError(f"file x: found {key!r}")) == "file x: found '***'"


def test_a_text_that_fits_is_quoted_as_it_is() -> None:
    assert quoted("as it\n is", 8) == "as it is"
    assert quoted("x" * 9, 8) == "xxxx ..."


# ------------------------------------------------------------------------------------- an endpoint
def answers(text: str) -> dict[str, httpx.Response]:
    """Each way in which an endpoint's own text gets into a message."""
    choice = {"message": {"content": ""}, "finish_reason": text}
    return {
        "error": httpx.Response(401, json={"error": {"message": text}}),
        "error of parts": httpx.Response(401, json={"error": {"message": [text]}}),
        "page": httpx.Response(403, text=text),
        "context": httpx.Response(400, json={"error": f"too long: {text}"}),
        "no JSON": httpx.Response(200, text=text),
        "no choices": httpx.Response(200, json={"said": text}),
        "no text": httpx.Response(200, json={"choices": [choice]}),
    }


def endpoint(response: httpx.Response) -> OpenAIChat:
    return OpenAIChat(
        "m",
        "http://model.test/v1",
        api_key=PLAIN,
        limits=EndpointLimits(retries=0),
        transport=httpx.MockTransport(lambda request: response),
    )


@pytest.mark.parametrize("kind", answers(""))
async def test_an_endpoint_that_repeats_the_key_at_any_place_shows_nothing_of_it(kind: str) -> None:
    ask = ChatRequest((Message("user", "2+2?"),), max_tokens=16)
    for place in (*range(0, 150, 25), *range(150, 205)):
        text = f"{'x' * place} {PLAIN}{' and more' * 40}"
        async with endpoint(answers(text)[kind]).opened() as chat:
            with pytest.raises(EndpointError) as raised:
                await chat.chat(ask)
        assert not shows_a_piece(str(raised.value), PLAIN), place


async def test_a_list_of_models_shows_no_key() -> None:
    listed = httpx.Response(200, json={"data": [{"id": f"m-{PLAIN}"}]})
    async with endpoint(listed).opened() as chat:
        assert await chat.served() == ["m-***"]
        with pytest.raises(ModelError, match=re.escape("(served: m-***)")):
            await chat.probe()


# -------------------------------------------------------------------------------------- the sources
SOURCES = Path(llm_as_judge.__file__).parent
NO_TEXTS = re.compile(r"hash|hexdigest|weights|prompts|sha256|^node|folder\.name")


def cut_in_messages(source: str) -> list[str]:
    """Parts of f-strings that show the beginning of a text: ``{text[:80]!r}``."""
    if not re.search(r"\[:\s*\d", source):
        return []
    strings = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.JoinedStr)]
    parts = [p.value for n in strings for p in n.values if isinstance(p, ast.FormattedValue)]
    return [
        ast.unparse(part)
        for part in parts
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Slice)
        and part.slice.lower is None
        and isinstance(part.slice.upper, ast.Constant)
    ]


def test_no_message_cuts_a_text_by_itself() -> None:
    """But digests, names of machines and run folders, what a client of ``serve`` is told of its own
    request, and the sandbox, in which no key is."""
    assert cut_in_messages('f"found {x[:80]!r}"') == ["x[:80]"]
    found = {
        f"{path.relative_to(SOURCES)}: {part}"
        for path in SOURCES.rglob("*.py")
        for part in cut_in_messages(path.read_text())
        if path.parent.name not in ("serving", "sandbox", "inside") and not NO_TEXTS.search(part)
    }
    assert found == set()

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.sandbox.channel import ChannelClosedError, HostChannel, ProtocolError
from llm_as_judge.sandbox.inside.frames import (
    MAX_FRAME,
    Channel,
    FrameBuffer,
    FrameError,
    pack,
    unpack,
)

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.dictionaries(st.text(), JSON), max_size=4), st.integers(1, 9))
def test_messages_survive_any_cutting_of_the_stream(
    messages: list[dict[str, Any]], size: int
) -> None:
    stream = b"".join(map(pack, messages))
    buffer, got = FrameBuffer(), []
    for start in range(0, len(stream), size):
        buffer.feed(stream[start : start + size])
        while (message := buffer.take()) is not None:
            got.append(message)
    assert got == messages


@given(st.binary())
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    buffer = FrameBuffer()
    buffer.feed(data)
    try:
        while buffer.take() is not None:
            pass
    except FrameError:
        pass


def test_lone_surrogates_are_replaced() -> None:
    assert unpack(b'{"a": ["\\ud800x"], "\\udfff": 1}') == {"a": ["\ufffdx"], "\ufffd": 1}
    assert unpack(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


@given(
    st.lists(
        st.sampled_from(
            ["\ud800", "\udc00", "\\", '"', "u", "d800", "\U0001f600", "\n", "\\ud800"]
        ),
        max_size=12,
    ).map("".join)
)
def test_of_a_text_only_lone_surrogates_are_replaced(text: str) -> None:
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert unpack(pack({"a": text})[4:]) == {"a": plain}


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE


@pytest.mark.parametrize(
    "message", [{"a": {1}}, {"a": "x" * MAX_FRAME}, {"a": object()}, {"a": 10**5000}, CYCLE]
)
def test_what_cannot_be_sent_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        pack(message)


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b"\xff", b"[" * 100_000, b"{}" * 2])
def test_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        unpack(body)


def test_child_channel_waits_polls_and_sees_the_end() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(theirs)
    assert not channel.has_news()
    assert channel.receive_ready() == []
    ours.sendall(pack({"n": 1}) + pack({"n": 2}) + pack({"n": 3})[:5])
    assert channel.has_news()
    assert channel.receive() == {"n": 1}
    ours.sendall(pack({"n": 3})[5:])
    assert channel.receive_ready() == [{"n": 2}, {"n": 3}]
    channel.send({"n": 4})
    assert unpack(ours.recv(100)[4:]) == {"n": 4}
    ours.close()
    with pytest.raises(EOFError):
        channel.receive()
    theirs.close()


async def test_host_channel_counts_bytes_and_messages() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs, ours, HostChannel(ours, max_bytes=1000, max_frames=2) as channel:
        theirs.sendall(pack({"n": 1}) * 3)
        assert await channel.receive() == {"n": 1}
        assert await channel.receive() == {"n": 1}
        with pytest.raises(ProtocolError, match="too many messages"):
            await channel.receive()
        theirs.sendall(bytes(2000))
        with pytest.raises(ProtocolError):
            await channel.receive()


async def test_host_channel_sees_the_end_while_it_waits() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, HostChannel(ours, max_bytes=1000, max_frames=2) as channel:
        waiting = asyncio.ensure_future(channel.receive())
        await asyncio.sleep(0.01)
        theirs.close()
        with pytest.raises(ChannelClosedError):
            await waiting
        with pytest.raises(ChannelClosedError):
            await channel.send({"n": 1})

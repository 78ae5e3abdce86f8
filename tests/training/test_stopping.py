"""SIGTERM: time to finish what was begun, no more than was granted, and the old handler in the end."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from llm_as_judge.training.stopping import heeding_sigterm

Heard = list[int]


@pytest.fixture
def before() -> Iterator[Heard]:
    """Signals that reach the handler of whoever started the run."""
    heard: Heard = []
    old = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    yield heard
    signal.signal(signal.SIGTERM, old)


def send() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


async def until(reached: asyncio.Event) -> None:
    await asyncio.wait_for(reached.wait(), 60)


async def heard_by(before: Heard) -> None:
    for _ in range(6000):
        if before:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the signal was swallowed")


async def test_a_signal_is_a_notice_and_goes_on_when_the_work_is_done(before: Heard) -> None:
    said = asyncio.Event()
    with heeding_sigterm(3600, lambda text: said.set()) as notice:
        assert not notice.asked
        send()
        await until(said)
        assert notice.asked
        assert before == []
        notice.obey()
        assert before == [signal.SIGTERM]
    send()
    assert before == [signal.SIGTERM] * 2


async def test_a_second_signal_is_not_kept_waiting(before: Heard) -> None:
    said = asyncio.Event()
    with heeding_sigterm(3600, lambda text: said.set()):
        send()
        await until(said)
        send()
        await heard_by(before)
    assert before == [signal.SIGTERM]


@pytest.mark.parametrize("grace_s", [0.0, 0.05])
async def test_when_the_time_is_over_the_signal_takes_effect(before: Heard, grace_s: float) -> None:
    with heeding_sigterm(grace_s, lambda text: None):
        send()
        await heard_by(before)
        await asyncio.sleep(2 * grace_s)
    assert before == [signal.SIGTERM]


async def test_without_a_signal_nothing_is_sent_and_the_handler_is_back(before: Heard) -> None:
    with heeding_sigterm(0.0, lambda text: None) as notice:
        notice.obey()
    assert before == []
    send()
    assert before == [signal.SIGTERM]


def test_a_run_in_another_thread_leaves_signals_to_its_host(before: Heard) -> None:
    asked: list[bool] = []

    async def run() -> None:
        with heeding_sigterm(0.0, lambda text: None) as notice:
            send()
            await asyncio.sleep(0.1)
            asked.append(notice.asked)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join(60)
    assert asked == [False]
    assert before == [signal.SIGTERM]

"""Work on the policy: in turns, beside the event loop, and ended when nobody waits for it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.thread import PolicyThread
from tiny_models import tiny_policy


@pytest.fixture(scope="module")
def policy(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights)


@pytest.fixture
def on_policy(policy: Policy) -> Iterator[PolicyThread]:
    thread = PolicyThread(policy.base)
    yield thread
    thread.close()


async def test_work_is_done_in_turns_and_the_loop_goes_on(on_policy: PolicyThread) -> None:
    order, gate = list[str](), threading.Event()

    def first() -> int:
        assert gate.wait(10)
        order.append("first")
        return 1

    def second() -> int:
        order.append("second")
        return 2

    both = asyncio.gather(on_policy(first), on_policy(second))
    await asyncio.sleep(0.01)
    gate.set()  # by the loop, which the waiting work has not stopped
    assert list(await both) == [1, 2]
    assert order == ["first", "second"]


async def test_a_turn_is_taken_by_asking_not_by_waiting(on_policy: PolicyThread) -> None:
    order = list[str]()
    first = on_policy(lambda: order.append("first"))  # as sampling is, before an update
    await on_policy(lambda: order.append("second"))
    assert order == ["first", "second"]
    await first


async def test_work_whose_turn_has_not_come_is_given_up_without_a_harm(
    on_policy: PolicyThread,
) -> None:
    gate, done = threading.Event(), list[str]()

    def first() -> None:
        assert gate.wait(10)
        done.append("first")

    running = asyncio.ensure_future(on_policy(first))
    waiting = asyncio.ensure_future(on_policy(lambda: done.append("waiting")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await running
    await on_policy(lambda: done.append("last"))
    assert done == ["first", "last"]


async def test_busy_time_is_that_of_the_work_also_while_it_goes_on(on_policy: PolicyThread) -> None:
    begun, gate = threading.Event(), threading.Event()
    assert on_policy.busy_s == 0

    def work() -> None:
        begun.set()
        assert gate.wait(10)

    running = asyncio.ensure_future(on_policy(work))
    await asyncio.to_thread(begun.wait, 10)
    meanwhile = on_policy.busy_s
    gate.set()
    await running
    ended = on_policy.busy_s
    assert 0 < meanwhile < ended
    await asyncio.sleep(0)
    assert on_policy.busy_s == ended


async def test_an_error_of_the_work_is_the_callers(on_policy: PolicyThread) -> None:

    def broken() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await on_policy(broken)
    assert await on_policy(lambda: 3) == 3


@pytest.mark.parametrize("learning", [False, True], ids=["sampling", "learning"])
async def test_a_cancelled_caller_ends_the_work_at_the_next_layer(
    policy: Policy, on_policy: PolicyThread, learning: bool
) -> None:
    begun, passes = threading.Event(), list[int]()
    ids = torch.tensor([[5, 6, 7]])

    def endless() -> None:
        while len(passes) < 100_000:
            passes.append(0)
            out = policy.model(input_ids=ids).logits
            if learning:
                out.sum().backward()
            begun.set()

    task = asyncio.ensure_future(on_policy(endless))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done = len(passes)
    assert done < 100_000  # not after all passes, which take an hour
    assert await on_policy(lambda: len(passes)) == done  # ended, and usable again


async def test_a_caller_cancelled_twice_leaves_no_exception_behind(
    policy: Policy, on_policy: PolicyThread
) -> None:
    """As two signals do: the second comes while the first waits for the work to end."""
    begun, go_on = threading.Event(), threading.Event()
    unseen: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))

    def one_pass() -> None:
        begun.set()
        assert go_on.wait(10)
        policy.model(input_ids=torch.tensor([[5, 6, 7]]))

    task = asyncio.ensure_future(on_policy(one_pass))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
    assert task.cancelled()
    go_on.set()
    assert await on_policy(lambda: 3) == 3  # after it, and usable again
    del task
    gc.collect()
    assert unseen == []


async def test_a_backward_pass_is_ended_too(policy: Policy, on_policy: PolicyThread) -> None:
    """The stop comes between forward and backward: no further forward pass would notice it."""
    forward_done, go_on = threading.Event(), threading.Event()
    reached: list[str] = []

    def one_update() -> None:
        loss = policy.model(input_ids=torch.tensor([[5, 6, 7]])).logits.sum()
        forward_done.set()
        assert go_on.wait(10)
        loss.backward()
        reached.append("the end")

    task = asyncio.ensure_future(on_policy(one_update))
    await asyncio.to_thread(forward_done.wait, 10)
    task.cancel()
    await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reached == []

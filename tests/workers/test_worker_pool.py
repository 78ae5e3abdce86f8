"""Jobs on workers: equal to local work, no more than fit, and nothing lost or paid twice in a death."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_fakes import (
    DOUBLE,
    OPTIONS,
    SUM,
    AskingWork,
    Fleet,
    RoomWorker,
    opened_pool,
    program,
    until,
)

from llm_as_judge import plugins
from llm_as_judge.errors import (
    BudgetError,
    ContextError,
    EndpointError,
    GraderError,
    IsolationError,
    SandboxError,
)
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.ledger import Budget, Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.plugins import plugin_facts
from llm_as_judge.types import ChatRequest, Execution, IsolationReport
from llm_as_judge.workers import RunSettings, Work
from llm_as_judge.workers.messages import Broke, Facts, Options, Ran, decode, encode
from llm_as_judge.workers.pool import WorkerPool
from llm_as_judge.workers.worker_side import WorkerSide

SETTINGS = RunSettings()


def echo(request: ChatRequest) -> str:
    return request.messages[0].content.upper()


# ------------------------------------------------------------------------------------ as if local
async def test_a_job_on_a_worker_gives_what_local_work_gives_and_bills_the_same() -> None:
    bills, found = [], []
    async with opened_pool(Fleet(AskingWork())) as pool:
        for work in (pool, AskingWork()):
            ledger = Ledger()
            with billed_to(rollout="p#0"):
                found.append(
                    await work.run(
                        program("a", "b"), SUM, ScriptedChat(echo, ledger=ledger), SETTINGS
                    )
                )
            bills.append((ledger.snapshot(), ledger.by_rollout))
    assert found[0] == found[1] == Execution("ok", "B", found[0].calls)
    assert bills[0] == bills[1]
    assert bills[0][0]["by_operator"]["Custom"]["attempts"] == 2  # type: ignore[index, call-overload]


async def test_rules_of_a_worker_grade() -> None:
    async with opened_pool(Fleet(AskingWork())) as pool:
        verdicts = [await pool.rules.verdict(SUM, answer) for answer in ("4", "5")]
    assert [verdict.correct for verdict in verdicts] == [True, False]


async def test_gold_answers_and_hidden_tests_stay_where_the_judge_is() -> None:
    work = AskingWork()
    async with opened_pool(Fleet(work)) as pool:
        for problem in (SUM, DOUBLE):
            await pool.run(program("a"), problem, ScriptedChat(echo), SETTINGS)
    assert SUM.answers
    assert DOUBLE.hidden_tests
    assert work.ran == [replace(problem, answers=(), hidden_tests=()) for problem in (SUM, DOUBLE)]


# ------------------------------------------------------------------- placement and back-pressure
async def test_no_worker_has_more_than_its_share_and_the_rest_waits_in_order() -> None:
    works = [AskingWork(held=True) for _ in range(2)]
    async with opened_pool(Fleet(*works), 2) as pool:
        jobs = [
            asyncio.ensure_future(pool.run(program(str(n)), SUM, ScriptedChat(echo), SETTINGS))
            for n in range(9)
        ]
        await until(lambda: sum(work.now for work in works) == 4)
        assert [work.now for work in works] == [OPTIONS.concurrency] * 2
        for work in works:
            work.go.set()
        answers = [done.answer for done in await asyncio.gather(*jobs)]
    assert answers == [str(n) for n in range(9)]
    assert [work.most for work in works] == [OPTIONS.concurrency] * 2


async def test_grading_does_not_wait_for_programs_that_wait() -> None:
    work = AskingWork(held=True)
    async with opened_pool(Fleet(work)) as pool:
        jobs = [
            asyncio.ensure_future(pool.run(program("a"), SUM, ScriptedChat(echo), SETTINGS))
            for _ in range(5)
        ]
        await until(lambda: work.now == OPTIONS.concurrency)
        assert (await pool.verdict(SUM, "4")).correct
        work.go.set()
        await asyncio.gather(*jobs)


async def test_a_cancelled_job_is_cancelled_on_its_worker_and_frees_its_place() -> None:
    work = AskingWork(held=True)
    async with opened_pool(Fleet(work)) as pool:
        for _ in range(2 * OPTIONS.concurrency):
            late = asyncio.ensure_future(pool.run(program("a"), SUM, ScriptedChat(echo), SETTINGS))
            await until(lambda: work.now == 1)
            late.cancel()
            await asyncio.wait({late})
            await until(lambda: work.now == 0)
        assert work.cancelled == 2 * OPTIONS.concurrency


# ------------------------------------------------------------------------------------ who dies
async def test_a_death_loses_no_job_and_pays_no_call_twice() -> None:
    works = [AskingWork(held=True), AskingWork()]
    fleet, ledger = Fleet(*works), Ledger()
    async with opened_pool(fleet) as pool:
        jobs = []
        for n in range(5):
            with billed_to(rollout=f"p#{n}"):
                chat = ScriptedChat(echo, ledger=ledger)
                work = pool.run(program(f"{n}a", f"{n}b"), SUM, chat, SETTINGS)
                jobs.append(asyncio.ensure_future(work))
        await until(lambda: ledger.total.attempts == 4)  # two programs asked all, three wait
        await until(lambda: works[0].now == 2)
        fleet.workers[0].kill()
        done = await asyncio.gather(*jobs)
        assert pool.metrics() == {"workers/ready": 1.0, "workers/lost": 1.0, "workers/again": 2.0}
    assert [execution.answer for execution in done] == [f"{n}B" for n in range(5)]
    assert ledger.total.attempts == ledger.total.calls == 10
    assert ledger.total.cached_calls == 0
    assert {name: sums.attempts for name, sums in ledger.by_rollout.items()} == {
        f"p#{n}": 2 for n in range(5)
    }


async def test_a_call_in_flight_when_its_worker_dies_is_answered_to_the_next_one() -> None:
    works, ledger = [AskingWork(), AskingWork()], Ledger()
    fleet = Fleet(*works)
    chat = ScriptedChat(echo, ledger=ledger, delay_s=0.05)
    async with opened_pool(fleet) as pool:
        job = asyncio.ensure_future(pool.run(program("a"), SUM, chat, SETTINGS))
        await until(lambda: len(chat.requests) == 1)
        fleet.workers[0].kill()
        assert (await job).answer == "A"
    assert works[1].ran
    assert (len(chat.requests), ledger.total.attempts) == (1, 1)


async def test_a_job_under_which_every_worker_dies_is_our_failure() -> None:
    work = AskingWork(held=True)
    fleet = Fleet(work)
    async with opened_pool(fleet, tries=3) as pool:
        job = asyncio.ensure_future(pool.run(program("a"), SUM, ScriptedChat(echo), SETTINGS))
        for n in range(3):
            await until(lambda n=n: len(work.ran) == n + 1)  # type: ignore[misc]
            fleet.workers[-1].kill()
        with pytest.raises(SandboxError, match=r"3 workers died while running this; .* killed"):
            await job
        work.go.set()
        assert (await pool.run(program("b"), SUM, ScriptedChat(echo), SETTINGS)).answer == "B"


@pytest.mark.parametrize(
    "said",
    [
        None,
        *(b"", b"[", b'[["Ran", {}]]', b'[["Run", {}]]', b'[["os.system", "x"]]', b"\x80\x04"),
        "text",
    ],
    ids=repr,
)
async def test_a_worker_that_falls_silent_or_says_what_cannot_be_read_is_replaced(
    said: Any,
) -> None:
    class Faulty(RoomWorker):
        async def fetch(self) -> bytes:
            if said is None:
                await asyncio.Event().wait()
            await super().fetch()
            return said  # type: ignore[no-any-return]

    async def opened(options: Options) -> AskingWork:
        return AskingWork()

    started: list[RoomWorker] = []

    def start() -> RoomWorker:
        started.append(RoomWorker(opened) if started else Faulty(opened))
        return started[-1]

    patience: dict[str, Any] = {"silence_s": 0.05} if said is None else {}
    async with opened_pool(start, **patience) as pool:
        done = await pool.run(program("a"), SUM, ScriptedChat(echo), SETTINGS)
        assert (done.answer, pool.lost) == ("A", 1)


# ------------------------------------------------------------------------------------- whose fault
@pytest.mark.parametrize("error", [EndpointError("down"), ContextError("too long")])
async def test_what_the_endpoint_refuses_is_raised_as_it_is_locally(error: EndpointError) -> None:
    def refuse(request: ChatRequest) -> str:
        raise error

    async with opened_pool(Fleet(AskingWork())) as pool:
        with pytest.raises(type(error), match=str(error)) as raised:
            await pool.run(program("a"), SUM, ScriptedChat(refuse), SETTINGS)
    assert type(raised.value) is type(error)


async def test_a_spent_budget_ends_the_job_and_nothing_is_sent() -> None:
    ledger = Ledger(Budget(calls=1))
    async with opened_pool(Fleet(AskingWork())) as pool:
        with pytest.raises(BudgetError):
            await pool.run(program("a", "b"), SUM, ScriptedChat(echo, ledger=ledger), SETTINGS)
    assert ledger.total.attempts == 1


async def test_a_bug_shows_its_own_traceback() -> None:
    async with opened_pool(Fleet(AskingWork())) as pool:
        with pytest.raises(RuntimeError, match="ZeroDivisionError: of ours"):
            await pool.run(program("bug"), SUM, ScriptedChat(echo), SETTINGS)


async def test_a_bug_of_a_rule_fails_one_grading_as_it_does_locally() -> None:
    async with opened_pool(Fleet(AskingWork())) as pool:
        with pytest.raises(GraderError, match=f"grading: {SUM.id}: ZeroDivisionError"):
            await pool.verdict(SUM, "bug")
        assert (await pool.verdict(SUM, SUM.answers[0])).correct


# ------------------------------------------------------------------------------------------ opening
class Other:
    """A worker that says the given words when it is opened."""

    def __init__(self, said: bytes) -> None:
        self._said = said

    def open(self, options: bytes) -> Awaitable[bytes]:
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        done.set_result(self._said)
        return done

    def kill(self) -> None:
        """It has no process."""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            Facts("node-7", 1, "0.0.1", "others", IsolationReport("jail", {})),
            "the worker on node-7 has llm-as-judge 0.0.1 with other grading rules",
        ),
        (Broke(0, "IsolationError", "bwrap is missing"), "bwrap is missing"),
    ],
)
async def test_workers_that_cannot_be_used_are_refused_with_the_reason(
    said: Facts | Broke, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    pool = WorkerPool(lambda: Other(encode([said])), 2, OPTIONS)  # type: ignore[arg-type, return-value]
    with pytest.raises(IsolationError, match=message):
        await pool.open(10.0)


async def test_a_successor_that_cannot_open_for_a_while_is_tried_again() -> None:
    opened = 0

    async def open_work(options: Options) -> AskingWork:
        nonlocal opened
        opened += 1
        if opened in (2, 3):
            raise SandboxError("too busy to open a sandbox")
        return AskingWork()

    started: list[RoomWorker] = []

    def start() -> RoomWorker:
        started.append(RoomWorker(open_work))
        return started[-1]

    async with opened_pool(start) as pool:
        started[0].kill()
        await until(lambda: pool.lost == 3)
        assert (await pool.run(program("a"), SUM, ScriptedChat(echo), SETTINGS)).answer == "A"


async def test_what_holds_is_what_holds_on_every_worker() -> None:
    works = [AskingWork(), AskingWork()]
    works[1].isolation = IsolationReport("landlock", {"no_network": True, "no_fork": True})
    async with opened_pool(Fleet(*works), 2) as pool:
        assert pool.isolation == IsolationReport(
            "jail | landlock", {"no_network": True, "no_fork": False}
        )


# ------------------------------------------------------------------------------------------ messages
@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_messages_come_back_as_they_were(text: str, seconds: float) -> None:
    said = Ran(3, Execution("ok", text, seconds=seconds))
    assert decode(encode([said])) == [said]


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_bytes_of_no_message_are_refused(data: bytes) -> None:
    try:
        decoded = decode(data)
    except SandboxError:
        return
    assert decoded == []  # an empty list is what a worker with nothing to say sends


def test_a_reply_is_data_of_known_fields_alone() -> None:
    row = json.loads(encode([Ran(1, Execution("ok", "4"))]))
    row[0][1]["execution"]["reward"] = 10.0
    with pytest.raises(SandboxError, match="unknown field 'reward'"):
        decode(json.dumps(row).encode())


async def test_a_worker_imports_the_plugins_before_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "worker_plugin.py").write_text("")

    async def open_work(options: Options) -> Work:
        assert list(plugin_facts()) == ["worker_plugin"]
        return AskingWork()

    (facts,) = decode(
        await WorkerSide(open_work).open(encode([replace(OPTIONS, plugins=("worker_plugin",))])),
        Facts,
    )
    assert facts.rules == rules_fingerprint()
    (broke,) = decode(
        await WorkerSide(open_work).open(encode([replace(OPTIONS, plugins=("worker_plugn",))])),
        Broke,
    )
    assert broke.message.startswith("plugins: worker_plugn: no module 'worker_plugn'; put it into ")

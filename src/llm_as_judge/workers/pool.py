"""The driver's side of all workers: who gets a job, how many wait, what happens when one dies.

placement       a job goes to the ready worker that has fewest
back-pressure   a worker never has more than its concurrency; all else waits here, in order
a lost worker   its jobs go first to others; another is started in its place
what was paid   replies belong to the job, not to the worker: a job that runs again is
                answered what it was answered before
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count as counter
from typing import Literal

from llm_as_judge.errors import (
    IsolationError,
    LlmAsJudgeError,
    SandboxError,
)
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.llm.shared import SharedDraws
from llm_as_judge.types import (
    ChatModel,
    Execution,
    IsolationReport,
    Problem,
    Program,
    Verdict,
)
from llm_as_judge.workers.link import JobCalls, Link, Worker, WorkerLostError, done_on
from llm_as_judge.workers.messages import (
    Ask,
    Broke,
    Facts,
    Grade,
    Graded,
    Options,
    Ran,
    Run,
    decode,
    encode,
)
from llm_as_judge.workers.work import RunSettings
from llm_as_judge.workers.worker_side import BEAT_S

log = logging.getLogger(__name__)

Lane = Literal["run", "grade"]
"""Programs mostly wait for replies; gradings must not wait for them."""


class WorkerPool:
    """Implements :class:`llm_as_judge.workers.work.Work` on workers.

    Args:
        start: starts one worker; what it raises later says how it went.
        count: workers to keep.
        options: what each opens; it gets ``options.concurrency`` programs at most.
        tries: workers that may die under one job before the job is given up.
        silence_s: a worker that says nothing for so long is taken for lost. A dead one is told of
            at once; this is for one that hangs, and long, since an overloaded machine is slow.
        again_s: pause before a lost worker's successor is started; doubled each time none lives.
    """

    def __init__(
        self,
        start: Callable[[], Worker],
        count: int,
        options: Options,
        *,
        tries: int = 3,
        silence_s: float = 20 * BEAT_S,
        again_s: float = 1.0,
    ) -> None:
        self._start, self._count, self._options = start, count, options
        self._tries, self._silence_s, self._again_s = tries, silence_s, again_s
        self._jobs = counter(1)
        self._ready: list[Link] = []
        self._turns: dict[Lane, deque[asyncio.Future[Link]]] = {"run": deque(), "grade": deque()}
        self._keepers: list[asyncio.Task[None]] = []
        self._unusable: list[Exception] = []
        self._why = ""
        self._changed = asyncio.Event()
        self._isolation: IsolationReport | None = None
        self.lost = 0
        """Workers that died."""
        self.again = 0
        """Jobs that were run again for it."""

    @property
    def ready(self) -> int:
        """Workers that take jobs now."""
        return len(self._ready)

    @property
    def facts(self) -> list[Facts]:
        return [link.facts for link in self._ready]

    @property
    def isolation(self) -> IsolationReport:
        """What was seen to hold on every worker so far."""
        assert self._isolation is not None, "open() first"
        return self._isolation

    @property
    def rules(self) -> RemoteRules:
        return RemoteRules(self)

    def metrics(self) -> Mapping[str, float]:
        """``workers/...`` since the start."""
        return {
            "workers/ready": float(self.ready),
            "workers/lost": float(self.lost),
            "workers/again": float(self.again),
        }

    # ------------------------------------------------------------------------------- open and close
    async def open(self, wait_s: float) -> None:
        """Returns when the first worker is ready; the others join as they come.

        Raises:
            IsolationError: none can be used, or none was ready in time.
        """
        self._keepers = [asyncio.ensure_future(self._keep()) for _ in range(self._count)]
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._first_ready(), wait_s)
        if not self._ready:
            await self.aclose()
            none = f"none was ready after {wait_s:g} s"
            why = "; ".join(map(str, self._unusable)) or ": ".join(filter(None, (none, self._why)))
            raise IsolationError(
                f"workers: {why}. A worker needs workers.cpus free processors on a node of the "
                "cluster (and workers.resource, if set): docs/scaling.md"
            )

    async def _first_ready(self) -> None:
        while not self._ready and len(self._unusable) < self._count:
            self._changed.clear()
            await self._changed.wait()

    async def aclose(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)  # _keep has told what it saw
        self._keepers = []

    async def _keep(self) -> None:
        """One worker and its successors, until it turns out that none can be used."""
        try:
            await self._workers_in_turn()
        except Exception as error:
            log.exception("a worker cannot be used and is given up")
            self._unusable.append(error)
            self._changed.set()
            self._refuse_if_none_is_left()

    async def _workers_in_turn(self) -> None:
        pause_s = self._again_s
        lost: LlmAsJudgeError
        while True:
            worker = self._start()
            try:
                facts = await self._opened(worker)
            except (WorkerLostError, SandboxError) as error:
                if isinstance(error, SandboxError) and self._isolation is None:
                    raise  # none has worked yet, so this is no passing trouble
                lost = error
            else:
                pause_s = self._again_s
                lost = await self._serve(worker, facts)
            self.lost += 1
            self._why = str(lost)
            log.warning("worker lost: %s; starting another", lost)
            await asyncio.sleep(pause_s)
            pause_s = min(60.0, 2 * pause_s)

    async def _opened(self, worker: Worker) -> Facts:
        """
        Raises:
            WorkerLostError: it died.
            SandboxError: it cannot be used.
        """
        try:
            (said,) = decode(await worker.open(encode([self._options])), Facts, Broke)
        except BaseException:
            worker.kill()
            raise
        if isinstance(said, Facts) and said.rules == rules_fingerprint():
            return said
        worker.kill()
        if isinstance(said, Broke):
            raise SandboxError(said.message)
        raise SandboxError(
            f"the worker on {said.node} has llm-as-judge {said.version} with other grading rules "
            "than this process: install the same version, and the same plugins, on every node"
        )

    async def _serve(self, worker: Worker, facts: Facts) -> WorkerLostError:
        link = Link(worker, facts, silence_s=self._silence_s)
        self._isolation = _both(self._isolation, facts.isolation)
        self._ready.append(link)
        self._changed.set()
        self._assign()
        try:
            return await link.carry()
        finally:
            self._ready.remove(link)

    def _refuse_if_none_is_left(self) -> None:
        """Jobs must not wait for workers that will never be."""
        if len(self._unusable) < self._count:
            return
        for turns in self._turns.values():
            while turns:
                turn = turns.popleft()
                if not turn.done():
                    turn.set_exception(self._unusable[-1])

    # --------------------------------------------------------------------------------------- jobs
    async def run(
        self, program: Program, problem: Problem, executor: ChatModel, settings: RunSettings
    ) -> Execution:
        """See :class:`llm_as_judge.workers.work.Work`; a program that cannot run goes nowhere."""
        asked = replace(problem, answers=(), hidden_tests=())
        # A second worker asks what the first one asked: it is answered from here.
        remembered = SharedDraws(executor)
        job = Run(next(self._jobs), program, asked, executor.name, settings)
        done = await self._done("run", job, remembered)
        assert isinstance(done, Ran)
        return done.execution

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        done = await self._done("grade", Grade(next(self._jobs), problem, answer), None)
        assert isinstance(done, Graded)
        return done.verdict

    async def _done(self, lane: Lane, job: Ask, executor: ChatModel | None) -> Ran | Graded:
        deaths: list[WorkerLostError] = []
        calls = JobCalls(executor)
        try:
            while len(deaths) < self._tries:
                link = await self._turn(lane, first=bool(deaths))
                try:
                    return await done_on(link, job, calls)
                except WorkerLostError as lost:
                    deaths.append(lost)
                    self.again += 1
                finally:
                    link.running[lane] -= 1
                    self._assign()
        finally:
            await calls.aclose()
        raise SandboxError(f"{len(deaths)} workers died while running this; the last: {deaths[-1]}")

    # ---------------------------------------------------------------------------------- placement
    async def _turn(self, lane: Lane, *, first: bool) -> Link:
        """A ready worker with room; waits in order, those whose worker died before the others."""
        if len(self._unusable) == self._count:
            raise self._unusable[-1]
        turn: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        turns = self._turns[lane]
        turns.appendleft(turn) if first else turns.append(turn)
        self._assign()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                turn.result().running[lane] -= 1
                self._assign()
            raise

    def _assign(self) -> None:
        for lane, turns in self._turns.items():
            while turns and (link := self._least_loaded(lane)):
                turn = turns.popleft()
                if not turn.done():
                    link.running[lane] += 1
                    turn.set_result(link)

    def _least_loaded(self, lane: Lane) -> Link | None:
        free = [link for link in self._ready if link.running[lane] < self._options.concurrency]
        return min(free, key=lambda link: link.running[lane], default=None)


class RemoteRules:
    """The rules of the workers, for the judge."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        return await self._pool.verdict(problem, answer)

    async def aclose(self) -> None:
        """The pool is closed by who opened it."""


def _both(one: IsolationReport | None, other: IsolationReport) -> IsolationReport:
    """What holds in both."""
    if one is None:
        return other
    mechanisms: Sequence[str] = sorted({*one.mechanism.split(" | "), *other.mechanism.split(" | ")})
    names = sorted({*one.holds, *other.holds})
    holds = {name: one.holds.get(name, False) and other.holds.get(name, False) for name in names}
    return IsolationReport(" | ".join(mechanisms), holds)

"""A real Ray of several nodes on this machine: jail, deadlines and bills are those of local work.

    make test-ray

Nodes are processes of ``ray.cluster_utils.Cluster``; one that is removed is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from worker_fakes import SUM, until

from llm_as_judge.assembly import Workbench, open_workbench
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import ConfigError, IsolationError
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import Execution, Group, Problem, Program, Rollout
from llm_as_judge.workers.pool import WorkerPool
from written_programs import PLAIN, VOTE, written_run

if not os.environ.get("RAY_TESTS"):
    pytest.skip(
        "minutes: starts Ray clusters of several nodes; run `make test-ray`",
        allow_module_level=True,
    )
ray = pytest.importorskip("ray")
# Ray's own, of its own files and threads: none is about what is tested here.
pytestmark = [pytest.mark.filterwarnings("default")]

NODE = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
SUMS = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} + 2?", ("4",)) for n in range(3)]
CODE = Problem(
    "mbpp/train/1",
    "mbpp",
    "code",
    "Write solve() that returns 7.",
    entry_point="solve",
    hidden_tests=("assert solve() == 7",),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without room, and two nodes with room for two workers each."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    opened = Cluster(
        initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False}
    )
    for _ in range(2):
        opened.add_node(**NODE)
    yield opened
    ray.shutdown()
    opened.shutdown()


def configured(cluster: Any, *more: str, count: int = 2) -> Config:
    return load_config(
        "embedded",
        overrides=(
            "executor.model=scripted",
            "judge.kind=llm",
            "workflow.concurrency=4",
            f"workers.count={count}",
            f"workers.address={cluster.address}",
            "workers.backend=ray",
            *more,
        ),
    )


@asynccontextmanager
async def workers(config: Config) -> AsyncIterator[tuple[Workbench, WorkerPool]]:
    async with open_workbench(config) as bench:
        pool = bench.work
        assert isinstance(pool, WorkerPool)
        await until(lambda: pool.ready == config.workers.count)
        yield bench, pool


def checked(bench: Workbench, body: str) -> Program:
    program = bench.parse(f"```python\n{body}\n```", SUM)
    assert program.runnable
    return program


def without_clock(group: Group) -> Group:
    """Without what depends on it: seconds, and which of two siblings asked first."""

    def still(rollout: Rollout) -> Rollout:
        assert rollout.execution is not None
        calls = tuple(replace(call, seconds=0.0, cached=0) for call in rollout.execution.calls)
        return replace(rollout, execution=replace(rollout.execution, seconds=0.0, calls=calls))

    return replace(group, rollouts=tuple(map(still, group.rollouts)))


# ------------------------------------------------------------------------------------- as if local
async def test_groups_and_bills_are_those_of_local_work(cluster: Any) -> None:
    config = configured(cluster)
    local = config.model_copy(update={"workers": type(config.workers)()})
    (groups, paid), (expected, bill) = [
        await written_run(each, [SUMS[:2], SUMS[2:]]) for each in (config, local)
    ]
    assert [without_clock(g) for g in groups] == [without_clock(g) for g in expected]
    assert paid == bill
    assert paid["total"]["attempts"] > 0


async def test_workers_spread_over_the_nodes_and_each_has_a_jail(cluster: Any) -> None:
    async with workers(configured(cluster)) as (bench, pool):
        assert len({facts.pid for facts in pool.facts}) == 2
        assert bench.work.isolation.mechanism.startswith("bubblewrap")
        assert all(bench.work.isolation.holds.values())
        assert len({facts.node for facts in pool.facts}) == 2
        right = "def solve():\n    return 7"
        hostile = "def solve():\n    return open('/etc/passwd').read() and 7"
        verdicts = [await bench.judge.grade(CODE, code) for code in (right, hostile)]
        assert [verdict.correct for verdict in verdicts] == [True, False]


async def test_the_deadlines_of_a_run_hold_on_a_worker(cluster: Any) -> None:
    async with workers(configured(cluster, "workflow.timeout_s=1")) as (bench, _):
        endless = Program("x", "class Workflow:\n    def __init__(self, *a, **k): pass\n"
                          "    async def __call__(self, problem):\n"
                          "        import asyncio\n        await asyncio.sleep(60)\n")  # fmt: skip
        done = await bench.run(endless, SUM, bench.executor)
        assert (done.status, done.error) == ("timeout", "ran longer than 1 s")


# -------------------------------------------------------------------------------------- who dies
async def interrupted(
    bench: Workbench, kill: Any, programs: int = 8
) -> tuple[list[Execution], Ledger, ScriptedChat]:
    """Runs programs and calls ``kill`` when half of their calls have been made."""
    ledger = Ledger()
    chat = ScriptedChat(rehearsed_reply, ledger=ledger, delay_s=0.3)
    jobs = [
        asyncio.ensure_future(bench.run(checked(bench, VOTE), problem, chat))
        for problem in (SUMS * programs)[:programs]
    ]
    await until(lambda: len(chat.requests) >= 2 * programs)
    kill()
    return await asyncio.gather(*jobs), ledger, chat


async def test_kill_9_of_a_worker_loses_nothing_and_pays_no_call_twice(cluster: Any) -> None:
    async with workers(configured(cluster)) as (bench, pool):
        victim = pool.facts[0].pid
        done, ledger, chat = await interrupted(bench, lambda: os.kill(victim, signal.SIGKILL))
        assert [execution.status for execution in done] == ["ok"] * 8
        assert pool.lost == 1
        assert pool.again >= 1
        each = done[0].llm_calls
        assert ledger.total.attempts == ledger.total.calls == len(chat.requests) == 8 * each
        await until(lambda: pool.ready == 2)
        assert victim not in {facts.pid for facts in pool.facts}


async def test_a_lost_node_loses_nothing_and_its_workers_come_up_elsewhere(cluster: Any) -> None:
    node = cluster.add_node(**{**NODE, "num_cpus": 1}, resources={"doomed": 1})
    async with workers(configured(cluster, count=3)) as (bench, pool):
        done, ledger, chat = await interrupted(
            bench, lambda: cluster.remove_node(node, allow_graceful=False), programs=12
        )
        assert [execution.status for execution in done] == ["ok"] * 12
        assert ledger.total.attempts == len(chat.requests) == 12 * done[0].llm_calls
        assert pool.lost >= 1
        await until(lambda: pool.ready == 3)


async def test_a_dead_worker_leaves_no_process(cluster: Any) -> None:
    async with workers(configured(cluster, count=1)) as (bench, pool):
        victim = pool.facts[0].pid
        below = descendants(victim)
        assert below, "a jail has processes"
        os.kill(victim, signal.SIGKILL)
        await until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in below))
        assert (await bench.run(checked(bench, PLAIN), SUM, bench.executor)).status == "ok"


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found


async def test_workers_end_with_the_system_that_opened_them(cluster: Any) -> None:
    async with workers(configured(cluster)) as (_, pool):
        pids = [facts.pid for facts in pool.facts]
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


# --------------------------------------------------------------------------------------- opening
async def test_ray_does_not_take_our_signal_handlers(cluster: Any) -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with workers(configured(cluster)):
        assert signal.getsignal(signal.SIGTERM) is before


async def test_a_cluster_without_room_is_said_in_a_line(cluster: Any) -> None:
    config = configured(cluster, "workers.resource=nowhere", "workers.start_s=1")
    with pytest.raises(
        IsolationError, match=r"workers: none was ready after 1 s.*workers\.resource"
    ):
        async with open_workbench(config):
            pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://head:10001", "nowhere"])
async def test_an_address_without_a_cluster_is_said_in_a_line(cluster: Any, address: str) -> None:
    config = configured(cluster)
    elsewhere = config.workers.model_copy(update={"address": address})
    with pytest.raises(
        ConfigError, match=rf"workers\.address: no Ray cluster at '{address}', waited \d+ s"
    ):
        async with open_workbench(config.model_copy(update={"workers": elsewhere})):
            pass

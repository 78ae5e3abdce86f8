"""Hostile programs in both forms of the jail, watched from outside as well as from inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from attacks import ATTACKS, source_of
from bait import SECRET, World, lay_bait

from llm_as_judge.sandbox.probing import JAIL_PROPERTIES
from llm_as_judge.types import RunLimits, Sandbox, SandboxResult

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMITS = RunLimits(wall_s=5.0, cpu_s=3.0)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with lay_bait(tmp_path_factory.mktemp("bait")) as world:
        yield world


async def test_report_says_that_every_property_was_seen(jail: Sandbox) -> None:
    assert set(jail.isolation.holds) == set(JAIL_PROPERTIES)
    assert all(jail.isolation.holds.values())
    assert "seccomp" in jail.isolation.mechanism


@pytest.mark.parametrize("package", ["", "import mpmath\n"], ids=["alone", "with a package"])
async def test_every_attack_is_stopped(jail: Sandbox, world: World, package: str) -> None:
    secret = f"SECRET = '{SECRET}'\nimport time\ndef f(): time.sleep(0.05); return 'unharmed'"
    beside: list[SandboxResult] = []

    async def ended(number: int, attack: str) -> str:
        source = f"{package}{source_of(attack)}"
        result = await jail.run_function(source, "f", [world.told()], LIMITS)
        if number % 4 == 0:  # runs beside the attacks that follow
            beside.append(await jail.run_function(package + secret, "f", [], LIMITS))
        stopped = (result.status, result.value) in [("ok", None), ("error", None), ("died", None)]
        broken = "SyntaxError" in result.error or "NameError" in result.error
        return "" if stopped and not broken else f"{result.status} {result.value} {result.error}"

    found = await asyncio.gather(*map(ended, range(len(ATTACKS)), ATTACKS.values()))
    assert {name: how for name, how in zip(ATTACKS, found, strict=True) if how} == {}
    assert {one.value for one in beside} == {"unharmed"}
    assert world.harm() == []


CONTROLS = {
    "read: canary": "",
    "read: stat": "",
    "read: exists": "",
    "read: folder": "",
    "read: open files": None,
    "write: mkdir": "a file was made or removed",
    "write: chmod": "the canary was changed",
    "write: memfd": "",
    "network: tcp": "a connection was made",
    "network: abstract socket": "a connection was made",
    "network: udp": "a datagram arrived",
    "network: netlink": "",
    "process: fork": "",
    "process: system": "",
    "process: thread": "",
    "process: kill victim": "the victim is dead",
    "kernel: executable map": "",
    "kernel: executable mprotect": "",
    "python: subclasses": "",
    "python: pickle": "",
    "python: foreign extension": "",
}


@pytest.mark.parametrize(("name", "harm"), CONTROLS.items(), ids=CONTROLS)
async def test_attacks_do_work_where_nothing_stops_them(
    opened: Callable[[str], Awaitable[Sandbox]], tmp_path: Path, name: str, harm: str | None
) -> None:
    unjailed, source = await opened("subprocess"), source_of(ATTACKS[name])
    with lay_bait(tmp_path) as world:
        result = await unjailed.run_function(source, "f", [world.told()], LIMITS)
        if harm == "the victim is dead":
            world.victim.wait(5)
        if harm is None:
            assert result.value is None  # limits and closed files do hold here
        else:
            assert result.value is not None, result.error
            assert world.harm() == [harm] * bool(harm)

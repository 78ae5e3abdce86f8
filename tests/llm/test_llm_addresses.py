from __future__ import annotations

import pytest

from llm_as_judge.llm.connection import RateLimit, asked_directly, is_loopback


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:1/v1", True),
        ("http://[::1]/v1", True),
        ("http://localhost.evil/v1", False),
    ],
)
def test_loopback_is_the_host_itself(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


async def test_starts_are_spread_evenly_over_the_minute() -> None:
    clock = Clock()
    limit = RateLimit(60.0, clock)
    assert [limit.delay(1.0) for _ in range(3)] == pytest.approx([0.0, 1.0, 2.0])
    clock.now += 10.0
    await limit.wait(1.0)
    assert limit.delay(1.0) == pytest.approx(1.0)


def test_tokens_booked_afterwards_are_waited_off() -> None:
    clock = Clock()
    limit = RateLimit(6000.0, clock)
    limit.spend(1100.0)
    assert limit.delay() == pytest.approx(10.0)
    clock.now += 4.0
    assert limit.delay() == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("url", "hosts", "directly"),
    [
        ("http://gpu1:8002/v1", "gpu1", True),
        ("http://gpu1:8002/v1", "gpu1:8002", True),
        ("http://gpu1:8002/v1", "gpu1:8003", False),
        ("http://gpu1.lab.org/v1", "localhost, LAB.org", True),
        ("http://gpu1.lab.org/v1", ".lab.org", True),
        ("http://gpu1.lab.org/v1", "*.lab.org", True),
        ("http://gpu1.lab.org/v1", "ab.org", False),
        ("http://gpu1/v1", "*", True),
        ("http://gpu1/v1", " , ", False),
        ("http://localhost:8002/v1", "", True),
        ("http://[fe80::1]:8002/v1", "fe80::1", True),
    ],
)
def test_hosts_are_read_as_the_variable_no_proxy_is(url: str, hosts: str, directly: bool) -> None:
    assert asked_directly(url, hosts) is directly

"""replicas: which of them get work."""

from __future__ import annotations

import json
from pathlib import Path

from called_verbs import Verbs

ADDRESSES = [f"http://127.0.0.1:{port}/v1" for port in (1, 2)]  # nobody is there
GIVEN = (
    *("--set", "sampling.backend=vllm", "--set", f"sampling.replicas=[{','.join(ADDRESSES)}]"),
    *("--set", "sampling.adapters=adapters", "--json"),
)


def states(out: str) -> list[str]:
    return [row["state"].split(":")[0] for row in json.loads(out)]


def test_drain_is_kept_until_it_is_lifted_and_strangers_are_refused(verb: Verbs) -> None:
    assert states(verb("replicas", *GIVEN)[1]) == ["connect", "connect"]
    assert verb("replicas", *GIVEN, "--drain", ADDRESSES[1])[0] == 0
    assert verb("replicas", *GIVEN)[0] == 0
    assert Path("adapters/drained").read_text().split() == ADDRESSES[1:]
    code, _, err = verb("replicas", *GIVEN, "--drain", "http://127.0.0.1:3/v1")
    assert code == 2
    assert "http://127.0.0.1:3/v1: none of sampling.replicas" in err
    assert verb("replicas", *GIVEN, "--rejoin", ADDRESSES[1])[0] == 0
    assert Path("adapters/drained").read_text() == ""


def test_without_replicas_there_is_nothing_to_show(verb: Verbs) -> None:
    code, _, err = verb("replicas")
    assert code == 2
    assert "sampling.replicas: none; give them by --config or --set" in err

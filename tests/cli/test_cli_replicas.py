"""replicas: which of them get work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from called_verbs import Verbs

NOBODY = "http://127.0.0.1:1/v1"


class Healthy(BaseHTTPRequestHandler):
    """A replica that answers, and has no adapter yet."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": []}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def there() -> Iterator[str]:
    """The address of a replica that answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def given(*urls: str) -> list[str]:
    keys = ("sampling.backend=vllm", f"sampling.replicas=[{','.join(urls)}]")
    return [word for key in (*keys, "sampling.adapters=adapters") for word in ("--set", key)]


def states(out: str) -> list[str]:
    return [row["state"] for row in json.loads(out)]


def test_drain_is_kept_until_it_is_lifted_and_strangers_are_refused(
    verb: Verbs, there: str
) -> None:
    call = ("models", "replicas", *given(there, NOBODY), "--json")
    down = "connect: ConnectError"
    assert states(verb(*call)[1]) == ["ready", down]
    assert verb(*call, "--drain", there)[0] == 0
    code, out, _ = verb(*call)
    assert (code, states(out)) == (0, ["drained", down])
    assert Path("adapters/drained").read_text().split() == [there]
    said = verb.refused(*call, "--drain", "http://127.0.0.1:3/v1")
    assert "http://127.0.0.1:3/v1: none of sampling.replicas" in said
    assert verb(*call, "--rejoin", there)[0] == 0
    assert Path("adapters/drained").read_text() == ""


def test_a_drained_replica_that_is_down_is_shown_as_both(verb: Verbs, there: str) -> None:
    call = ("models", "replicas", *given(there, NOBODY))
    code, out, _ = verb(*call, "--drain", NOBODY)
    assert code == 0
    assert "drained; connect: ConnectError" in out
    (_, row) = json.loads(verb(*call, "--json")[1])
    assert row == {
        "replica": NOBODY,
        "state": "drained; connect: ConnectError",
        "answers": False,
        "drained": True,
        "adapters": [],
    }


def test_a_slash_at_the_end_of_an_address_makes_no_other_replica(verb: Verbs, there: str) -> None:
    call = ("models", "replicas", *given(f"{there}/", NOBODY), "--json")
    assert states(verb(*call, "--drain", f"{there}/")[1])[0] == "drained"
    assert states(verb(*call, "--rejoin", there)[1])[0] == "ready"


def test_drained_and_rejoined_at_once_is_refused_and_changes_nothing(
    verb: Verbs, there: str
) -> None:
    said = verb.refused(
        "models", "replicas", *given(there), "--drain", there, "--rejoin", f"{there}/"
    )
    assert f"{there}: both --drain and --rejoin" in said
    assert not Path("adapters").exists()


def test_where_none_answers_the_status_is_1(verb: Verbs) -> None:
    code, out, err = verb("models", "replicas", *given(NOBODY, "http://127.0.0.1:2/v1"), "--json")
    assert (code, states(out)) == (1, ["connect: ConnectError"] * 2)
    assert err.splitlines() == ["error: sampling.replicas: none of 2 answers"]


def test_without_replicas_there_is_nothing_to_show(verb: Verbs) -> None:
    said = verb.refused("models", "replicas")
    assert "sampling.replicas: none; give them by --config or --set" in said


def test_a_replica_that_is_no_address_is_refused_before_anybody_is_asked(verb: Verbs) -> None:
    said = verb.refused("models", "replicas", *given("nonsense"))
    assert "sampling.replicas" in said
    assert "'nonsense', wanted http://HOST:PORT/v1" in said

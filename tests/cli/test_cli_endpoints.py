"""models probe, called as a person calls it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from called_verbs import Verbs

from endpoint_modes import LISTS
from fault_endpoint import FaultEndpoint, in_a_thread


@pytest.fixture
def server() -> Iterator[FaultEndpoint]:
    with in_a_thread(FaultEndpoint(0.0)) as endpoint:
        yield endpoint


# ----------------------------------------------------------------------------------------- probe
def test_probe_of_a_url_says_what_was_seen(server: FaultEndpoint, verb: Verbs) -> None:
    out, _ = verb.done("models", "probe", server.url, "--model", "m", "--at-once", "2", "--json")
    (report,) = json.loads(out)
    assert (report["url"], report["model"]) == (server.url, "m")
    assert (report["usage"], report["seed"], report["json_schema"]) == (True, True, False)
    assert (report["empty_fraction"], report["failures"]) == (0.0, {})
    assert set(report["tokens_per_s"]) == {"1", "2"}


def test_probe_of_an_endpoint_asks_for_the_model_of_its_entry(
    server: FaultEndpoint, verb: Verbs
) -> None:
    entry = {"base_url": server.url, "model_name": "inner"}
    Path("config").mkdir()
    Path("config/aflow_llm.yaml").write_text(yaml.safe_dump({"models": {"named": entry}}))
    code, out, err = verb("models", "probe", "named", "--at-once", "1")
    assert err.count("tokens a second, up to 1 requests at once") == 1
    assert code == 0
    assert out.count(f"inner at {server.url}") == 1
    assert "says the tokens used" in out
    assert "failed requests" in out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nosuch", "no endpoint 'nosuch' (known: "),
        ("http://127.0.0.1:9/v1", "not reachable"),
    ],
)
def test_probe_of_nothing_is_one_line(verb: Verbs, target: str, said: str) -> None:
    assert said in verb.refused("models", "probe", target, "--model", "m")


@pytest.mark.parametrize(
    ("mode", "said", "to_do"),
    [
        ("429", "HTTP 429: try later", "wait until its limit lets requests through"),
        ("insufficient_quota", "HTTP 429: no", "add credit or take another key"),
        ("401", "HTTP 401: Incorrect API key provided", "set OPENAI_API_KEY"),
        ("500", "HTTP 500: try later", "see what the endpoint's log says"),
    ],
)
def test_an_endpoint_that_answers_nothing_is_one_line_with_what_it_said_and_what_to_do(
    verb: Verbs, mode: str, said: str, to_do: str
) -> None:
    with in_a_thread(FaultEndpoint(0.0, mode_of=lambda _: mode)) as server:
        line = verb.refused("models", "probe", server.url, "--model", "m")
    assert f"m at {server.url}" in line
    assert said in line
    assert to_do in line
    assert "none of 8 requests was answered" in line


def test_failed_requests_of_a_probe_are_counted_in_words(
    verb: Verbs,
) -> None:
    def mode(asked: str) -> str:
        return "429" if "weather" in asked else "ok"

    with in_a_thread(FaultEndpoint(0.0, mode_of=mode)) as server:
        code, out, _ = verb("models", "probe", server.url, "--model", "m", "--at-once", "1")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "failed requests" in line]
    assert re.search(r"1 of \d+ \(HTTP 429, too many requests: 1\)", line)
    assert "no_draws" not in out


def test_an_endpoint_whose_model_is_not_known_yet_is_named_by_its_address_alone(
    verb: Verbs,
) -> None:
    with in_a_thread(FaultEndpoint(0.0, listing=LISTS["401"][1])) as server:
        line = verb.refused("models", "probe", server.url)
    assert f"executor at {server.url}: it wants a key" in line


UNSENDABLE = [
    "sk-PLANTED\nSECRET12345678",
    "sk-PLANTED\N{LATIN SMALL LETTER E WITH ACUTE}SECRET1234",
]


@pytest.mark.parametrize("key", UNSENDABLE)
@pytest.mark.parametrize(
    "arguments",
    [
        ("models", "probe", "http://127.0.0.1:9/v1", "--model", "m"),
        ("models", "probe", "gpt-oss-120b"),
        ("run", "p.py", "--problem", "x", "--executor", "gpt-oss-120b"),
    ],
    ids=["url", "name", "run"],
)
def test_a_key_that_cannot_be_sent_is_one_line_with_its_origin(
    verb: Verbs,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    arguments: tuple[str, ...],
) -> None:
    Path("p.py").write_text("return problem\n")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    code, out, err = verb(*arguments)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: environment variable OPENAI_API_KEY (exported, or in .env): ")
    assert code == 2
    assert not any(part in out + err for part in ("Traceback", "PLANTED", "SECRET1"))


def test_a_line_end_after_the_key_is_no_matter(
    server: FaultEndpoint, verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-PLANTEDSECRET12345678\n")
    out, err = verb.done("models", "probe", server.url, "--model", "m", "--at-once", "1")
    assert "PLANTED" not in out + err

"""Samplers by name: the shipped ones and one's own; what does not fit is one line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.config import load_config
from llm_as_judge.config.policy import SamplingConfig
from llm_as_judge.errors import ConfigError
from llm_as_judge.policy.backends import SAMPLERS, SamplerPlace, sampler, sampler_backend
from llm_as_judge.policy.stream import ready
from llm_as_judge.types import Completion, Sampling
from restored import restored

URL = "http://127.0.0.1:8010/v1"


@dataclass(frozen=True)
class Options:
    text: str
    times: int = 1


class Written:
    """Always the same program."""

    def __init__(self, place: SamplerPlace, options: Options) -> None:
        self.text = options.text * options.times

    async def sample(self, prompts_P: Any, sampling: Sampling) -> Any:
        return ready([[Completion((), (), (), self.text, "stop")] for _ in prompts_P])


@pytest.fixture(autouse=True)
def _own_samplers() -> Iterator[None]:
    with restored(SAMPLERS):
        sampler("written", options=Options)(Written)
        yield


def place(**sampling: Any) -> SamplerPlace:
    return SamplerPlace(None, None, SamplingConfig(**sampling), Path("a"))  # type: ignore[arg-type]


async def written(place: SamplerPlace) -> list[str]:
    async with sampler_backend(place.sampling).open(place) as opened:
        stream = await opened.sample([None], Sampling(1, 1.0, 9))  # type: ignore[list-item]
        return [completion.text async for _, _, completion in stream]


async def test_a_class_of_ones_own_writes_the_programs_with_its_options() -> None:
    assert await written(place(backend="written", options={"text": "ab", "times": 2})) == ["abab"]


async def test_one_that_must_be_closed_is_an_asynchronous_context() -> None:
    closed = []

    @sampler("opened")
    @asynccontextmanager
    async def opened(place: SamplerPlace) -> AsyncIterator[Written]:
        try:
            yield Written(place, Options("x"))
        finally:
            closed.append(True)

    assert await written(place(backend="opened")) == ["x"]
    assert closed == [True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"backend": "writen"}, "sampling.backend: no sampler 'writen'; did you mean 'written'?"),
        (
            {"backend": "written"},
            "sampling.options.text: no value; sampler 'written' wants a value (string); write it",
        ),
        (
            {"backend": "written", "options": {"text": "a", "times": "often"}},
            "option 'times' of sampler 'written': found 'often', wanted an integer",
        ),
        (
            {"backend": "written", "options": {"txt": "a"}},
            "no option 'txt' of sampler 'written'; did you mean 'text'?",
        ),
        ({"options": {"text": "a"}}, "no option 'text' of sampler 'hf'; known: none"),
        ({"backend": "vllm"}, "sampling.backend: vllm asks a server, and sampling.server names"),
        (
            {"server": URL},
            "sampling.server: the sampler hf asks no server; set sampling.back",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sampler_backend(SamplingConfig(**given))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda place: 1 / 0, r"sampling\.backend: mine: ZeroDivisionError: division by zero \("),
        (
            lambda place: "text",
            r"sampling\.backend: mine: found 'text', wanted a sampler with samp",
        ),
    ],
)
async def test_one_that_cannot_be_made_is_one_line(make: Any, said: str) -> None:
    sampler("mine")(make)
    with pytest.raises(ConfigError, match=said):
        await written(place(backend="mine"))


def test_the_shipped_ones_are_in_the_same_table() -> None:
    assert list(SAMPLERS)[:2] == ["hf", "vllm"]
    assert sampler_backend(load_config().sampling).own_weights
    asked = load_config(overrides=["sampling.backend=vllm", f"sampling.server={URL}"]).sampling
    assert not sampler_backend(asked).own_weights

"""Registry of samplers: ``sampling.backend`` names one, ``@sampler`` adds one of your own.

What else depends on the sampler is a field of it, so that no other place asks for its name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from llm_as_judge.errors import ConfigError
from llm_as_judge.plugins import Defined, Plugin, Registry
from llm_as_judge.types import PolicySampler, PolicyTurn

if TYPE_CHECKING:  # naming a sampler must not wait for torch
    from llm_as_judge.policy.model import Policy


class SamplerOptions(Protocol):
    """Keys of the section ``sampling`` that decide how programs are written."""

    @property
    def backend(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def server(self) -> str | None: ...
    @property
    def generation_batch_size(self) -> int: ...
    @property
    def temperature(self) -> float: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def outage_s(self) -> float: ...


Made = PolicySampler | AbstractAsyncContextManager[PolicySampler]


@dataclass(frozen=True, slots=True)
class SamplerPlace:
    policy: Policy
    """The weights that learn, with their tokenizer."""
    turn: PolicyTurn
    """Runs work on these weights when no update computes on them."""
    sampling: SamplerOptions
    adapters: Path
    """Folder for the adapters of updates, which servers can read."""


@dataclass(frozen=True, slots=True)
class SamplerBackend(Plugin):
    """A sampler that a configuration may name.

    It makes, of a :class:`SamplerPlace` and its options, a :class:`PolicySampler`, or an asynchronous
    context that opens and closes one.
    """

    kind = "sampler"
    options_key = "sampling.options"
    own_weights: bool = False
    """Writes with the weights that learn, in this process: its log-probs are those of the update,
    and its programs can be recorded."""
    served: bool = False
    """Asks ``sampling.server``."""

    @asynccontextmanager
    async def open(self, place: SamplerPlace) -> AsyncIterator[PolicySampler]:
        """The sampler, until the block ends.

        Raises:
            ConfigError: an option is wrong, it could not be made, or it cannot sample.
        """
        made = self.make(place, place.sampling.options, "sampling.backend")
        if isinstance(made, AbstractAsyncContextManager):
            async with made as opened:
                yield self._checked(opened)
        else:
            yield self._checked(made)

    def _checked(self, made: Any) -> PolicySampler:
        sampler: PolicySampler = self.able(made, "sample(prompts, sampling)", "sampling.backend")
        return sampler


SAMPLERS: Registry[SamplerBackend] = Registry(SamplerBackend.kind)


def sampler(
    name: str,
    *,
    options: type[Any] | None = None,
    own_weights: bool = False,
    served: bool = False,
) -> Callable[[Defined], Defined]:
    """Makes a class or function a sampler; see :class:`SamplerBackend`.

    Raises:
        ConfigError: another sampler has this name.
    """
    return SAMPLERS.adding(lambda make: SamplerBackend(name, make, options, own_weights, served))


def sampler_backend(sampling: SamplerOptions) -> SamplerBackend:
    """The sampler that a configuration names; starts nothing.

    Raises:
        ConfigError: there is none, or other keys do not fit it.
    """
    found = SAMPLERS.chosen(sampling.backend, sampling.options, "sampling.backend")
    if found.served and not sampling.server:
        raise ConfigError(
            f"sampling.backend: {found.name} asks a server, and sampling.server names none"
        )
    if sampling.server and not found.served:
        asking = [name for name, one in SAMPLERS.all().items() if one.served]
        raise ConfigError(
            f"sampling.server: the sampler {found.name} asks no server; set sampling.backend to "
            f"{' or '.join(asking)}, or leave it out"
        )
    return found


# ------------------------------------------------------------------------------ the shipped samplers
@sampler("hf", own_weights=True)
def _loaded_weights(place: SamplerPlace) -> PolicySampler:
    from llm_as_judge.policy.sample import HFSampler

    return HFSampler(
        place.policy, generation_batch_size=place.sampling.generation_batch_size, turn=place.turn
    )


@sampler("vllm", served=True)
def _vllm(place: SamplerPlace) -> AbstractAsyncContextManager[PolicySampler]:
    from llm_as_judge.policy.vllm import ServerLimits, open_vllm

    asked = place.sampling
    return open_vllm(
        place.policy,
        asked.server or "",
        place.adapters,
        ServerLimits(asked.generation_batch_size, asked.timeout_s, outage_s=asked.outage_s),
        temperature=asked.temperature,
        turn=place.turn,
    )

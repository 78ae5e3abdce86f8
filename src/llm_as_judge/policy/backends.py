"""Who writes programs: ``sampling.backend`` names a sampler, ``@sampler`` adds one of your own.

What else depends on the sampler is a field of it, so that no other place asks for its name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from llm_as_judge.config.policy import SamplingConfig
from llm_as_judge.errors import ConfigError, UserError
from llm_as_judge.plugins import Registry, read_options, said_by
from llm_as_judge.types import PolicySampler, PolicyTurn

if TYPE_CHECKING:  # naming a sampler must not wait for torch
    from llm_as_judge.policy.model import Policy

__all__ = ["SAMPLERS", "SamplerBackend", "SamplerPlace", "sampler", "sampler_backend"]

Made = PolicySampler | AbstractAsyncContextManager[PolicySampler]
Make = TypeVar("Make", bound=Callable[..., Made])


@dataclass(frozen=True, slots=True)
class SamplerPlace:
    """What a sampler is made from."""

    policy: Policy
    """The weights that learn, with their tokenizer."""
    turn: PolicyTurn
    """Runs work on these weights when no update computes on them."""
    sampling: SamplingConfig
    adapters: Path
    """Folder for the adapters of updates, which servers can read."""


@dataclass(frozen=True, slots=True)
class SamplerBackend:
    """A sampler that a configuration may name."""

    name: str
    defined: Callable[..., Made]
    """``(place)``, or ``(place, options)``: a :class:`PolicySampler`, or an asynchronous context
    that opens and closes one."""
    options: type[Any] | None = None
    """Dataclass or pydantic model of ``sampling.options``."""
    own_weights: bool = False
    """Writes with the weights that learn, in this process: its log-probs are those of the update,
    it keeps to a grammar, and its programs can be recorded."""
    replicas: bool = False
    """Asks the servers of ``sampling.replicas``."""

    @asynccontextmanager
    async def open(self, place: SamplerPlace) -> AsyncIterator[PolicySampler]:
        """The sampler, until the block ends.

        Raises:
            ConfigError: an option is wrong, it could not be made, or it cannot sample.
        """
        options = read_options(self.options, place.sampling.options, f"sampler {self.name!r}")
        try:
            made = self.defined(place) if self.options is None else self.defined(place, options)
        except UserError:
            raise
        except Exception as error:
            raise ConfigError(f"sampling.backend: {self.name}: {said_by(error)}") from error
        if isinstance(made, AbstractAsyncContextManager):
            async with made as opened:
                yield self._checked(opened)
        else:
            yield self._checked(made)

    def _checked(self, made: PolicySampler) -> PolicySampler:
        if not callable(getattr(made, "sample", None)):
            raise ConfigError(
                f"sampling.backend: {self.name}: found {made!r}, wanted a sampler with "
                "sample(prompts, sampling)"
            )
        return made


SAMPLERS: Registry[SamplerBackend] = Registry("sampler")


def sampler(
    name: str,
    *,
    options: type[Any] | None = None,
    own_weights: bool = False,
    replicas: bool = False,
) -> Callable[[Make], Make]:
    """Makes a class or function a sampler; see :class:`SamplerBackend`.

    Raises:
        ConfigError: another sampler has this name.
    """

    def register(make: Make) -> Make:
        SAMPLERS.add(SamplerBackend(name, make, options, own_weights, replicas))
        return make

    return register


def sampler_backend(sampling: SamplingConfig) -> SamplerBackend:
    """The sampler that a configuration names; starts nothing.

    Raises:
        ConfigError: there is none, or other keys do not fit it.
    """
    try:
        found = SAMPLERS.get(sampling.backend)
    except ConfigError as error:
        raise ConfigError(f"sampling.backend: {error}") from None
    read_options(found.options, sampling.options, f"sampler {found.name!r}")
    if found.replicas and not sampling.replicas:
        raise ConfigError(
            f"sampling.backend: {found.name} asks servers, and sampling.replicas names none"
        )
    if sampling.replicas and not found.replicas:
        asking = [name for name, one in SAMPLERS.all().items() if one.replicas]
        raise ConfigError(
            f"sampling.replicas: the sampler {found.name} asks no servers; set sampling.backend to "
            f"{' or '.join(asking)}, or leave them out"
        )
    if sampling.constrained and not found.own_weights:
        raise ConfigError(
            f"sampling.constrained: the sampler {found.name} keeps to no grammar; set "
            "sampling.backend=hf"
        )
    return found


# ------------------------------------------------------------------------------ the shipped samplers
@sampler("hf", own_weights=True)
def _loaded_weights(place: SamplerPlace) -> PolicySampler:
    from llm_as_judge.policy.sample import HFSampler

    return HFSampler(
        place.policy, generation_batch_size=place.sampling.generation_batch_size, turn=place.turn
    )


@sampler("vllm", replicas=True)
def _vllm_replicas(place: SamplerPlace) -> AbstractAsyncContextManager[PolicySampler]:
    from llm_as_judge.policy.vllm import ReplicaLimits, open_replicas

    asked = place.sampling
    return open_replicas(
        place.policy,
        asked.replicas,
        place.adapters,
        ReplicaLimits(asked.generation_batch_size, asked.timeout_s, outage_s=asked.outage_s),
        temperature=asked.temperature,
        turn=place.turn,
    )

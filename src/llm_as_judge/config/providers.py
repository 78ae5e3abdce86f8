"""Providers that speak OpenAI's protocol, and their prices: ``PROVIDER/MODEL`` names an endpoint."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from llm_as_judge.config.catalog import entries_of, places
from llm_as_judge.config.credentials import environment_key, from_environment
from llm_as_judge.config.reading import Number, Section, validated
from llm_as_judge.errors import ConfigError

_FILE = "providers.yaml"
PROVIDER_FORM = "PROVIDER/MODEL"


class Provider(Section):
    """A hosted service, or a kind of server on this machine."""

    base_url: str = Field(pattern=r"^https?://", description="http://HOST:PORT/v1.")
    api_key: str = Field(
        "", pattern=r"^[A-Z_][A-Z0-9_]*$|^$", description="Variable that holds the key."
    )


class ModelPrice(Section):
    """US dollars for a million tokens."""

    prompt: Number = Field(ge=0, description="Of prompt tokens.")
    completion: Number = Field(ge=0, description="Of written tokens.")
    cached: Number | None = Field(None, ge=0, description="Of prompt tokens that were kept.")
    read: Annotated[str, BeforeValidator(str)] = Field(
        pattern=r"^\d{4}-\d{2}(-\d{2})?$", description="When the page said so."
    )
    page: str = Field("", description="Where.")


def providers() -> dict[str, Provider]:
    """By name: the shipped ones and, over them, those of one's own.

    Raises:
        ConfigError: unknown key or wrong value, with file and key.
    """
    return _entries("providers", Provider)


def prices() -> dict[str, ModelPrice]:
    """By ``PROVIDER/MODEL``; see :func:`providers`."""
    return _entries("prices", ModelPrice)


def _entries(section: str, kind: type[Any]) -> dict[str, Any]:
    return {
        name: validated(kind, body, f"{place}: {section}.{name}")
        for place in places(None, _FILE)
        for name, body in entries_of(place, section, "keys as in the shipped file").items()
    }


def provider_of(name: str | None) -> str | None:
    """The provider of an endpoint called ``name``; None: that is no ``PROVIDER/MODEL``."""
    first, _, model = (name or "").partition("/")
    return first if model and not model.endswith(".gguf") and first in providers() else None


def provided(name: str) -> dict[str, Any] | None:
    """The entry of an endpoint called ``name``, as aflow_llm.yaml would have it; None: as above."""
    which = provider_of(name)
    if which is None:
        return None
    provider, price = providers()[which], prices().get(name)
    key = environment_key(provider.api_key) if provider.api_key else ""
    return {
        "base_url": provider.base_url,
        "model_name": name.partition("/")[2],
        "api_key": key,
        "usd_per_million_prompt_tokens": price and price.prompt,
        "usd_per_million_completion_tokens": price and price.completion,
        "usd_per_million_cached_tokens": price and price.cached,
    }


def provider_key(name: str) -> str:
    """Variable that holds the key of the model's provider; empty: it has none."""
    which = provider_of(name)
    return providers()[which].api_key if which else ""


def require_provider_key(name: str, where: str) -> None:
    """
    Args:
        where: who asks, for the message.
    Raises:
        ConfigError: its provider wants a key, and there is none.
    """
    variable = provider_key(name)
    if variable and not environment_key(variable):
        raise ConfigError(f"{where} {name}: no key; set the {from_environment(variable)}")

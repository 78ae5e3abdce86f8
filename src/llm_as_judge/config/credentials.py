"""Keys of endpoints: where they may come from, which may be sent, and what is never shown of them."""

from __future__ import annotations

import os
import re

from llm_as_judge.errors import ConfigError
from llm_as_judge.quoting import hide_from_now_on

WHERE_KEYS_BELONG = (
    "no keys or passwords here, for this is written into every run; "
    "put them into the environment, .env or config/aflow_llm.yaml"
)

_NAME = (
    r"(?:api[_-]?keys?|(?:access|private|auth)[_-]?keys?|passw(?:or)?d|passphrase|secret"
    r"|credential|token(?![a-z_]))"  # max_tokens and token_ids are none
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_GIVEN_SECRET = re.compile(rf"{_NAME}[\w-]*[\"']?[\s:=]", re.IGNORECASE)
_SENDABLE = re.compile(r"[!-~]*")


def checked_key(key: str, where: str) -> str:
    """``key`` as it can be sent in a header, without blanks and line ends round it. From then on no
    text that is quoted shows it.

    Args:
        where: variable, or file and entry, for the message; the key itself is never in it.
    Raises:
        ConfigError: a blank, control or non-ASCII character inside.
    """
    key = key.strip()
    if not _SENDABLE.fullmatch(key):
        raise ConfigError(
            f"{where}: this key holds a blank, a line end or another character that no key has "
            "(only ASCII letters, digits and signs can be sent); copy it again"
        )
    hide_from_now_on(key)
    return key


def environment_key(name: str) -> str:
    """The key in the environment variable ``name``; empty if there is none.

    Raises:
        ConfigError: it cannot be sent.
    """
    return checked_key(os.environ.get(name, ""), from_environment(name))


def from_environment(name: str) -> str:
    return f"environment variable {name} (exported, or in .env)"


def names_a_secret(key: str) -> bool:
    """Whether a value under this key of a configuration would be a secret."""
    return _SECRET_NAME.search(key) is not None


def without_secrets(text: str) -> str:
    """What was given, up to the first value that is named a secret."""
    found = _GIVEN_SECRET.search(text)
    return f"{text[: found.end()]}***" if found else text

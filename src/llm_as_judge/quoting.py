"""Texts of others (endpoints, files, libraries) as messages quote them: keys are hidden, and only then
the text is cut. A key that is cut first is no longer found, and all but its end stays to be read."""

from __future__ import annotations

import re

LEAST_KEY_CHARACTERS = 8
"""A shorter key is a word for a server that wants none (``none``, ``EMPTY``)."""
_MOST_READ = 65_536
"""Characters of a text that are looked at; a response may have millions."""
_HIDDEN = "***"
_MARK = " ..."
_PASSWORD = re.compile(r"://[^/\s'\"@]*@")
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|(?:hf|gsk|gh[oprsu])_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|(?:glpat|xox[a-z])-[\w-]{16,}|(?:AKIA|AIza)[\w-]{16,})"
)
"""Keys by the beginnings that their makers give them."""
_CUT_WORD = re.compile(r"\s\S*\Z")

_known: dict[str, re.Pattern[str]] = {}


def hide_from_now_on(key: str) -> None:
    """Every text that this process quotes is without ``key``, if that is long enough to be one."""
    if len(key) >= LEAST_KEY_CHARACTERS and key not in _known:
        # JSON and repr may write a backslash before a sign; the longest key is hidden first
        written = "".join(c if c.isalnum() else rf"\\*{re.escape(c)}" for c in key)
        _known[key] = re.compile(written)
        for name in sorted(_known, key=len, reverse=True):
            _known[name] = _known.pop(name)


def without_known_keys(text: str) -> str:
    """``text`` with ``***`` in the place of each key that this process was given."""
    for pattern in _known.values():
        text = pattern.sub(_HIDDEN, text)
    return text


def without_keys(text: str) -> str:
    """The same, also without what looks like a key of any maker, and without user and password of
    addresses."""
    text = _PASSWORD.sub(f"://{_HIDDEN}@", without_known_keys(text))
    return _LOOKS_LIKE_A_KEY.sub(_HIDDEN, text)


def beginning(text: str, most: int) -> str:
    """Up to ``most`` characters of ``text`` without keys, lines as they are."""
    return without_keys(text[: most + _MOST_READ])[:most]


def printable(text: str) -> str:
    """``text`` with the sign for an unknown one in the place of each that ends a line, steers a screen or
    cannot be written."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def quoted(text: str, most: int = 200) -> str:
    """``text`` on one line without keys and without signs that steer a screen, at most ``most`` characters;
    ``...`` where it was cut."""
    read = text[:_MOST_READ]
    if len(text) > _MOST_READ:  # of blanks mostly, perhaps, and then this word would be shown cut
        read = _CUT_WORD.sub("", read)
    line = printable(" ".join(without_keys(read).split()))
    return line if len(line) <= most else line[: most - len(_MARK)] + _MARK

"""Ways to spoil a file or a reply, drawn from a seed: bytes, and the values inside."""

from __future__ import annotations

import json
import random
from typing import Any

TOKENS = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\n",
    b"\t",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"&a [*a, *a]",
    b'!!python/object/apply:os.system ["true"]',
    b"\\ud800",
    b"1e999",
    b"-" + b"9" * 5000,
    b".nan",
    b"NaN",
    b"null",
    b"${NO_SUCH_NAME}",
    b"../../../../etc/passwd",
    b"<<: *x",
    b": ",
    b"- ",
    b"%s{}{0}",
    b"x" * 70_000,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    "\x00",
    "0",
    "x" * 10_000,
    [],
    {},
    [[[[[]]]]],
    [1, "a", None],
    {"": 0},
    {"a": {"b": {"c": []}}},
)


def mutated_bytes(sound: bytes, chance: random.Random) -> bytes:
    """``sound`` after one to four changes; never equal to it."""
    data = bytearray(sound)
    while bytes(data) == sound:
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data) + 1)
            kind = chance.randrange(5)
            if kind == 0 and at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            elif kind == 1:
                del data[at : at + chance.randint(1, 40)]
            elif kind == 2:
                data[at:at] = chance.choice(TOKENS)
            elif kind == 3:
                data[at:at] = data[at : at + chance.randint(1, 200)]
            else:
                del data[chance.randrange(len(data) + 1) :]
    return bytes(data)


def mutated_value(sound: Any, chance: random.Random) -> Any:
    """A copy of JSON data in which one value is another, missing, or under another name."""
    value = json.loads(json.dumps(sound))
    places = list(_places(value))
    if not places:
        return chance.choice(VALUES)
    holder, key = chance.choice(places)
    kind = chance.randrange(4)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[f"{key}_x"] = holder.pop(key)
    else:
        holder[key] = chance.choice(VALUES)
    return value


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _places(item)

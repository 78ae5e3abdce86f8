"""Ways in which an endpoint misbehaves, by name, each with what a client must make of it.

Most are taken from bug reports of servers and gateways; :mod:`fault_endpoint` serves them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Json = Any


@dataclass(frozen=True)
class Request:
    """What a mode may answer by."""

    body: Mapping[str, Json]
    asked: str
    """Its last message."""
    right: str
    """The text of a sound reply."""
    times: int
    """How often this prompt has been asked before."""

    def reply(self, content: Json = ..., **fields: Json) -> dict[str, Json]:
        """A sound response, but for ``content`` and these fields of its message."""
        text = self.right if content is ... else content
        message = {"role": "assistant", "content": text, **fields}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(self.asked), "completion_tokens": 7}
        return {"object": "chat.completion", "choices": [choice], "usage": usage}


@dataclass(frozen=True)
class Said:
    """What goes over the wire."""

    body: bytes
    status: int = 200
    headers: tuple[str, ...] = ("Content-Type: application/json",)
    raw: bool = False
    """``body`` is all that is sent, and the connection is closed behind it."""
    drip_s: float = 0.0
    """Pause after each byte."""
    hang: bool = False
    """Nothing is sent."""


def sound(data: Json, status: int = 200, *headers: str) -> Said:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return Said(content, status, ("Content-Type: application/json", *headers))


def error(status: int, message: str = "no", *headers: str, **fields: Json) -> Said:
    return sound({"error": {"message": message, **fields}}, status, *headers)


Mode = Callable[[Request], Said]


def _changed(**fields: Json) -> Mode:
    """A sound response with other fields at its top."""
    return lambda request: sound({**request.reply(), **fields})


def _choice(**fields: Json) -> Mode:
    def mode(request: Request) -> Said:
        reply = request.reply()
        return sound({**reply, "choices": [{**reply["choices"][0], **fields}]})

    return mode


def _content(content: Json, finish: Json = "stop", **fields: Json) -> Mode:
    def mode(request: Request) -> Said:
        reply = request.reply(content, **fields)
        reply["choices"][0]["finish_reason"] = finish
        return sound(reply)

    return mode


def _parts(*parts: Json) -> Mode:
    """Parts in which RIGHT stands for the right text."""

    def mode(request: Request) -> Said:
        escaped = json.dumps(request.right)[1:-1]
        return sound(request.reply(json.loads(json.dumps(parts).replace("RIGHT", escaped))))

    return mode


def _text(form: str) -> Mode:
    return lambda request: sound(request.reply(form.replace("RIGHT", request.right)))


def _always(said: Said) -> Mode:
    return lambda request: said


def _first(fault: Mode) -> Mode:
    """This fault at the first time, and a sound reply from then on."""
    return lambda request: fault(request) if not request.times else sound(request.reply())


def _refuses(name: str, status: int, message: str, **fields: Json) -> Mode:
    return lambda request: (
        error(status, message, **fields) if name in request.body else sound(request.reply())
    )


def _bytes(change: Callable[[bytes], bytes], *headers: str) -> Mode:
    return lambda request: sound(change(json.dumps(request.reply()).encode()), 200, *headers)


def _raw(form: bytes) -> Mode:
    """Bytes in which BODY stands for a sound response, and SIZE for its length."""

    def mode(request: Request) -> Said:
        body = json.dumps(request.reply()).encode()
        return Said(form.replace(b"SIZE", str(len(body)).encode()).replace(b"BODY", body), raw=True)

    return mode


def _no_system_role(request: Request) -> Said:
    if any(message["role"] == "system" for message in request.body["messages"]):
        return error(400, "System role not supported")
    return sound(request.reply())


def _nested(levels: int) -> bytes:
    return b'{"x": ' + b"[" * levels + b"]" * levels + b"}"


_OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_THOUGHT_PARTS = {"type": "thinking", "thinking": [{"type": "text", "text": "41?"}]}
_FAR = "Wed, 21 Oct 100000000000000000000 07:28:00 GMT"

RIGHT: Mapping[str, Mode] = {
    "ok": _text("RIGHT"),
    "text in parts": _parts({"type": "text", "text": "RIGHT"}),
    "output_text in parts": _parts({"type": "output_text", "text": "RIGHT"}),
    "parts without a type": _parts({"text": "RIGHT"}),
    "thought and text in parts": _parts(_THOUGHT_PARTS, {"type": "text", "text": "RIGHT"}),
    "a thought in tags": _text("<think>41?</think>\n\nRIGHT"),
    "a thought without its opening tag": _text("Is it 41? No.\n</think>\n\nRIGHT"),
    "a thought in a field": lambda request: sound(request.reply(reasoning_content="41?")),
    "empty fields everywhere": lambda request: sound(
        {**request.reply(tool_calls=[], refusal=None, audio=None), "error": None, "id": None}
    ),
    "no usage": _changed(usage=None),
    "usage of zero": _changed(usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "usage of 10^19": _changed(usage={"prompt_tokens": 10**19, "completion_tokens": 7}),
    "usage of 10^400": _changed(usage={"prompt_tokens": 10**400, "completion_tokens": 10**400}),
    "negative usage": _changed(usage={"prompt_tokens": -5, "completion_tokens": 7}),
    "usage as text": _changed(usage={"prompt_tokens": "11", "completion_tokens": "7"}),
    "usage as fractions": _changed(usage={"prompt_tokens": 11.5, "completion_tokens": 7.0}),
    "usage that is no number": _changed(usage={"prompt_tokens": float("nan")}),
    "usage as a list": _changed(usage=[11, 7]),
    "another model": _changed(model="another-model"),
    "a model that is no name": _changed(model=42),
    "finish_reason is null": _choice(finish_reason=None),
    "finish_reason is a number": _choice(finish_reason=10**30),
    "choices by index": lambda request: sound(
        {
            **request.reply(),
            "choices": [
                {"index": 1, "message": {"content": "41"}},
                {"index": 0, "message": {"content": request.right}},
            ],
        }
    ),
    "an index that is no number": _choice(index=[1]),
    "half of a surrogate pair": _changed(id="\ud800"),
    "nested 500 levels": _changed(x=json.loads(_nested(500))),
    "a megabyte beside the text": _changed(x="x" * 2**20),
    "a byte order mark": _bytes(lambda body: b"\xef\xbb\xbf" + body),
    "utf-16": _bytes(lambda body: body.decode().encode("utf-16")),
    "gzip": _bytes(gzip.compress, "Content-Encoding: gzip"),
    "named html": lambda request: Said(
        json.dumps(request.reply()).encode(), headers=("Content-Type: text/html",)
    ),
    "sixty headers": _bytes(lambda body: body, *(f"X-{n}: {n}" for n in range(60))),
    "a header that is no ASCII": _bytes(lambda body: body, "X-Name: \xe9"),
    "no length, then closed": _raw(_OPEN + b"\r\nBODY"),
    "100 Continue first": _raw(
        b"HTTP/1.1 100 Continue\r\n\r\n" + _OPEN + b"Content-Length: SIZE\r\n\r\nBODY"
    ),
    "no seed": _refuses("seed", 400, 'Unknown name "seed": Cannot find field.'),
    "no max_tokens": _refuses(
        "max_tokens", 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."
    ),
    "no temperature": _refuses(
        "temperature", 400, "invalid", param="temperature", code="unsupported_value"
    ),
    "no system role": _no_system_role,
    "busy once": _first(_always(error(503, "busy"))),
    "a pause once": _first(_always(error(429, "slow down", "Retry-After: 0"))),
    "a pause until the year 10^20 once": _first(
        _always(error(503, "busy", f"Retry-After: {_FAR}"))
    ),
    "a pause of no number once": _first(_always(error(503, "busy", "Retry-After: nan"))),
    "a pause in words once": _first(_always(error(503, "busy", "Retry-After: soon"))),
    "empty once": _first(_content("")),
    "cut off in its thought once": _first(_content(None, "length", reasoning_content="hm")),
    "a broken connection once": _first(_always(Said(b"", raw=True))),
}
"""The right answer comes of it, within two tries."""

TRIED_AGAIN: Mapping[str, tuple[str, Mode]] = {
    "500": ("http_500", _always(error(500, "try later"))),
    "502 of a gateway": ("http_502", _always(Said(b"<html>Bad\x1b[2J gateway</html>", 502))),
    "504": ("http_504", _always(error(504))),
    "529": ("http_529", _always(error(529, "overloaded"))),
    "408": ("http_408", _always(error(408))),
    "409": ("http_409", _always(error(409))),
    "425": ("http_425", _always(error(425))),
    "429": ("http_429", _always(error(429, "try later", "Retry-After: 0"))),
    "599 without a word": ("http_599", _always(Said(b"", 599))),
    "an error with status 200": ("http_429", _always(error(200, "slow down", code=429))),
    "an error of no number with status 200": ("http_500", _always(error(200, "no", code="x"))),
    "an error of many lines": ("http_500", _always(error(500, "a\nb\r\n\u2028c\x00d"))),
    "an error that is nested": ("http_500", _always(Said(_nested(100_000), 500))),
    "hang": ("timeout", _always(Said(b"", hang=True))),
    "slow_stream": ("timeout", lambda request: replace(sound(request.reply()), drip_s=0.4)),
    "drop": ("dropped", _always(Said(b"", raw=True))),
    "no HTTP": ("dropped", _always(Said(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", raw=True))),
    "half of the body, then closed": (
        "dropped",
        _raw(_OPEN + b"Content-Length: 99999\r\n\r\nBODY"),
    ),
    "two lengths": (
        "dropped",
        _raw(_OPEN + b"Content-Length: 5\r\nContent-Length: SIZE\r\n\r\nBODY"),
    ),
    "a broken chunk": (
        "dropped",
        _raw(_OPEN + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nBODY\r\n"),
    ),
    "a broken gzip": ("dropped", _bytes(lambda body: body, "Content-Encoding: gzip")),
    "a header without end": ("dropped", _raw(_OPEN + b"X-Long: " + b"x" * 200_000)),
    "17 MB": ("too_large", _always(sound(b" " * (17 << 20)))),
    "empty": ("empty", _content("")),
    "null": ("empty", _content(None)),
    "blanks": ("empty", _content(" \n\t ")),
    "the text in reasoning": ("empty", _content(None, reasoning="It is 42.")),
    "a call of a tool": ("empty", _content(None, "tool_calls", tool_calls=[{"id": "x"}])),
    "a thought without end": ("empty", _content("<think>is it 41")),
    "no text parts": ("empty", _content([_THOUGHT_PARTS])),
    "no parts": ("empty", _content([])),
    "cut off": ("cut_off", _content(None, "length")),
    "truncated": ("bad_json", _bytes(lambda body: body[: len(body) // 2])),
    "html": ("bad_json", _always(Said(b"<html>Sign in</html>"))),
    "no byte": ("bad_json", _always(Said(b""))),
    "bytes of no text": ("bad_json", _always(Said(bytes(range(128, 256))))),
    "a stream of events": ("bad_json", _bytes(lambda body: b"data: " + body + b"\n\ndata: [DONE]")),
    "nested 100,000 levels": ("bad_json", _always(Said(_nested(100_000)))),
    "a number of 5,000 digits": ("bad_json", _always(Said(b'{"x": ' + b"9" * 5000 + b"}"))),
    "wrong_shape": ("bad_shape", _always(sound({"answer": 42}))),
    "null alone": ("bad_shape", _always(sound(None))),
    "a list alone": ("bad_shape", _always(sound([1]))),
    "a text alone": ("bad_shape", _always(sound("42"))),
    "no choices": ("bad_shape", _changed(choices=[])),
    "choices is null": ("bad_shape", _changed(choices=None)),
    "choices is an object": ("bad_shape", _changed(choices={"0": 1})),
    "choices of numbers": ("bad_shape", _changed(choices=[1])),
    "message is null": ("bad_shape", _choice(message=None)),
    "message is text": ("bad_shape", _choice(message="42")),
    "content is a number": ("bad_shape", _content(42)),
    "content is an object": ("bad_shape", _content({"text": "42"})),
    "content is a list of texts": ("bad_shape", _content(["42"])),
}
"""A failure of this kind, at the second try too."""

GIVEN_UP: Mapping[str, tuple[str, Mode]] = {
    "400": ("http_400", _always(error(400, "bad request"))),
    "401": ("http_401", _always(error(401, "Incorrect API key provided"))),
    "403": ("http_403", _always(error(403))),
    "404": ("http_404", _always(Said(b"404 page not found", 404))),
    "405": ("http_405", _always(error(405))),
    "418 as a list": ("http_418", _always(sound([{"error": {"message": "no"}}], 418))),
    "204": ("http_204", _always(Said(b"", 204, ()))),
    "another address": ("http_301", _always(Said(b"", 301, ("Location: http://127.0.0.1:1/",)))),
    "no top_p, though none was sent": ("http_400", _always(error(400, "Unknown name 'top_p'"))),
    "402": ("quota", _always(error(402, "Insufficient Balance"))),
    "insufficient_quota": ("quota", _always(error(429, "no", code="insufficient_quota"))),
    "a pause of an hour": ("http_429", _always(error(429, "later", "Retry-After: 3600"))),
    "a pause for ever": ("http_503", _always(error(503, "later", "Retry-After: 1e400"))),
}
"""A failure of this kind, at the first try."""

OF_THE_REQUEST: Mapping[str, tuple[str, Mode]] = {
    "too long by code": ("too_long", _always(error(400, "no", code="context_length_exceeded"))),
    "too long by status": ("too_long", _always(Said(b"<h1>Payload</h1>", 413))),
    "too long by words": ("too_long", _always(error(422, "`inputs` must have less than 9 tokens"))),
    "filtered by code": ("content_filter", _always(error(400, "no", code="content_filter"))),
    "filtered by an inner code": (
        "content_filter",
        _always(error(400, "no", innererror={"code": "ResponsibleAIPolicyViolation"})),
    ),
    "filtered reply": ("content_filter", _content("", "content_filter")),
    "a refusal": ("content_filter", _content(None, refusal="I cannot help with that.")),
}
"""No reply, at the first try, by the doing of the request: the operator's empty value."""

FAILURES = {**TRIED_AGAIN, **GIVEN_UP, **OF_THE_REQUEST}
MODES: Mapping[str, Mode] = {**RIGHT, **{name: mode for name, (_, mode) in FAILURES.items()}}

LISTS: Mapping[str, tuple[str, Said]] = {
    "none": ("", Said(b"{}", 404)),
    "the model": ("", sound({"data": [{"id": "other"}, {"id": "m"}]})),
    "ids that are no names": ("not served", sound({"data": [{"id": 1}, {"id": [[1]]}]})),
    "another model": (
        "model 'm' is not served (served: other)",
        sound({"data": [{"id": "other"}]}),
    ),
    "a name that steers the screen": ("not served", sound({"data": [{"id": "\x1b[2J\nx"}]})),
    "no model": ("(served: none)", sound({"data": []})),
    "endless": ("no answer in", Said(b" " * 9999, drip_s=0.05)),
    "hang": ("no answer in", Said(b"", hang=True)),
    "17 MB": ("response exceeds 16 MiB", sound(b" " * (17 << 20))),
    "nested": ("without a list of models", Said(_nested(100_000))),
    "html": ("without a list of models", Said(b"<html></html>")),
    "null": ("without a list of models", sound(None)),
    "a list of numbers": ("without a list of models", sound({"data": [1]})),
    "an object": ("without a list of models", sound({"data": {"id": "m"}})),
    "500": ("without a list of models", error(500)),
    "401": ("wants a key", error(401)),
    "no HTTP": ("not reachable", Said(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", raw=True)),
    "drop": ("not reachable", Said(b"", raw=True)),
}
"""What is said where models are listed -> words of the line at start; empty: the run begins."""

"""A local OpenAI-compatible server of our own, in a child process on a free loopback port.

The child never outlives us. It is stopped by :meth:`EmbeddedServer.close`, at interpreter exit,
and by itself when we are gone, whatever ended us: its standard input, which only we hold, ends.
No signal handler is installed, so a host program keeps its own.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.requantized import servable
from llm_as_judge.quoting import without_keys

_COMMAND = (sys.executable, "-m", "llm_as_judge.llm.local_server")
_TAIL_LINES = 6
_STOP_S = 3.0
_ENDING_S = 0.5
"""Connections of a killed process break before its last thread has ended."""
_MOST_REVIVALS = 3
"""A request that kills the server must not kill it for ever."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Those that served a few concurrent short requests best (``python benchmarks/engines.py``)."""

    slots: int = 8
    """Requests served at once."""
    context_tokens: int = 4096
    """Prompt and reply of one request."""
    threads: int = 0
    """0 = every processor this process may use."""


class EmbeddedServer:
    """Serves one GGUF file; a context manager.

    After :meth:`start`: ``base_url`` (ends in ``/v1``), ``api_key`` (random: other users of the
    machine cannot use the server) and ``model_name``.
    """

    def __init__(
        self,
        weights: Path,
        model_name: str,
        settings: ServerSettings | None = None,
        *,
        start_timeout_s: float = 180.0,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        self.model_name = model_name
        self.settings = settings or ServerSettings()
        self.api_key = secrets.token_urlsafe(24)
        self.base_url = ""
        self._weights = weights
        self._start_timeout_s = start_timeout_s
        self._command = tuple(command)
        self._child: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._port = 0
        self._up_since = 0.0
        self._revivals = 0
        self._reviving = threading.Lock()
        self._closed = True

    def start(self) -> EmbeddedServer:
        """Start the child and wait until it answers.

        Raises:
            ModelError: no weights, or some that cannot be served, or it died or was not ready in
                time (with the end of its log).
        """
        if not self._weights.is_file():
            raise ModelError(
                f"embedded server {self.model_name}: no weights at {self._weights}; "
                f"run: llm-as-judge models pull {self.model_name}"
            )
        self._weights = servable(self._weights)
        self._closed = False
        self._start()
        return self

    def _start(self) -> None:
        atexit.register(self.close)
        try:
            url = self._address(self._spawn())
        except BaseException:
            self._stop()
            raise
        self.base_url = f"{url}/v1"
        self._port = int(url.rpartition(":")[2])
        self._up_since = time.monotonic()

    def revive(self, since: float) -> bool:
        """Start the child again at the same address if it has ended by itself: killed for want of
        memory, or broken. May be called from several threads.

        Args:
            since: a moment of ``time.monotonic``.
        Returns:
            Whether it was started anew after ``since``, by this call or another one.
        Raises:
            ModelError: it has ended too often, or does not start.
        """
        with self._reviving:
            child = self._child
            if child is None:
                return False  # closed by its owner
            if self._up_since > since:
                return True
            try:
                how = _end_of(child.wait(_ENDING_S))
            except subprocess.TimeoutExpired:
                return False
            if not self._closed:  # meanwhile: it has not ended by itself
                self._start_again(self._failed(f"ended by itself ({how})"))
            return not self._closed

    def _start_again(self, ended: ModelError) -> None:
        """A child that ends while it starts is one more end."""
        while not self._closed:
            if self._revivals == _MOST_REVIVALS:
                raise ModelError(f"{ended}; it was started again {_MOST_REVIVALS} times before")
            self._revivals += 1
            log.warning("%s; started again (%d of %d)", ended, self._revivals, _MOST_REVIVALS)
            self._stop()
            try:
                self._start()
            except ModelError as error:
                ended = error
            else:
                break
        if self._closed:
            self._stop()

    def close(self) -> None:
        """Stop the child; harmless when it is stopped already."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        atexit.unregister(self.close)
        child, self._child = self._child, None
        if child is not None:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # gone, with settings it did not read
                child.stdin.close()
            try:
                child.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if self._log is not None:
            self._log.close()
            self._log = None

    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def log_tail(self) -> str:
        """The last lines of the child's output."""
        if self._log is None:
            return ""
        self._log.flush()
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 4096, max(0, size - 4096))
        if size > len(text):  # the first line lacks its beginning: of a key the rest would be shown
            text = text.partition(b"\n")[2]
        lines = without_keys(text.decode(errors="replace")).split("\n")
        return " | ".join(lines[-_TAIL_LINES - 1 :]).strip(" |")

    def __enter__(self) -> EmbeddedServer:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -------------------------------------------------------------------------------------- start
    def _spawn(self) -> int:
        """Start the child; returns the descriptor it reports its address on."""
        report, child_end = os.pipe()
        self._log = tempfile.TemporaryFile(prefix="llm-as-judge-server-")  # noqa: SIM115
        try:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=(child_end,),
                start_new_session=True,  # signals of the terminal are for us alone
            )
        except OSError as error:
            os.close(report)
            raise ModelError(f"embedded server {self.model_name}: cannot start: {error}") from None
        finally:
            os.close(child_end)
        assert self._child.stdin is not None
        settings = {
            **asdict(self.settings),
            "threads": self.settings.threads or _processors(),
            "weights": str(self._weights),
            "port": self._port,
            "model_name": self.model_name,
            "api_key": self.api_key,
            "parent": os.getpid(),
            "report_fd": child_end,
            "die_with_parent": threading.current_thread() is threading.main_thread(),
        }
        try:
            self._child.stdin.write(json.dumps(settings).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once: the report's end says so, with its log
        return report

    def _address(self, report: int) -> str:
        """Told once its socket listens: a request that comes before it serves waits there."""
        with os.fdopen(report, "rb", buffering=0) as pipe:
            readable, _, _ = select.select([pipe], [], [], self._start_timeout_s)
            if not readable:
                late = "(executor.start_timeout_s; a busy machine needs more)"
                raise self._failed(f"not ready in {self._start_timeout_s:g} s {late}")
            line = pipe.readline()
        if not line:
            raise self._failed("it ended while starting")
        return str(json.loads(line)["url"])

    def _failed(self, what: str) -> ModelError:
        if self._child is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(0.5)  # so that its last words are in the log
        said = self.log_tail() or "nothing"
        return ModelError(f"embedded server {self.model_name}: {what}; it said: {said}")


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end_of(returncode: int) -> str:
    if returncode >= 0:
        return f"exit {returncode}"
    return signal.Signals(-returncode).name if -returncode in list(signal.Signals) else "signal"

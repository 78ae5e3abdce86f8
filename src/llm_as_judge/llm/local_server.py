"""The child process of :class:`llm_as_judge.llm.local.EmbeddedServer`: a model in memory, asked over HTTP.

Started as ``python -m llm_as_judge.llm.local_server``. Standard input carries one line of JSON (the
settings) and then stays open: its end means that the parent is gone, however it went. The address
is written as one line of JSON to the file descriptor that the settings name.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.quoting import without_keys

if TYPE_CHECKING:
    from llm_as_judge.llm.batching import Batch

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 1.0


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    with open(0, "rb", buffering=0, closefd=False) as pipe:  # unbuffered: the rest is watched
        settings = json.loads(pipe.readline())
    if settings["die_with_parent"]:
        _die_with_parent()
    if os.getppid() != settings["parent"]:
        return
    report = json.dumps({"url": _serve(settings)}) + "\n"
    os.write(settings["report_fd"], report.encode())
    _wait_for_parent(settings["parent"])
    os._exit(0)  # no destructors: a request in flight would hold them up


def _die_with_parent() -> None:
    """Linux kills this process with the *thread* that started it, so only the parent's main
    thread may ask for it. It works even while weights load, when no Python code here runs."""
    import ctypes

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for_parent(parent: int) -> None:
    """Until standard input ends; a process forked off the parent may hold it open, hence the id."""
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], _LOOK_EVERY_S)
        if readable and not os.read(0, 4096):
            return


def without_telemetry() -> None:
    """The engine's package brings one that reports to its makers, and works as well without it."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]


def _serve(settings: dict[str, Any]) -> str:
    """Loads the weights, then serves from threads of its own; returns its address."""
    without_telemetry()
    _say("importing the engine")
    import uvicorn

    from llm_as_judge.llm.local_app import make_app

    threading.excepthook = _end_with
    slots, context = settings["slots"], settings["context_tokens"]
    size = Path(settings["weights"]).stat().st_size / 1e6
    _say(
        f"reading {settings['weights']} ({size:.0f} MB) and compiling it for {slots} slots of {context} tokens, on "
        f"{settings['threads']} threads"
    )
    batch = _loaded(settings)
    _say("listening")
    app = make_app(batch, settings["model_name"], settings["api_key"], settings["slots"])
    listener = socket.create_server(("127.0.0.1", settings["port"]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, ws="none"))
    threading.Thread(target=server.run, args=([listener],), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _say(doing: str) -> None:
    """To the log, which the parent quotes if this process does not become ready."""
    print(doing, flush=True)  # noqa: T201


def _loaded(settings: dict[str, Any]) -> Batch:
    from llm_as_judge.llm.batching import Batch

    slots, context = settings["slots"], settings["context_tokens"]
    try:
        return Batch(
            Path(settings["weights"]),
            slots=slots,
            context_tokens=context,
            threads=settings["threads"],
        )
    except RuntimeError as error:
        said = " ".join(without_keys(str(error)).split())
        if "more memory than available" in said:
            sys.exit(
                f"{slots} slots of {context} tokens need more memory than there is; lower "
                "executor.slots or executor.context_tokens"
            )
        sys.exit(
            f"{settings['weights']} cannot be served ({said[-200:]}); the embedded server reads GGUF of "
            "Llama and Qwen models: serve others elsewhere, and name that server in aflow_llm.yaml"
        )


def _end_with(broken: threading.ExceptHookArgs) -> None:
    """A thread that ends in an error ends the process, so that the parent can start it again."""
    traceback.print_exception(broken.exc_type, broken.exc_value, broken.exc_traceback)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()

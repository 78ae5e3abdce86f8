"""The child process of :class:`llm_as_judge.llm.local.EmbeddedServer`: a llama.cpp server.

Started as ``python -m llm_as_judge.llm.local_server``. Standard input carries one line of JSON (the
settings) and then stays open: its end means that the parent is gone, however it went. The address
is written as one line of JSON to the file descriptor that the settings name.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any

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
    server = _serve(settings)
    report = json.dumps({"url": server.listening_address}) + "\n"
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


def _serve(settings: dict[str, Any]) -> Any:
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["model_name"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]
    params.ui = False
    params.cors_origins = ""
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context_tokens"]
    params.n_batch = settings["batch_tokens"]
    params.n_ubatch = settings["microbatch_tokens"]
    params.kv_unified = settings["kv_unified"]
    params.cache_ram_mib = settings["cache_ram_mib"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.n_threads_http = settings["slots"] + 4
    params.fit_params = False  # sizes are given, not guessed from free memory
    return Server(params)


if __name__ == "__main__":
    main()

"""Several processes of one learner on this machine, as a launcher would start them."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_as_judge.errors import LlmAsJudgeError

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["llm_as_judge.training.worker", "test_learner"])
ENDS_IN_S = 120


def process(environment: dict[str, str], said: Path, job: Callable[[], None]) -> None:
    """The life of one process; an error of ours ends it as the command line would, in ``said``."""
    import torch

    torch.set_num_threads(1)
    os.environ.update(environment)
    try:
        job()
    except LlmAsJudgeError as error:
        said.write_text(str(error))
        os._exit(1)


@dataclass(frozen=True)
class Processes:
    """Rank after rank."""

    processes: list[Any]
    folder: Path

    def statuses(self) -> list[int | None]:
        """Exit statuses when all have ended; None for one that does not end."""
        for one in self.processes:
            one.join(ENDS_IN_S)
        return [one.exitcode for one in self.processes]

    def said(self, rank: int) -> str:
        """The error that ended a process."""
        return (self.folder / f"said_{rank}").read_text()


@contextmanager
def started(folder: Path, *jobs: Callable[[], None], **environment: str) -> Iterator[Processes]:
    """One process for each job, the first as rank 0; what is left of them at the end is killed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    count = str(len(jobs))
    processes = []
    for rank, job in enumerate(jobs):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1"}
        place |= {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": str(port)}
        arguments = (place | environment, folder / f"said_{rank}", job)
        processes.append(FORK.Process(target=process, args=arguments))
    for one in processes:
        one.start()
    try:
        yield Processes(processes, folder)
    finally:
        for one in processes:
            one.kill()
            one.join()

"""Worker processes of this package, which never import the program that uses it."""

from llm_as_judge.processes.pool import ProcessPool, WorkerEnded

__all__ = ["ProcessPool", "WorkerEnded"]

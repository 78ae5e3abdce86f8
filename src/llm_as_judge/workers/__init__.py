"""Places where programs run and answers are graded: this machine, or workers of a Ray cluster.

    LocalWork     this machine's sandbox and rules
    WorkerPool    the same interface over workers, whatever carries their messages (ray_workers)

A worker runs programs in its own jail under the same limits, lets operators ask, and grades by
rules. It calls no endpoint: every executor call of a program comes back as a question, is asked by
the one process that holds keys, budget, shared draws and ledger, and its reply sent to the worker.
So a worker that dies takes no bill with it, and what it had asked is not asked again.
"""

from llm_as_judge.workers.work import LocalWork, RunSettings, Work, open_local_work

__all__ = ["LocalWork", "RunSettings", "Work", "open_local_work"]

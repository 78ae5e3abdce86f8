"""Runs untrusted code in processes that can do nothing but compute and answer.

``open_sandbox`` gives the strongest sandbox that was asked for; docs/sandbox.md says what each
mechanism stops and what it does not.
"""

from llm_as_judge.sandbox.opening import open_sandbox

__all__ = ["open_sandbox"]

"""Operators: the steps a workflow program is made of.

``registry()`` holds them; ``OperatorService`` answers the calls of one execution;
``operator_docs`` describes them to the policy.
"""

from llm_as_judge.operators.base import (
    CallLimitError,
    ExecutionContext,
    ExecutorSettings,
    Operator,
    OperatorSettings,
    ReplyError,
)
from llm_as_judge.operators.docs import executors_told, operator_docs
from llm_as_judge.operators.prompts import load_enhancements
from llm_as_judge.operators.registry import (
    OperatorEntry,
    Registry,
    load_registry,
    operator,
    operator_facts,
    registry,
)
from llm_as_judge.operators.service import OperatorService

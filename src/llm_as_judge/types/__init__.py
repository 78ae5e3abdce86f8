"""The values that flow through the system, in the order they arise.

    Problem -> Completion -> Program -> Execution -> Verdict -> Reward

All of them are held by one ``Rollout``; K rollouts of one problem make a ``Group``; groups make a
training step. Every value is a frozen dataclass that survives a round trip through JSON
(:func:`to_json`, :func:`from_json`), so that one rollout is one line of ``rollouts.jsonl``.

Two kinds of misfortune are never mixed:

* the *program's* fault is ``Execution.status`` and earns a low reward;
* *our* fault (endpoint down, sandbox broken) is a ``Failure``: the rollout leaves its group.
"""

from __future__ import annotations

from llm_as_judge.types.datasets import (
    DATASET_INFO,
    DOMAINS,
    DatasetInfo,
    Domain,
    Split,
    add_dataset_info,
    dataset_info,
    is_shipped,
    known_domain,
    own_dataset,
)
from llm_as_judge.types.interfaces import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Embedder,
    Equality,
    IsolationReport,
    MeasuredSampler,
    Message,
    PolicySampler,
    PolicyTurn,
    Prompt,
    RunLimits,
    Sample,
    SampleStream,
    Sampling,
    Sandbox,
    SandboxResult,
    ServeOperator,
    SharedPrompt,
    StubReport,
    TestReport,
    Usage,
)
from llm_as_judge.types.plain import from_json, to_json
from llm_as_judge.types.values import (
    ANSWER_KINDS,
    BUDGETS,
    DEFAULT_EXECUTOR,
    GRADER_NAMES,
    PROMPT_PRICE,
    UNSPECIFIED,
    AnswerKind,
    AnswerSpec,
    Budget,
    Completion,
    Diagnostic,
    Execution,
    ExecutionStatus,
    Failure,
    GraderName,
    Group,
    Json,
    OperatorCall,
    Problem,
    Program,
    PromptFacts,
    ReplyLogProbs,
    Reward,
    RewardPart,
    Rollout,
    StopReason,
    Verdict,
)

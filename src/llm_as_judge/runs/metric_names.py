"""What a run logs each step, by name: metrics.jsonl, timings.jsonl and the trackers.

A name that ends in ``*`` stands for all that begin so. Shares are in 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping

from llm_as_judge.renamed import RECORDED

METRIC_NAMES: Mapping[str, str] = {
    "reward/mean": "mean total reward, -10..10; at most 1 under the scheme `priced`",
    "reward/*": "mean score of one part, -10..10; under `priced` share right, and thousands of written tokens below 0",
    "accuracy/all": "share right of the graded rollouts, from verdicts, never from rewards",
    "accuracy/*": "the same for one domain: math, qa, code",
    "rollout/count": "rollouts of the step",
    "rollout/strictly_valid": "share valid as the policy wrote them",
    "rollout/repaired": "share that a repair made valid",
    "rollout/truncated": "share cut at `sampling.max_new_tokens`",
    "rollout/failed": "share lost by our fault (endpoint, sandbox)",
    "rollout/failed/*": "the same by stage and kind",
    "rollout/not_graded": "share that ran and got no verdict",
    "rollout/distinct_programs": "distinct of the runnable programs of a group, mean of groups",
    "rollout/program_tokens": "mean tokens of a program",
    "rollout/staleness": "updates between writing a program and learning from it, mean",
    "sampling/replicas": "vLLM replicas that may be asked, at the end of the step",
    "sampling/resent": "programs that had to be asked for again (only with `sampling.backend: vllm`)",
    "execution/*": "share of executions that ended so: ok, malformed, rejected, timeout, crashed, "
    "call_limit, no_answer",
    "executor/calls": "mean executor calls of a run of a program",
    "executor/tokens": "mean executor tokens of a run",
    "executor/cost": "mean cost of a run, in written tokens",
    "budget/*": "`low_cost`, `low_accuracy` and so on: mean cost and share right of the problems whose prompt named "
    "this budget, under the scheme `priced`",
    "prompt/tokens": "mean tokens of a prompt",
    "prompt/shared": "share of prompt tokens computed once for several prompts",
    "prompt/examples": "mean examples in a prompt",
    "prompt/retrieved": "of these from the experience buffer",
    "prompt/examples_dropped": "mean examples left out for lack of room",
    "prompt/cut": "share of prompts with a cut problem",
    "prompt/cut_characters": "mean characters cut",
    "experience/entries": "entries of the experience buffer",
    "experience/added": "entries new in this step",
    "experience/programs": "distinct programs in the buffer",
    "hacking/cheap_wrong": "share of graded programs that ran, were wrong and made at most one call",
    "hacking/right_without_calls": "share of right answers without an executor call",
    "hacking/same_answer": "share of problems with the step's most common answer",
    "hacking/judge_only": "share of right answers that only the LLM judge accepted",
    "judge/abstained": "share of graded answers for which the judge gave no verdict",
    "judge/decided": "share of graded answers that the judge decided, after the rules",
    "judge/confidence": "mean probability that these verdicts are right, where the judge knows it",
    "judge/canaries_right": "share of the canaries that the judge graded rightly",
    "judge/canaries_changed": "share of the canaries graded otherwise than in the audit",
    "judge/canaries_not_graded": "share of the canaries without a verdict",
    "judge/second_asked": "accepted answers shown to the second judge",
    "judge/second_agreement": "share of these that it accepts too",
    "update/groups": "groups that the update used",
    "update/groups_without_variance": "groups left out: all rewards equal",
    "update/loss": "loss",
    "update/grad_norm": "norm of the gradient before clipping",
    "update/entropy": "mean nats a token of the policy",
    "update/learning_rate": "of this update",
    "update/tokens": "program tokens learned from",
    "update/micro_batch_tokens": "tokens computed, shared prompts once",
    "update/ratio_mean": "policy ratio, mean over tokens",
    "update/ratio_max": "policy ratio, greatest",
    "update/clipped_fraction": "share of tokens (gspo: sequences) whose ratio is clipped or capped",
    "update/kl": "mean KL to the adapter-free model, nats a token (only with `training.kl_weight`)",
    "update/logprob_gap_mean": "log-prob at sampling against the update's first pass, mean",
    "update/logprob_gap_max": "the same, greatest",
    "update/rounding_gap": "mean between two ways of the update itself: rounding alone (half "
    "precision, and only where the gap above is beyond its usual bar)",
    "warm_start/problems": "problems that the policy imitated programs on before its first step, "
    "whose line has these figures",
    "warm_start/programs": "different programs that it imitated",
    "warm_start/readings": "sets of disagreeing solutions from which it learned to choose",
    "warm_start/updates": "updates of that stage",
    "warm_start/loss_first": "weighted negative log-likelihood, nats a token, first tenth of them",
    "warm_start/loss_last": "the same, last tenth",
    "time/step_s": "seconds of the step",
    "time/sample_s": "seconds in which the policy writes programs",
    "time/wait_s": "seconds in which it waits for programs to end",
    "time/update_s": "seconds of the update",
    "time/execute_and_grade_s": "seconds in which programs run and are graded, beside the others",
    "time/idle_fraction": "share of waiting",
    "ledger/calls": "chat calls of the step, executor and judge",
    "ledger/attempts": "requests on the wire, retries included",
    "ledger/failed_attempts": "of these without a usable reply",
    "ledger/unmetered_attempts": "of these without a count of tokens",
    "ledger/cached_calls": "calls answered from the recording",
    "ledger/prompt_tokens": "prompt tokens paid for",
    "ledger/completion_tokens": "completion tokens paid for",
    "ledger/estimated_tokens": "tokens, at most, of the requests without a count",
    "ledger/cost": "cost of what was paid for, in written tokens, estimated ones included",
    "ledger/cost_usd": "dollars, estimated ones included; absent while a price is unknown",
    "ledger/estimated_usd": "dollars, at most, of the requests without a count",
    "ledger/shared_calls": "mean calls of a program that a sibling's equal call paid for",
    "ledger/saved_fraction": "share of all calls that nobody paid for",
    "workers/ready": "workers that take programs now (only with `workers.backend: ray`)",
    "workers/lost": "workers lost since the start, with their nodes or alone",
    "workers/again": "runs and gradings begun again for that since the start",
}
"""Name -> meaning."""


def meaning_of(name: str) -> str | None:
    """What the metric ``name`` means, the most special entry first; None = not documented."""
    if name in METRIC_NAMES:
        return METRIC_NAMES[name]
    families = [key for key in METRIC_NAMES if key.endswith("*") and name.startswith(key[:-1])]
    return METRIC_NAMES[max(families, key=len)] if families else None


def metrics_page() -> str:
    """docs/metrics.md, generated."""
    lines = [
        "# Metrics",
        "",
        "One line a step in `metrics.jsonl`; `time/`, `ledger/` and `workers/`, which depend on clock or",
        "retries, in `timings.jsonl`. Trackers (`tracking.sinks`) get both under the same names. Written by",
        "`python scripts/reference_pages.py` from `runs/metric_names.py`.",
        "",
        "| name | meaning |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in METRIC_NAMES.items()),
        "",
        "## Older names",
        "Logs of earlier runs are read under the names of now.",
        "",
        "| before | now |",
        "|---|---|",
        *(f"| `{old}` | `{new}` |" for old, new in RECORDED.items() if new in METRIC_NAMES),
    ]
    return "\n".join(lines) + "\n"

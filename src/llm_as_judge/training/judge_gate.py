"""No judge rewards before it is measured: what ``train`` asks for before it loads a model.

Rules alone are audited on the spot, which takes seconds. A judge with a language model must have
been audited by ``llm-as-judge judge audit``; or a person forces it, and then every checkpoint says so.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llm_as_judge.assembly import judge_fingerprint
from llm_as_judge.audit.audit import run_audit
from llm_as_judge.audit.report import write_report
from llm_as_judge.audit.status import (
    AuditStatus,
    read_audit_status,
    report_path,
    require_passing_audit,
)
from llm_as_judge.config import Config
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.kinds import rules_alone

_NO_PART_OF_THE_JUDGE = frozenset(
    {
        "max_ungraded_fraction",
        "max_abstained_fraction",
        "canaries_every",
        "second_model",
        "second_fraction",
    }
)


def require_measured_model(config: Config) -> None:
    """Returns if rules alone judge, or the audit of the judge's model has passed; loads nothing.

    Raises:
        AuditError: unaudited, failed, too old. ConfigError: no such model.
    """
    if rules_alone(config.judge):
        return
    fingerprint = judge_fingerprint(config)
    found = read_audit_status(report_path(config.output.results, fingerprint), fingerprint)
    require_passing_audit(found, audit_command(config))


async def require_audit(
    config: Config, *, force: bool = False, say: Callable[[str], None] = lambda text: None
) -> AuditStatus:
    """How the judge of ``config`` stands; rules without a report are audited now.

    Args:
        force: return also if the judge may not train.
        say: told what takes time.
    Raises:
        AuditError: unaudited, failed, too old, and not forced. ConfigError: no such model.
        OutputError: the report cannot be written.
    """
    fingerprint = judge_fingerprint(config)
    path = report_path(config.output.results, fingerprint)
    audit_status = read_audit_status(path, fingerprint)
    if rules_alone(config.judge) and audit_status.status not in ("passed", "failed"):
        say("auditing the rules that grade")
        judge = Judge(f1_threshold=config.judge.qa_f1_threshold)
        try:
            write_report(await run_audit(judge, fingerprint, "rules"), path)
        finally:
            await judge.aclose()
        audit_status = read_audit_status(path, fingerprint)
    if not force:
        require_passing_audit(audit_status, audit_command(config))
    return audit_status


def audit_command(config: Config) -> str:
    """The command that audits the judge of ``config`` and leaves the report where it is sought."""
    default = Config()
    usual, judge = (one.judge.model_dump(mode="json") for one in (default, config))
    changed = [
        f"judge.{key}={_yaml(value)}"
        for key, value in judge.items()
        if value != usual[key] and key not in _NO_PART_OF_THE_JUDGE
    ]
    if config.plugins:
        changed.append(f"plugins={_yaml(list(config.plugins))}")
    if config.output.results != default.output.results:
        changed.append(f"output.results={config.output.results}")
    return " --set ".join(["llm-as-judge judge audit", *map(shlex.quote, changed)])


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def judge_entry(
    audit_status: AuditStatus, config: Config, *, step: int, forced: bool
) -> dict[str, Any]:
    """What run.json and every checkpoint say of the judge from ``step`` on."""
    return {
        "from_step": step,
        "judge": config.judge.label,
        "fingerprint": audit_status.fingerprint,
        "audit": audit_status.status,
        "reason": audit_status.reason,
        "forced": forced and audit_status.status != "passed",
        "report": audit_status.report,
        "report_sha256": audit_status.report_sha256,
    }


def judge_history(
    earlier: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The judges of all steps so far: a resumed run cannot forget that one was unaudited."""
    last = dict(earlier[-1]) if earlier else {}
    if {**last, "from_step": 0} == {**entry, "from_step": 0}:
        return [dict(one) for one in earlier]
    return [*(dict(one) for one in earlier), dict(entry)]

"""No judge rewards before it is measured: what ``train`` asks for before it loads a model.

What cannot change behind its name is audited on the spot: rules alone in seconds, a trained judge here in
minutes. A judge with another model must have been audited by ``llm-as-judge judge audit``; or a
person forces it, and then every checkpoint says so.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llm_as_judge.assembly.workbench import judge_fingerprint, open_judge
from llm_as_judge.audit.audit import AuditReport, run_audit
from llm_as_judge.audit.labeled import shipped_labeled
from llm_as_judge.audit.report import write_report
from llm_as_judge.audit.status import (
    AuditStatus,
    find_audit_status,
    read_audit_status,
    report_path,
    require_passing_audit,
)
from llm_as_judge.config import Config
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.kinds import judging_mode

_NO_PART_OF_THE_JUDGE = frozenset(
    {"max_ungraded_fraction", "max_abstained_fraction", "canaries_every"}
)


def require_measured_model(config: Config) -> None:
    """Returns if the judge may train or will be audited on the spot; loads nothing.

    Raises:
        AuditError: unaudited, failed, too old. ConfigError: no such model.
    """
    found = find_audit_status(config.output.results, judge_fingerprint(config))
    if _is_audited_here(config, found):
        return
    require_passing_audit(found, audit_command(config))


async def require_audit(
    config: Config, *, force: bool = False, say: Callable[[str], None] = lambda text: None
) -> AuditStatus:
    """How the judge of ``config`` stands; rules and a trained judge without a report are audited now.

    Args:
        force: return also if the judge may not train.
        say: told what takes time.
    Raises:
        AuditError: unaudited, failed, too old, and not forced. ConfigError: no such model.
        OutputError: the report cannot be written.
    """
    fingerprint = judge_fingerprint(config)
    audit_status = find_audit_status(config.output.results, fingerprint)
    if _is_audited_here(config, audit_status):
        path = report_path(config.output.results, fingerprint)
        write_report(await _audited(config, fingerprint, say), path)
        audit_status = read_audit_status(path, fingerprint)
    if not force:
        require_passing_audit(audit_status, audit_command(config))
    return audit_status


def _is_audited_here(config: Config, audit_status: AuditStatus) -> bool:
    known = audit_status.status in ("passed", "failed")
    return not known and judging_mode(config.judge) != "model"


async def _audited(config: Config, fingerprint: str, say: Callable[[str], None]) -> AuditReport:
    if judging_mode(config.judge) == "weights":
        say("auditing the trained judge, one to three minutes")
        async with open_judge(config) as trained:
            return await run_audit(trained.fresh, fingerprint, "weights", shipped_labeled())
    say("auditing the rules that grade")
    rules = Judge(f1_threshold=config.judge.qa_f1_threshold)
    try:
        return await run_audit(rules, fingerprint, "rules")
    finally:
        await rules.aclose()


def audit_command(config: Config) -> str:
    """The command that audits the judge of ``config`` and leaves the report where it is sought."""
    default = Config()
    usual, judge = (one.judge.model_dump(mode="json") for one in (default, config))
    changed = [
        f"judge.{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in judge.items()
        if value != usual[key] and key not in _NO_PART_OF_THE_JUDGE
    ]
    if config.plugins:
        changed.append(f"plugins={json.dumps(config.plugins)}")
    if config.output.results != default.output.results:
        changed.append(f"output.results={config.output.results}")
    return " --set ".join(["llm-as-judge judge audit", *map(shlex.quote, changed)])


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

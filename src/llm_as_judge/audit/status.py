"""May this judge train? What its audit report says, and since when.

A report stands under the judge's fingerprint, so that a judge that has changed in any way has none.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.config.reading import config_file
from llm_as_judge.errors import AuditError

MAX_AGE_DAYS = 30.0
"""Of a report about a model that may change behind its name. Rules cannot, nor weights that are hashed."""
_DAY_S = 86400.0
SHIPPED_REPORT = "judge/audit.json"
"""Below the folder of configuration: of the judge that the package ships."""

Status = Literal["passed", "failed", "missing", "unreadable", "other_judge", "old"]


@dataclass(frozen=True, slots=True)
class AuditStatus:
    """What is known of a judge: only ``passed`` lets it train."""

    fingerprint: str
    status: Status
    reason: str
    """Why it may not train; empty if it may."""
    report: str
    """Path of the report."""
    report_sha256: str = ""


def report_path(results: Path, fingerprint: str) -> Path:
    """Where ``llm-as-judge judge audit`` leaves its report, below the folder of results."""
    return results / "audit" / f"{fingerprint}.json"


def find_audit_status(results: Path, fingerprint: str) -> AuditStatus:
    """What is known of a judge below the folder of results; else what the package's own judge came with."""
    found = read_audit_status(report_path(results, fingerprint), fingerprint)
    if found.status == "missing":
        shipped = read_audit_status(config_file(SHIPPED_REPORT), fingerprint)
        if shipped.status in ("passed", "failed"):
            return shipped
    return found


def read_audit_status(path: Path, fingerprint: str) -> AuditStatus:
    """What the report at ``path`` says of the judge with ``fingerprint``."""
    try:
        text = path.read_bytes()
        document = json.loads(text)
    except FileNotFoundError:
        return AuditStatus(fingerprint, "missing", "the judge has no audit report", str(path))
    except (OSError, ValueError, RecursionError) as error:
        reason = f"not an audit report ({error})"
        return AuditStatus(fingerprint, "unreadable", reason, str(path))
    status, reason = _read(document, fingerprint)
    return AuditStatus(fingerprint, status, reason, str(path), hashlib.sha256(text).hexdigest())


def _read(document: Any, fingerprint: str) -> tuple[Status, str]:
    if not isinstance(document, Mapping) or not isinstance(document.get("time"), (int, float)):
        return "unreadable", "not an audit report"
    if document.get("fingerprint") != fingerprint:
        return "other_judge", f"audit of judge {document.get('fingerprint')}, not of {fingerprint}"
    age_days = (time.time() - document["time"]) / _DAY_S
    if document.get("mode") not in ("rules", "weights") and not 0 <= age_days <= MAX_AGE_DAYS:
        return "old", f"the audit is {age_days:.0f} days old, wanted at most {MAX_AGE_DAYS:g}"
    if document.get("sample") is not None:
        return "missing", f"only a sample of {document['sample']} was audited"
    if document.get("passed") is not True:
        missed = ", ".join(map(str, document.get("failures") or ["unknown"]))
        return "failed", f"the judge failed its audit ({missed})"
    return "passed", ""


def measured_on(audit_status: AuditStatus, labeled_sha256: str) -> bool:
    """Does a report that passed rest on exactly these labeled rows?"""
    if audit_status.status != "passed":
        return False
    document = json.loads(Path(audit_status.report).read_bytes())
    hashes = document.get("data_sha256")
    return (
        isinstance(hashes, Mapping)
        and hashes.get("labeled", hashes.get("labelled")) == labeled_sha256
    )


def require_passing_audit(audit_status: AuditStatus, command: str) -> None:
    """Returns if the judge may train.

    Args:
        command: that would audit this judge.
    Raises:
        AuditError: it may not; says why and what to do.
    """
    if audit_status.status == "passed":
        return
    again = "choose another judge" if audit_status.status == "failed" else f"run: {command}"
    raise AuditError(
        f"{audit_status.report}: {audit_status.reason}; {again} "
        "(or train with --force-unaudited-judge, which is recorded in the run and its checkpoints)"
    )

"""The words below the tables of an audit: what to do."""

from __future__ import annotations

from llm_as_judge.audit.audit import AuditReport


def what_now(report: AuditReport) -> list[str]:
    """What a person can do after an audit; nothing: nothing has to be done."""
    if report.sample is not None and report.passed:
        told = (
            "next    a sample gives no permission to train: the same command without --sample does "
            "where all its bars hold"
        )
        return [told]
    if report.passed:
        return []
    lines = []
    if report.wrong_by_rule:
        rules = sum(report.wrong_by_rule.values())
        shown = ", ".join(f"{rule} {count}" for rule, count in report.wrong_by_rule.items())
        lines.append(
            f"        rules accepted {rules} of the {report.wrong_accepted} wrong answers that were accepted ({shown}). "
            "No judge changes these; a grader of your own does: docs/extending.md#a-grader"
        )
    missed = f"next    below a bar: {', '.join(report.failures)}. "
    if report.sample is not None:
        missed += (
            "To train, the whole audit would have to pass, which after this is unlikely. "
            "Label more rows, or take another judge: docs/judge.md"
        )
    else:
        missed += (
            "Leave such answers ungraded (judge.kind: rules), or take another judge: docs/judge.md"
        )
    return [missed, *lines]

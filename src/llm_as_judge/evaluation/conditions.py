"""Under which conditions results came about: what must be equal where figures are compared.

Executor, judge and limits belong to everybody of a table; the settings of a policy are its own, and
only seeds of one evaluation share them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llm_as_judge.renamed import rules_named, with_new_keys
from llm_as_judge.runs.results import FullResults

Conditions = Mapping[str, Any]
"""Dotted setting, or a fact in words, -> its value."""

_SHARED = ("executor", "executors", "judge", "workflow")
_OWN = ("policy", "sampling", "experience")
_NO_MATTER = frozenset(
    {
        # how fast, where, and what only a training run reads
        *("executor.concurrency", "executor.slots", "executor.timeout_s", "executor.retries"),
        *("workflow.concurrency", "workflow.rollout_timeout_s", "workflow.sandbox"),
        *("judge.max_ungraded_fraction", "judge.max_abstained_fraction", "judge.canaries_every"),
        *("policy.device", "experience.folder", "sampling.server", "sampling.adapters"),
        *("sampling.timeout_s", "sampling.outage_s"),
    }
)
_FACTS = {
    "executor": "weights of the executor",
    "judge": "rules and model of the judge",
    "code": "code of sandbox, operators and judge",
    "documents": "passages of data.documents",
}
"""Names for a person; other facts are of the policy."""


def conditions_of(results: FullResults) -> Conditions:
    """What everybody of a table should share, as far as the file says it."""
    named = {"executor.model": results.executor, "judge.model": results.judge}
    facts = {name: results.facts[key] for key, name in _FACTS.items() if key in results.facts}
    others = (key for key in results.facts if key.startswith("executor "))
    facts |= {f"weights of the {key}": results.facts[key] for key in others}
    return {**named, **settings_of(results.config), **facts}


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of executor, judge and workflow that can change an answer or its verdict."""
    answers = answer_settings(config)
    return _flat(config, _SHARED) | ({"data.answers": answers} if answers else {})


def answer_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """How the answers of own sets are compared, as far as ``data.answers`` says it."""
    given = config.get("data", {}).get("answers", {})
    said = {
        name: {key: value for key, value in one.items() if value not in (None, "", {})}
        for name, one in given.items()
    }
    return {name: one for name, one in said.items() if one}


def of_executor(conditions: Conditions) -> Conditions:
    """Those that decide how many tokens an answer has."""
    return {
        key: value
        for key, value in conditions.items()
        if key.startswith(("executor.", "executors.", _FACTS["executor"]))
    }


def _flat(config: Mapping[str, Any], sections: Sequence[str]) -> dict[str, Any]:
    whole = with_new_keys(config)
    whole["judge"] = rules_named(whole.get("judge", {}))
    return {
        name: value
        for section in sections
        for key, value in whole.get(section, {}).items()
        if (name := f"{section}.{key}") not in _NO_MATTER
    }


def all_but_seed(results: FullResults) -> str | None:
    """Equal for seeds of one evaluation alone; None where the file does not say all of it."""
    contents = {row.id: row.content for row in results.problems}
    if not results.config or not results.facts or None in contents.values():
        return None
    evaluation = results.config.get("evaluation", {})
    return json.dumps(
        [
            results.policy,
            results.checkpoint,
            results.budget,
            conditions_of(results),
            results.facts,
            _flat(results.config, _OWN),
            [evaluation.get("samples"), evaluation.get("temperature")],
            contents,
        ],
        sort_keys=True,
    )


def differing(conditions: Mapping[str, Conditions]) -> list[str]:
    """A phrase for each condition that is not the same: ``executor.max_tokens 256 (a, b), 512 (c)``.

    Args:
        conditions: by name; what one of them does not say is no difference.
    """
    phrases = []
    keys = dict.fromkeys(key for found in conditions.values() for key in found)
    apart: set[str] = set()
    for key in keys:
        by_value: dict[str, list[str]] = {}
        for name, found in conditions.items():
            if key in found:
                by_value.setdefault(_shown(key, found[key]), []).append(name)
        # another model has other weights and other rules beyond: said once
        if len(by_value) < 2 or (key in _IMPLIED and apart & _IMPLIED[key]):
            continue
        apart.add(key)
        values = (f"{value} ({', '.join(names)})" for value, names in by_value.items())
        phrases.append(f"{key} {', '.join(values)}")
    return phrases


_IMPLIED: Mapping[str, frozenset[str]] = {
    _FACTS["executor"]: frozenset({"executor.model"}),
    _FACTS["judge"]: frozenset(
        f"judge.{key}" for key in ("kind", "options", "model", "max_tokens", "qa_f1_threshold")
    ),
}


def _shown(key: str, value: Any) -> str:
    if key in _FACTS.values():
        return str(value)[:12]
    return value if isinstance(value, str) else json.dumps(value)

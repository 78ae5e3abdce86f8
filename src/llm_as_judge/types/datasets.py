"""The domains, and what is known of each data set: the only place that tells sets apart by name.

Grading, evaluation and the preparation of data read these fields, so that a set behaves as its
entry says. Files, licenses and conversion stand in ``data/catalog.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

Domain = Literal["math", "qa", "code"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
Split = Literal["train", "val", "test"]


def known_domain(name: object) -> Domain | None:
    """``name`` as a domain; None if it is none."""
    return next((domain for domain in DOMAINS if domain == name), None)


Metric = Literal["accuracy", "squad", "hotpot", "pass_at_k"]
"""What a set officially reports. ``squad``, ``hotpot``: exact match and F1 of the answer's text, by
the script of SQuAD 2.0 or of HotpotQA."""

Mixed = Literal["by_default", "on_request", "never"]
"""Whether ``data process`` makes problems of a set; ``never``: it is known to ``grade`` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What is known of all problems of one set. The defaults are those of a user's own set."""

    name: str
    domain: Domain
    metric: Metric = "accuracy"
    mixed: Mixed = "never"
    unanswerable: bool = False
    """Some questions have no answer; figures are given with and without them, too."""
    supporting_facts: bool = False
    """The context is ``Title: text`` paragraphs, and ``meta["supporting_facts"]`` says which of
    them answer the question."""
    slash_aliases: bool = False
    """One gold text may hold several accepted answers between slashes."""
    visible_tests_grade: bool = False
    """The tests that a solver sees are among those that grade."""
    stratum: str = ""
    """What a limited sample keeps the proportions of: a key of ``meta``, or ``answerable``."""
    part_of: str = ""
    """The set that has all these problems, too: only one of the two can be processed."""
    also_called: tuple[str, ...] = ()
    """Other names that rows to be graded may give the set."""

    @property
    def has_text_scores(self) -> bool:
        """Whether the official metric compares the text of the answer."""
        return self.metric in ("squad", "hotpot")


GSM8K = DatasetInfo(name="gsm8k", domain="math", mixed="by_default")
MATH = DatasetInfo(name="math", domain="math", mixed="by_default", stratum="level")
SQUAD2 = DatasetInfo(
    name="squad2",
    domain="qa",
    metric="squad",
    mixed="by_default",
    unanswerable=True,
    stratum="answerable",
    also_called=("squad_v2",),
)
HOTPOTQA = DatasetInfo(
    name="hotpotqa",
    domain="qa",
    metric="hotpot",
    mixed="by_default",
    supporting_facts=True,
    stratum="type",
)
HUMANEVAL = DatasetInfo(name="humaneval", domain="code", metric="pass_at_k", mixed="by_default")
MBPP = DatasetInfo(
    name="mbpp",
    domain="code",
    metric="pass_at_k",
    mixed="by_default",
    visible_tests_grade=True,
    part_of="mbpp_full",
)
COMMONSENSEQA = DatasetInfo(name="commonsenseqa", domain="qa", mixed="on_request")
MMLU = DatasetInfo(name="mmlu", domain="qa", mixed="on_request", stratum="subject")
MBPP_FULL = DatasetInfo(
    name="mbpp_full",
    domain="code",
    metric="pass_at_k",
    mixed="on_request",
    visible_tests_grade=True,
)

_known: dict[str, DatasetInfo] = {}
_by_any_name: dict[str, DatasetInfo] = {}
DATASET_INFO: Mapping[str, DatasetInfo] = MappingProxyType(_known)
"""Every known set by its name, in the order in which sets are listed and mixed."""


def add_dataset_info(info: DatasetInfo) -> None:
    """From now on problems that say ``info.name`` behave as it says."""
    _known[info.name] = info
    _by_any_name.update(dict.fromkeys((info.name, *info.also_called), info))


for _info in (
    *(GSM8K, MATH, SQUAD2, HOTPOTQA, HUMANEVAL, MBPP),
    *(COMMONSENSEQA, MMLU, MBPP_FULL),
    *(DatasetInfo(name=n, domain="qa", slash_aliases=True) for n in ("nq", "triviaqa", "open")),
):
    add_dataset_info(_info)
_SHIPPED = frozenset(_by_any_name)


def is_shipped(name: str) -> bool:
    """Whether a set of this package is called so."""
    return name in _SHIPPED


def own_dataset(name: str, domain: Domain) -> DatasetInfo:
    """A user's own set: what holds of every set of its domain."""
    return DatasetInfo(
        name=name, domain=domain, metric="pass_at_k" if domain == "code" else "accuracy"
    )


def dataset_info(name: str, domain: Domain) -> DatasetInfo:
    """The set that problems of ``domain`` call ``name``; a user's own where none is known so."""
    known = _by_any_name.get(name)
    return known if known and known.domain == domain else own_dataset(name, domain)

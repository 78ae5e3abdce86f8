"""CommonsenseQA and MMLU, multiple choice: raw record -> Problem.

Each function takes the record in its upstream form or in the hub's form (they differ in names and
nesting only) and keeps everything: what has no field of its own goes to ``meta``. A record that
breaks its set's promise raises :class:`~llm_as_judge.data.rows.RowError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from llm_as_judge.data.fields import field, fields, text, texts, zipped
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import COMMONSENSEQA, MMLU


def commonsenseqa(row: RawRow, split: str) -> Problem:
    """CommonsenseQA: five options, gold is the letter.

    Source: www.tau-nlp.sites.tau.ac.il/commonsenseqa.
    """
    record = fields(row.record)
    name = text(record, "id")
    asked = record.get("question")
    body = asked if isinstance(asked, dict) else record
    stem = text(body, "stem") if body is asked else text(record, "question")
    choices = body.get("choices")
    if isinstance(choices, dict):
        pairs = zipped(choices.get("label"), choices.get("text"), "choices")
    elif isinstance(choices, list):
        pairs = [(text(fields(c), "label"), text(fields(c), "text")) for c in choices]
    else:
        raise RowError("no 'choices'")
    letters = [label for label, _ in pairs]
    if letters != _letters(len(pairs)):
        raise RowError(f"choices are labeled {letters}, wanted A, B, C ...")
    return Problem(
        id=f"{COMMONSENSEQA.name}/{split}/{name}",
        dataset=COMMONSENSEQA.name,
        domain="qa",
        question=stem,
        answers=(_gold_letter(record, "answerKey", len(pairs)),),
        options=tuple(texts([option for _, option in pairs], "choices")),
        meta={"upstream_id": name, "concept": field(body, "question_concept", str)},
    )


def mmlu(row: RawRow, split: str) -> Problem:
    """MMLU: ``question, A, B, C, D, letter`` of a CSV file, or the hub's record.

    Source: github.com/hendrycks/test.
    """
    if isinstance(row.record, list):
        if len(row.record) != 6:
            raise RowError(f"{len(row.record)} columns, wanted 6 (question, A, B, C, D, letter)")
        file = PurePath(row.member).stem
        subject, _, part = file.rpartition("_")
        record = {"question": row.record[0], "answer": row.record[5]}
        options = texts(row.record[1:5], "choices")
        answer = _gold_letter(record, "answer", 4)
    else:
        record = dict(fields(row.record))
        subject, part = text(record, "subject"), split
        options = texts(record.get("choices"), "choices")
        index = field(record, "answer", int)
        if not 0 <= index < len(options):
            raise RowError(f"'answer' is {index}, wanted 0..{len(options) - 1}")
        answer = _letters(len(options))[index]
    return Problem(
        id=f"{MMLU.name}/{part}/{subject}/{row.number}",
        dataset=MMLU.name,
        domain="qa",
        question=text(record, "question"),
        answers=(answer,),
        options=tuple(options),
        meta={"subject": subject, "upstream_split": part},
    )


def _letters(count: int) -> list[str]:
    return [chr(ord("A") + i) for i in range(count)]


def _gold_letter(record: Mapping[str, Any], name: str, options: int) -> str:
    letter = text(record, name).strip()
    if letter not in _letters(options):
        raise RowError(f"{name!r} is {letter!r}, wanted one of {', '.join(_letters(options))}")
    return letter

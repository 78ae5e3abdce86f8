"""SQuAD 2.0, HotpotQA, CommonsenseQA and MMLU: raw record -> Problem.

Each function takes the record in its upstream form or in the hub's form (they differ in names and
nesting only) and keeps everything: what has no field of its own goes to ``meta``. A record that
breaks its set's promise raises :class:`~llm_as_judge.data.rows.RowError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from llm_as_judge.data.rows import RawRow, RowError, compact, field, fields, text, texts, zipped
from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import COMMONSENSEQA, HOTPOTQA, MMLU, SQUAD2


def flatten_squad(rows: Iterable[RawRow]) -> Iterator[RawRow]:
    """Articles of the upstream file -> one row a question, in the form ``{title, context} + qa``.

    Rows that are questions already (the hub's form) pass unchanged.
    """
    number = 0
    for row in rows:
        articles = isinstance(row.record, dict) and "paragraphs" in row.record
        for place, record, fault in _questions(row.record) if articles else [("", row.record, "")]:
            where = f"{row.where} {place}".rstrip()
            yield replace(row, where=where, number=number, record=record, fault=fault or row.fault)
            number += 1


def _questions(article: Any) -> Iterator[tuple[str, Any, str]]:
    """(place inside the article, question record, fault)."""
    paragraphs = article["paragraphs"]
    if not isinstance(paragraphs, list):
        yield "paragraphs", None, "'paragraphs' is not a list"
        return
    for p, paragraph in enumerate(paragraphs):
        place = f"paragraphs[{p}]"
        try:
            paragraph = fields(paragraph)
            shared = {"title": article.get("title", ""), "context": text(paragraph, "context")}
            questions = field(paragraph, "qas", list)
        except RowError as error:
            yield place, None, str(error)
            continue
        for q, question in enumerate(questions):
            record = {**question, **shared} if isinstance(question, dict) else question
            yield f"{place}.qas[{q}]", record, ""


def squad2(row: RawRow, split: str) -> Problem:
    """SQuAD 2.0 (and 1.1): all gold aliases in order; no answers = unanswerable.

    Source: rajpurkar.github.io/SQuAD-explorer.
    """
    record = fields(row.record)
    name = text(record, "id")
    aliases, starts = _squad_answers(record)
    impossible = record.get("is_impossible", not aliases)
    if not isinstance(impossible, bool):
        raise RowError(f"'is_impossible' is {type(impossible).__name__}, wanted bool")
    if impossible == bool(aliases):
        raise RowError(f"'is_impossible' is {impossible} but there are {len(aliases)} answers")
    meta = {
        "upstream_id": name,
        "title": field(record, "title", str),
        "answers": compact(aliases),
        "answer_starts": compact(starts),
    }
    if record.get("plausible_answers"):
        meta["plausible_answers"] = compact(record["plausible_answers"])
    return Problem(
        id=f"{SQUAD2.name}/{split}/{name}",
        dataset=SQUAD2.name,
        domain="qa",
        question=text(record, "question"),
        answers=tuple(dict.fromkeys(aliases)),
        context=text(record, "context"),
        meta=meta,
    )


def _squad_answers(record: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Alias texts and their offsets in the context (characters), as they stand upstream."""
    answers = record.get("answers")
    if isinstance(answers, dict):
        aliases = texts(answers.get("text"), "answers.text")
        starts = field(answers, "answer_start", list)
    elif isinstance(answers, list):
        aliases = [text(fields(answer), "text") for answer in answers]
        starts = [fields(answer).get("answer_start", -1) for answer in answers]
    else:
        raise RowError("no 'answers' list")
    if not all(isinstance(start, int) for start in starts):
        raise RowError("'answer_start' is not a number")
    if not all(alias.strip() for alias in aliases):
        raise RowError("an answer text is empty")
    return aliases, starts


def hotpotqa(row: RawRow, split: str) -> Problem:
    """HotpotQA: paragraphs as ``Title: sentences``, a blank line between them.

    ``meta["paragraphs"]`` holds ``[[title, [length of each sentence]], ...]`` and
    ``meta["supporting_facts"]`` ``[[title, sentence index], ...]`` as JSON text, so that every
    supporting sentence can be cut out of the context. Source: hotpotqa.github.io.
    """
    record = fields(row.record)
    name = text(record, "_id" if "_id" in record else "id") if {"_id", "id"} & set(record) else ""
    paragraphs = _hotpot_paragraphs(record.get("context", []))
    meta = {
        "upstream_id": name,
        "paragraphs": compact([[title, list(map(len, lines))] for title, lines in paragraphs]),
        "supporting_facts": compact(_hotpot_facts(record.get("supporting_facts", []))),
    }
    meta |= {key: text(record, key) for key in ("type", "level") if key in record}
    return Problem(
        id=f"{HOTPOTQA.name}/{split}/{name or row.number}",
        dataset=HOTPOTQA.name,
        domain="qa",
        question=text(record, "question"),
        answers=(text(record, "answer"),),
        context="\n\n".join(f"{title}: {''.join(lines)}" for title, lines in paragraphs),
        meta=meta,
    )


def _hotpot_paragraphs(context: Any) -> list[tuple[str, list[str]]]:
    if isinstance(context, dict):
        titles, bodies = texts(context.get("title"), "context.title"), context.get("sentences")
        context = zipped(titles, bodies, "context")
    if not isinstance(context, list):
        raise RowError("'context' is not a list of [title, sentences]")
    paragraphs = []
    for item in context:
        if not isinstance(item, (list, tuple)) or len(item) != 2 or not isinstance(item[0], str):
            raise RowError("'context' has an item that is not [title, sentences]")
        paragraphs.append((item[0], texts(item[1], f"context {item[0]!r}")))
    return paragraphs


def _hotpot_facts(facts: Any) -> list[list[Any]]:
    if isinstance(facts, dict):
        facts = zipped(facts.get("title"), facts.get("sent_id"), "supporting_facts")
    if not isinstance(facts, list):
        raise RowError("'supporting_facts' is not a list of [title, sentence]")
    for fact in facts:
        pair = isinstance(fact, (list, tuple)) and len(fact) == 2
        if not (pair and isinstance(fact[0], str) and isinstance(fact[1], int)):
            raise RowError("'supporting_facts' has an item that is not [title, sentence]")
    return [list(fact) for fact in facts]


# --------------------------------------------------------------------------------- multiple choice


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

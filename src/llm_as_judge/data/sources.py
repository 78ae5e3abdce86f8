"""Raw record -> Problem for mathematics, question answering, multiple choice and custom rows.

One function a set. Each takes the record in its upstream form or in the hub's form (they differ
in names and nesting only) and keeps everything: what has no field of its own goes to ``meta``.
A record that breaks its set's promise raises :class:`~llm_as_judge.data.rows.RowError`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar

from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.types import Domain, Problem

__all__ = [
    "boxed_answer",
    "commonsenseqa",
    "custom",
    "flatten_squad",
    "gsm8k",
    "hotpotqa",
    "math",
    "mmlu",
    "squad2",
]

_T = TypeVar("_T")


def fields(record: Any) -> Mapping[str, Any]:
    """The record as an object.

    Raises:
        RowError: it is something else.
    """
    if not isinstance(record, dict):
        raise RowError(f"found {type(record).__name__}, wanted an object")
    return record


def field(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """One required field, of the type it must have.

    Raises:
        RowError: missing, or of another type.
    """
    if name not in record:
        raise RowError(f"no {name!r} (keys: {', '.join(map(str, record)) or 'none'})")
    value = record[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RowError(f"{name!r} is {type(value).__name__}, wanted {kind.__name__}")
    return value


def text(record: Mapping[str, Any], name: str) -> str:
    """One required text that says something."""
    value = field(record, name, str)
    if not value.strip():
        raise RowError(f"{name!r} is empty")
    return value


def texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not {str}.issuperset(map(type, value)):
        raise RowError(f"{name!r} is not a list of texts")
    return value


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(value: Any) -> str:
    """JSON text for ``meta``."""
    return _encoder.encode(value)


# ----------------------------------------------------------------------------------- mathematics
def gsm8k(row: RawRow, split: str) -> Problem:
    """``{question, answer}``; the gold number follows the last ``####``, commas removed.

    Source: github.com/openai/grade-school-math.
    """
    record = fields(row.record)
    solution = text(record, "answer")
    _, marker, final = solution.rpartition("####")
    answer = final.strip().replace(",", "")
    if not marker or not answer:
        raise RowError("'answer' has no number after '####'")
    return Problem(
        id=f"gsm8k/{split}/{row.number}",
        dataset="gsm8k",
        domain="math",
        question=text(record, "question"),
        answers=(answer,),
        meta={"solution": solution},
    )


def math(row: RawRow, split: str) -> Problem:
    """``{problem, level, type, solution}``; the gold answer is the last box of the solution.

    Source: github.com/hendrycks/math.
    """
    record = fields(row.record)
    solution, question = text(record, "solution"), text(record, "problem")
    answer = boxed_answer(solution) or _EMPTY_BOXES.get(_digest(question), "")
    if not answer:
        raise RowError(r"'solution' has no \boxed{} or \fbox{} with an answer")
    return Problem(
        id=f"math/{split}/{row.number}",
        dataset="math",
        domain="math",
        question=question,
        answers=(answer,),
        meta={
            "level": field(record, "level", str),
            "subject": field(record, "type", str),
            "solution": solution,
        },
    )


_EMPTY_BOXES = {
    # Two rows of the official train split have an empty box; the answer stands in their solutions
    # (all numbers named are composite). The key is a digest of the problem.
    "6bf518e40168794f": "0",
    "debc168317355296": "0",
}


def _digest(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:16]


_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_TOKEN = re.compile(r"\\[A-Za-z]+|[^\s$\\{}]+")


def boxed_answer(solution: str) -> str:
    r"""Content of the last ``\boxed{...}`` or ``\fbox{...}``, braces nested to any depth.

    ``\boxed 7`` (no braces) gives ``7``. Empty when there is no box, or it is never closed.
    """
    answer = ""
    for box in _BOX.finditer(solution):
        start = box.end()
        if solution[start : start + 1] == "{":
            end = _closing_brace(solution, start)
            answer = solution[start + 1 : end].strip() if end else ""
        else:
            token = _TOKEN.match(solution, start)
            answer = token.group() if token else ""
    return answer


def _closing_brace(source: str, opening: int) -> int:
    """Index of the brace that closes the one at ``opening``; 0 if none does. ``\\{`` is no brace."""
    depth, position = 0, opening
    while position < len(source):
        character = source[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return 0


# ----------------------------------------------------------------------------- question answering
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
        id=f"squad2/{split}/{name}",
        dataset="squad2",
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
        id=f"hotpotqa/{split}/{name or row.number}",
        dataset="hotpotqa",
        domain="qa",
        question=text(record, "question"),
        answers=(text(record, "answer"),),
        context="\n\n".join(f"{title}: {''.join(lines)}" for title, lines in paragraphs),
        meta=meta,
    )


def _hotpot_paragraphs(context: Any) -> list[tuple[str, list[str]]]:
    if isinstance(context, dict):
        titles, bodies = texts(context.get("title"), "context.title"), context.get("sentences")
        context = _zip(titles, bodies, "context")
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
        facts = _zip(facts.get("title"), facts.get("sent_id"), "supporting_facts")
    if not isinstance(facts, list):
        raise RowError("'supporting_facts' is not a list of [title, sentence]")
    for fact in facts:
        pair = isinstance(fact, (list, tuple)) and len(fact) == 2
        if not (pair and isinstance(fact[0], str) and isinstance(fact[1], int)):
            raise RowError("'supporting_facts' has an item that is not [title, sentence]")
    return [list(fact) for fact in facts]


def _zip(left: Any, right: Any, name: str) -> list[tuple[Any, Any]]:
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        raise RowError(f"{name!r} has lists of different lengths")
    return list(zip(left, right, strict=True))


# -------------------------------------------------------------------------------- multiple choice
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
        pairs = _zip(choices.get("label"), choices.get("text"), "choices")
    elif isinstance(choices, list):
        pairs = [(text(fields(c), "label"), text(fields(c), "text")) for c in choices]
    else:
        raise RowError("no 'choices'")
    letters = [label for label, _ in pairs]
    if letters != _letters(len(pairs)):
        raise RowError(f"choices are labelled {letters}, wanted A, B, C ...")
    return Problem(
        id=f"commonsenseqa/{split}/{name}",
        dataset="commonsenseqa",
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
        id=f"mmlu/{part}/{subject}/{row.number}",
        dataset="mmlu",
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


# ----------------------------------------------------------------------------------- custom rows
_DOMAINS: dict[str, Domain] = {"math": "math", "code": "code", "qa": "qa"}


def custom_domain(row: RawRow) -> Domain | None:
    """The domain that a row of one's own names; None if it names none, or is no row."""
    named = row.record.get("type") if isinstance(row.record, dict) else None
    return _DOMAINS.get(named) if isinstance(named, str) else None


def custom(row: RawRow, split: str, dataset: str = "custom") -> Problem:
    """``{"problem", "answer", "type": "math|code|qa"}``, one's own task set.

    ``answer``: a text or number, or a list of accepted ones (QA: an empty list means
    unanswerable). Code: assert statements, with ``entry_point``. Optional: ``context``,
    ``setup_code``, ``visible_tests``, ``id``.
    """
    record = fields(row.record)
    domain = _DOMAINS.get(text(record, "type"))
    if domain is None:
        raise RowError(f"'type' is {record['type']!r}, wanted math, code or qa")
    if "answer" not in record:
        raise RowError(f"no 'answer' (keys: {', '.join(map(str, record))})")
    answers = _custom_answers(record["answer"])
    if not answers and domain != "qa":
        raise RowError("'answer' is empty")
    name = record.get("id", row.number)
    common = Problem(
        id=f"{dataset}/{split}/{name}",
        dataset=dataset,
        domain=domain,
        question=text(record, "problem"),
        context=field(record, "context", str) if "context" in record else "",
    )
    if domain != "code":
        return replace(common, answers=answers)
    return replace(
        common,
        entry_point=text(record, "entry_point"),
        setup_code=field(record, "setup_code", str) if "setup_code" in record else "",
        visible_tests=tuple(texts(record.get("visible_tests", []), "visible_tests")),
        hidden_tests=answers,
    )


def _custom_answers(answer: Any) -> tuple[str, ...]:
    values = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(v, (str, int, float)) and not isinstance(v, bool) for v in values):
        raise RowError("'answer' is not a text, a number or a list of them")
    return tuple(dict.fromkeys(str(v).strip() for v in values if str(v).strip()))

"""Questions about a folder of documents, from init to every verb that runs programs; scripted executor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from called_verbs import Verbs, began, written

from llm_as_judge.config import load_config

WAYS = "draft = await answer_generate(input=problem)\nreturn draft['answer']\n"
RETRIEVED = (
    "found = await retrieve(problem=problem, keep=1)\n"
    "draft = await answer_generate(input=found['problem'])\nreturn draft['answer']\n"
)


def handbook(**more: str) -> Path:
    folder = Path("handbook")
    folder.mkdir(exist_ok=True)
    texts = {f"rule_{n}.md": f"# Key {n}\nAda keeps key number {n}.\n" for n in range(12)}
    texts["badges.txt"] = "Visitors wear a yellow badge.\n"
    for name, text in (texts | more).items():
        (folder / name).write_text(text)
    return folder


def own_rows(rows: int = 18) -> str:
    """The first one has a passage of its own."""
    given = [
        {"problem": f"Who keeps key number {n}?", "answer": "Ada", "type": "qa"}
        for n in range(rows)
    ]
    given[0]["context"] = "Key number 0 was lost."
    return written("mine.jsonl", "".join(json.dumps(row) + "\n" for row in given))


@pytest.fixture
def task(verb: Verbs) -> str:
    """What init printed."""
    handbook()
    own_rows()
    return began(verb, "--documents", "handbook", executor="scripted")


def asked(verb: Verbs, program: str, problem: str, *more: str) -> str:
    """The one prompt of a program that is solved with."""
    words = ("--problem", problem, "--domain", "qa", "--policy", written("way.py", program))
    out, _ = verb.done("solve", *words, "--json", *more)
    stages = [json.loads(line) for line in out.splitlines()]
    (call,) = (one["value"]["asked"] for one in stages if one["stage"] == "call")
    assert isinstance(call, str)
    return call


def test_a_question_without_a_passage_gets_those_that_it_needs(verb: Verbs, task: str) -> None:
    assert "documents 13 passages; a question without one gets 8" in task
    assert load_config().data.documents == Path("handbook")
    prompt = asked(verb, WAYS, "Who keeps key number 7?")
    assert "Key 7 (rule 7): Ada keeps key number 7." in prompt
    assert prompt.count("Ada keeps") <= 8
    assert "Question: Who keeps key number 7?" in prompt
    one = asked(verb, WAYS, "Who keeps key number 7?", "--set", "data.passages=1")
    assert one.count("Ada keeps") == 1
    own = "Context:\nKey number 7 was lost.\n\nQuestion: Who keeps key number 7?"
    assert "Ada keeps" not in asked(verb, WAYS, own), "it has a passage"
    math = ("--problem", "Who keeps key 7?", "--domain", "math", "--policy", "way.py", "--json")
    out, _ = verb.done("solve", *math)
    assert "Ada keeps" not in out
    prompt = asked(verb, RETRIEVED, "Which badge do visitors wear?")
    assert "badges: Visitors wear a yellow badge." in prompt
    assert "Ada keeps" not in prompt


def test_results_and_banks_are_of_these_documents_alone(verb: Verbs, task: str) -> None:
    plans = Path("results").rglob("plan.json")
    verb.done("evaluate", "--policy", "direct")
    (first,) = plans
    known = json.loads(first.read_text())["facts"]["documents"]
    fill = ("pool", "fill", "--split", "train", "--limit", "2", "--draws", "1")
    assert verb(*fill)[0] == 0
    assert json.loads(Path("results/bank/about.json").read_text())["documents"] == known
    handbook(**{"badges.txt": "Visitors wear no badge."})
    assert "filled by other conditions (documents: " in verb.refused(*fill)
    verb.done("evaluate", "--policy", "direct")
    found = {
        json.loads(path.read_text())["facts"]["documents"]
        for path in Path("results").rglob("plan.json")
    }
    assert len(found) == 2


def test_replayed_calls_are_those_of_the_same_documents(verb: Verbs, task: str) -> None:
    evaluate = ("evaluate", "--policy", "direct", "--fresh", "--set")
    verb.done(*evaluate, "calls.mode=record")
    verb.done(*evaluate, "calls.mode=replay")
    for number in range(12):
        handbook(**{f"rule_{number}.md": f"# Key {number}\nBob keeps key number {number}.\n"})
    code, out, err = verb(*evaluate, "calls.mode=replay")
    assert code != 0
    assert "was not asked this" in out + err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.pdf", b"%PDF-1.4", "x.pdf: cannot be read as PDF ("),
        ("x.txt", b"\xff", "x.txt: not UTF-8 (byte 0xff at 0)"),
        ("x.md", b"", "x.md: no text in it"),
        ("\x1b[31m\udcff.md", b"", "\ufffd[31m\\udcff.md: no text in it"),
    ],
)
def test_a_document_that_cannot_be_read_is_one_line_and_nothing_is_written(
    verb: Verbs, name: str, content: bytes, said: str
) -> None:
    (handbook() / name).write_bytes(content)
    line = verb.refused("init", own_rows(), "--executor", "scripted", "--documents", "handbook")
    assert said in line
    assert not Path("data").exists()


def test_no_folder_and_an_empty_one_are_one_line_in_each_verb(verb: Verbs, task: str) -> None:
    Path("empty").mkdir()
    for folder, said in (("empty", "found nothing, wanted txt"), ("gone", "no such folder")):
        named = ("--set", f"data.documents={folder}")
        for words in (
            ("evaluate", "--policy", "direct"),
            ("headroom", "mine.jsonl"),
            ("run", written("way.py", WAYS), "--domain", "qa", "--problem", "Who?"),
            ("serve", "--policy", "way.py"),
            ("train", "--dry-run"),
        ):
            assert f"data.documents: {folder}: {said}" in verb.refused(*words, *named)

"""init: which rows are taken, refused and kept for the test."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from called_verbs import ADDRESS, Verbs, began, rows, written

from llm_as_judge.config import load_config


@pytest.mark.parametrize(("count", "warned"), [(2, True), (174, True), (180, False)])
def test_every_type_has_test_rows_and_few_are_warned_of(
    verb: Verbs, count: int, warned: bool
) -> None:
    rows(math=count)
    said = began(verb)
    assert Path("data/test/mine_test.jsonl").stat().st_size
    assert ("few: only a large difference will show" in said) is warned


def code_row(**fields: object) -> str:
    row = {"type": "code", "problem": "Write add(a, b).", "entry_point": "add"}
    return json.dumps({**row, "answer": ["assert add(1, 2) == 3"], **fields}) + "\n"


BAD_TESTS = {
    "assert (add(1, 2) == 3, 'sum')": "a tuple is always true",
    "def adds():\n    assert add(1, 2) == 3": "test 0, 'def adds():', passes where add only raises",
    "import pytest\ndef test_a():\n    assert add(1, 2) == 3": "pytest is not there",
}


@pytest.mark.slow
@pytest.mark.parametrize("test", BAD_TESTS)
def test_tests_that_test_nothing_are_refused_by_every_verb_that_takes_rows(
    verb: Verbs, test: str
) -> None:
    rows()
    with Path("mine.jsonl").open("a") as stream:
        stream.write(code_row() + code_row(answer=[test]))
    written("graded.jsonl", code_row(answer=[test], candidate="def add(a, b): return 0"))
    refusals = [
        verb.refused("init", "mine.jsonl", "--executor", ADDRESS),
        verb.refused("data", "process", "--custom", "mine.jsonl", "--set", "data.sets=[]"),
        verb.refused("grade", "--in", "graded.jsonl", "--out", "verdicts.jsonl", "--rules-only"),
    ]
    for line, place in zip(
        refusals, ("mine.jsonl:14", "mine.jsonl:14", "graded.jsonl:1"), strict=True
    ):
        assert f"{place}: " in line
        assert BAD_TESTS[test] in line
    assert not Path("llm-as-judge.yaml").exists()
    assert not Path("verdicts.jsonl").exists()


@pytest.mark.slow
def test_a_solution_that_the_tests_fail_is_refused_and_the_row_can_be_left_out(verb: Verbs) -> None:
    rows()
    with Path("mine.jsonl").open("a") as stream:
        for n in range(4):
            sums = f"assert add({n}, {n}) == {2 * n}"
            solution = "def add(a, b): return a + b" if n else "def add(a, b): return a - b - 1"
            stream.write(
                code_row(problem=f"Write add(a, b) number {n}.", answer=[sums], solution=solution)
            )
    line = verb.refused("init", "mine.jsonl", "--executor", ADDRESS)
    assert "mine.jsonl:13: the tests fail on the row's own solution: test 0: AssertionError" in line
    assert "left out mine.jsonl:13: the tests fail" in began(verb, "--skip-bad")


def test_the_split_of_other_rows_is_not_overwritten(verb: Verbs) -> None:
    rows()
    began(verb)
    Path("llm-as-judge.yaml").unlink()
    began(verb)  # the same rows again
    Path("llm-as-judge.yaml").unlink()
    Path("mine.jsonl").rename("others.jsonl")
    line = verb.refused("init", "others.jsonl", "--executor", ADDRESS)
    assert "holds other rows already (mine)" in line


def test_a_set_of_a_hub_that_is_away_is_refused(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    line = verb.refused("init", "some-org/rows", "--executor", ADDRESS)
    assert "not from the hub: HF_HUB_OFFLINE is set" in line
    assert not Path("llm-as-judge.yaml").exists()


def test_a_profile_that_is_not_shipped_is_refused() -> None:
    written("llm-as-judge.yaml", "profile: none\n")
    with pytest.raises(Exception, match="no profile 'none'"):
        load_config()


def of_passages(*sizes: int) -> None:
    """Own QA rows: so many questions about each passage."""
    words = [
        "boat",
        "lamp",
        "river",
        "stone",
        "wheel",
        "candle",
        "garden",
        "bridge",
        "copper",
        "violin",
    ]
    given = [
        {
            "problem": f"Which {a} belongs to the {b} of house {n}?",
            "answer": f"{a} {n}",
            "type": "qa",
            "context": f"Handbook {passage}: every {words[passage]} has an owner.",
        }
        for passage, size in enumerate(sizes)
        for n in range(size)
        for a, b in [(words[n % 10], words[(n * 3 + passage + 1) % 10])]
    ]
    written("mine.jsonl", "".join(json.dumps(row) + "\n" for row in given))


@pytest.mark.parametrize("sizes", [(12,), (8, 4)])
def test_rows_of_few_passages_are_split_by_their_questions(
    verb: Verbs, sizes: Sequence[int]
) -> None:
    of_passages(*sizes)
    said = " ".join(began(verb).split())
    assert "mine train 9 val 1 test 2" in said
    assert "a passage may be in train, too" in said


@pytest.mark.parametrize(
    ("sizes", "more"),
    [
        pytest.param((2, 2, 2, 2, 2, 2), "", id="a sixth"),
        pytest.param((3, 3, 3, 3), "3 of 12 rows", id="a quarter"),
        pytest.param((8, 7, 9), "7 of 24 rows", id="three large ones"),
    ],
)
def test_passages_stay_on_one_side_and_more_than_a_sixth_is_said(
    verb: Verbs, sizes: Sequence[int], more: str
) -> None:
    of_passages(*sizes)
    said = " ".join(began(verb).split())
    assert "a passage may be in train" not in said
    assert (
        "too large for a sixth of the rows as test rows: the smallest passage is test" in said
    ) == bool(more)
    assert more in said
    contexts = [
        {json.loads(line)["context"] for line in Path(file).read_text().splitlines()}
        for file in ("data/processed/mine_train.jsonl", "data/test/mine_test.jsonl")
    ]
    assert all(contexts)
    assert not contexts[0] & contexts[1]


def test_a_set_without_val_rows_is_warned_of_with_the_reason_and_what_to_do(verb: Verbs) -> None:
    of_passages(6, 2, 4)
    said = began(verb)
    assert re.search(r"^mine +train +\d+ +val +0 ", said, re.MULTILINE), said
    (line,) = [line for line in said.splitlines() if "no val rows" in line]
    assert line.startswith("warning: no val rows of mine (rows with the same passage, ")
    assert "`search`" in line
    assert "--split train" in line
    rows(60, 13)
    said = began(verb, "--data-dir", "two")
    assert "warning: 1 val row of mine_qa (too few rows). Only `search`" in said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("folder.jsonl", None, "folder.jsonl: a folder; name a file, and write one row a line"),
        ("empty.jsonl", "", 'empty.jsonl: empty; write one row a line into it: {"problem"'),
        (
            "empty.csv",
            "",
            "empty.csv: empty; write one row a line into it, below a first line that",
        ),
        (
            "blank.csv",
            "\n\n",
            "it; write one row a line into it, below a first line that names the col",
        ),
        (
            "blank.jsonl",
            "\n",
            'no usable row of blank in it; write one row a line into it: {"problem"',
        ),
        ("mine.csv", "problem;answer;type\n1 + 1?;2;math\n", "columns apart by ';'; wanted commas"),
        ("mine.jsonl", '{"problem": "?", "type": "math"}\n', "mine.jsonl: no row has 'answer' ("),
        (
            "mine.jsonl",
            '{"problem": "?", "answer": {}, "type": "math"}\n',
            "mine.jsonl:1: 'answer' is no",
        ),
        (
            "mine.jsonl",
            '{"problem": "1 + 1?", "answer": "2", "type": "math"}\n',
            "mine leaves no row to test on; found 1 row in 1 group of",
        ),
    ],
    ids=[
        "folder",
        "empty",
        "empty table",
        "blank table",
        "blank",
        "semicolons",
        "no answer",
        "bad row",
        "one row",
    ],
)
def test_what_holds_no_rows_is_named_for_what_it_is_and_leaves_the_folder_as_it_was(
    verb: Verbs, name: str, text: str | None, said: str
) -> None:
    if text is None:
        Path(name).mkdir()
    else:
        written(name, text)
    assert said in verb.refused("init", name, "--executor", ADDRESS)
    assert [path.name for path in Path().iterdir()] == [name]


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl"])
def test_rows_that_say_no_type_are_told_once_and_are_of_the_type_that_is_given(
    verb: Verbs, name: str
) -> None:
    given = [{"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(13)]
    table = "".join(f"{row['problem']},{row['answer']}\n" for row in given)
    lines = "".join(json.dumps(row) + "\n" for row in given)
    written(name, f"problem,answer\n{table}" if name.endswith("csv") else lines)
    executor = ("--executor", ADDRESS)
    line = verb.refused("init", name, *executor)
    assert f"{name}: no row has 'type' (found: problem, answer); write a " in line
    assert line.endswith("or give it to all: --type qa")
    assert "--type 'maths': wanted math" in verb.refused("init", name, "--type", "maths", *executor)
    out, err = verb.done("init", name, "--type", "math", *executor)
    assert f"headroom {name} --type math" in out
    assert "answers  mine: 13 number" in out + err
    shown = " ".join(verb.done("headroom", name, "--type", "math", "--dry-run")[1].split())
    assert "2 of 13 rows are left out: they are the test rows" in shown


def test_a_row_that_says_its_type_keeps_it(verb: Verbs) -> None:
    rows(math=12)
    with Path("mine.jsonl").open("a") as stream:
        stream.writelines(
            json.dumps({"problem": f"Who has key {n}?", "answer": "Ada", "type": empty}) + "\n"
            for n, empty in enumerate(["", None] * 6)
        )
    assert "mine_qa" in began(verb, "--type", "qa")
    said = Path("data/mixed/info.json").read_text()
    assert [json.loads(said)["sets"][n]["rows"] for n in (0, 1)] == [12, 12]


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.json"])
def test_a_file_that_is_not_utf_8_is_one_line_with_how_to_convert_it(
    verb: Verbs, name: str
) -> None:
    given = [
        {"problem": f"Wo in Zürich ist Haus {n}?", "answer": "Süd", "type": "qa"} for n in range(12)
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in given]
    text = {
        "csv": "problem,answer,type\n" + "".join(f"{','.join(row.values())}\n" for row in given),
        "jsonl": "\n".join(lines),
        "json": f"[{','.join(lines)}]",
    }[name.partition(".")[2]]
    Path(name).write_bytes(text.encode("latin-1"))
    line = verb.refused("init", name, "--executor", ADDRESS)
    assert line.startswith(f"error: {name}:{2 if name == 'mine.csv' else 1}")
    assert "convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW; the same in 11 more rows" in line


def test_a_misspelled_field_is_refused_and_others_are_left_alone(verb: Verbs) -> None:
    extra: list[dict[str, object]] = [{"author": "Ada", "ids": 3}, {}, {}, {"contxt": "net"}]
    written(
        "mine.jsonl",
        "".join(
            json.dumps({"problem": f"{n} * 7?", "answer": str(7 * n), "type": "math", **more})
            + "\n"
            for n, more in enumerate(extra)
        ),
    )
    line = verb.refused("init", "mine.jsonl", "--executor", ADDRESS)
    assert "mine.jsonl:4: unknown field 'contxt'; did you mean 'context'?" in line
    assert "--skip-bad" in line
    said = " ".join(began(verb, "--skip-bad").split())
    assert "left out" in said
    assert "contxt" in said


def test_the_name_of_a_file_stands_for_the_sets_of_its_types(verb: Verbs) -> None:
    rows(math=12, qa=12)
    began(verb)
    _, err = verb.done(
        "evaluate", "--policy", "direct", "--dry-run", "--set", "evaluation.sets=[mine]"
    )
    assert "mine_math" in err
    assert "mine_qa" in err


def test_init_and_data_process_say_what_they_read_and_what_they_do_not(verb: Verbs) -> None:
    lines = [{"problem": f"{n}+1?", "answer": f"#### {n + 1}", "type": "math"} for n in range(12)]
    lines += [{**lines[3], "author": "Ada"}, {**lines[4], "answer": "7"}]
    written("mine.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    said = [began(verb)]
    _, out, err = verb("data", "process", "--custom", "mine.jsonl", "--set", "data.sets=[]")
    said.append(out + err)
    for text in said:
        assert "13 answers are whole solutions, of which what follows #### is read:" in text
        assert "mine.jsonl:1 gives '1'" in text
        assert "1 row is a copy: mine.jsonl:13 of mine.jsonl:4" in text
        assert "1 row contradicts an earlier one: mine.jsonl:14 says '7'" in text
        assert "columns not used: author" in text


def test_grade_says_of_which_references_an_answer_was_read(verb: Verbs) -> None:
    graded = [
        {"id": n, "domain": "math", "reference": reference, "candidate": "72"}
        for n, reference in enumerate(("It is 72.\n#### 72", "72", r"so $\boxed{72}$"))
    ]
    written("rows.jsonl", "".join(json.dumps(row) + "\n" for row in graded))
    out, err = verb.done("grade", "--in", "rows.jsonl", "--out", "v.jsonl", "--rules-only")
    assert "3 rows graded: 3 right" in out
    assert "2 of 3 references are whole solutions" in err
    assert "rows.jsonl:1 gives '72'" in err


def test_the_step_after_leaving_rows_out_leaves_them_out_too(verb: Verbs) -> None:
    rows(12, 12)
    with Path("mine.jsonl").open("a") as stream:
        stream.write('{"problem": "?", "answer": {}, "type": "math"}\n{"problem"\n')
    said = began(verb, "--skip-bad", executor="scripted")
    (step,) = [line for line in said.splitlines() if "llm-as-judge headroom" in line]
    words = step.partition("llm-as-judge ")[2].split()
    assert words == ["headroom", "mine.jsonl", "--skip-bad"]
    _, err = verb.done(*words, "--dry-run")
    assert "left out mine.jsonl:25: 'answer' is no" in " ".join(err.split())
    assert "left out mine.jsonl:26: not JSON" in " ".join(err.split())


def test_a_type_without_a_good_row_is_left_out_and_only_a_file_without_one_is_refused(
    verb: Verbs,
) -> None:
    rows(0, 12)
    bad = '{"problem": "?", "answer": {}, "type": "math"}\n'
    with Path("mine.jsonl").open("a") as stream:
        stream.write(bad)
    said = " ".join(began(verb, "--skip-bad").split())
    assert "left out mine.jsonl:13: 'answer' is no" in said
    assert "mine_qa train" in said
    assert "mine_math" not in Path("llm-as-judge.yaml").read_text()
    verb.done("data", "process", "--custom", "mine.jsonl", "--skip-bad", "--set", "data.sets=[]")
    written("worse.jsonl", bad + bad.replace("math", "qa"))
    Path("llm-as-judge.yaml").unlink()
    line = verb.refused(
        "init", "worse.jsonl", "--executor", ADDRESS, "--skip-bad", "--data-dir", "w"
    )
    assert (
        "worse.jsonl: no usable row of worse_math in it (left out worse.jsonl:1: 'answer'" in line
    )

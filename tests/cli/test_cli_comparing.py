"""compare and analyze as a person calls them; the executor is scripted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from called_verbs import Verbs
from held_out import OPTIONS, ROWS

from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.compare import p_text

pytestmark = pytest.mark.usefixtures("held_out_rows")


@pytest.mark.slow
def test_compare_is_against_the_untrained_and_names_who_answered_fewer(
    verb: Verbs, folder: Path
) -> None:
    names: list[str] = []
    for policy, limit in (("cot", "1"), ("direct", "2"), ("direct", "2")):
        name = f"model{len(names)}"
        assert (
            verb("evaluate", *OPTIONS, "--policy", policy, "--limit", limit, "--name", name)[0] == 0
        )
        names.append(name)
    files = [str(folder / "results" / "evaluation" / f"{name}_results.json") for name in names]
    (full,) = (folder / "results" / "evaluation" / "model2").glob("*/full.json")
    full.write_text(json.dumps({**json.loads(full.read_text()), "policy": "untrained"}))
    code, out, _ = verb("compare", *files)
    assert code == 0
    assert "Against model2" in out
    assert "with fewer problems or more failures: model0." in " ".join(out.split())


def test_compare_and_evaluate_give_one_accuracy_where_the_mix_is_a_set(
    verb: Verbs, folder: Path
) -> None:
    mixed = [ROWS["gsm8k"][0], *ROWS["hotpotqa"]]
    write_problems(folder / "data" / "mixed" / "test_mixed.jsonl", mixed)
    more = ("--set", "evaluation.sets=[mixed,gsm8k]", "--set", "evaluation.limit_per_set=null")
    assert verb("evaluate", *OPTIONS[:-2], *more, "--policy", "direct")[0] == 0
    file = folder / "results" / "evaluation" / "direct_results.json"
    overall = json.loads(file.read_text())["overall"]
    (found,) = json.loads(verb("compare", str(file), "--json")[1])["systems"]
    assert (overall["graded"], found["overall"]["problems"]) == (4.0, 4)
    assert overall["tokens"] == pytest.approx(found["mean_tokens"])
    out = verb("compare", str(file), "--markdown")[1]
    assert "| mixed (not in overall) | 0 [0, 56] |" in out
    assert "hotpotqa" not in out


FILES = ("results/evaluation/cot_results.json", "results/evaluation/direct_results.json")


@pytest.mark.usefixtures("direct")
def test_compare_opens_with_what_training_changed(verb: Verbs, folder: Path) -> None:
    for name, changes in (("cot", {"policy": "untrained"}), ("direct", {"checkpoint": "step_5"})):
        (full,) = (folder / "results" / "evaluation" / name).glob("*/full.json")
        full.write_text(json.dumps({**json.loads(full.read_text()), **changes}))
    first, *_ = verb("compare", *FILES)[1].splitlines()
    assert first.startswith(
        "Training made no difference that is shown: 0 of 5 right before, 0 of 5 after; +0 points "
    )
    assert (
        "Take more test rows: 5 problems can never show one, 8 or more can; or more steps." in first
    )
    assert json.loads(verb("compare", *FILES, "--json")[1])["verdict"] == [first]


@pytest.mark.usefixtures("direct")
def test_a_direct_call_is_the_reference_and_so_few_problems_never_show_a_difference(
    verb: Verbs,
) -> None:
    said = "No difference is shown: 5 problems can never show one, 8 or more can."
    code, out, _ = verb("compare", *FILES)
    assert (code, out.splitlines()[0], "Against direct" in out) == (0, said, True)
    found = json.loads(verb("compare", *FILES, "--json")[1])
    names = (found["verdict"], found["reference"], [c["name"] for c in found["systems"]])
    assert names == ([said], "direct", ["cot", "direct"])
    assert found["comparisons"][0]["problems"] == 5
    out = verb("compare", *FILES, "--against", "direct", "--markdown")[1]
    assert "| overall | " in out
    assert "| cot | 5 | " in out
    assert said not in verb("compare", FILES[0])[1]
    said = verb.refused("compare", FILES[1], "--against", "cot")
    assert "not among the results (direct)" in said


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 5])
def test_every_table_of_compare_fits_80_columns_names_its_rows_and_breaks_no_name(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [
        "qwen25-coder-0.5b_untrained",
        "qwen25-coder-0.5b",
        "cot",
        "two_ways_else_third",
        "x" * 30,
    ]
    files = evaluated(verb, *names[:count], policy="direct")
    code, out, err = verb("compare", *files, "--by-domain")
    assert code == 0, err
    first, *others = out.splitlines()
    assert first.startswith("No difference is shown: ")
    assert max(map(len, others)) <= 80
    for name in names[:count]:
        assert re.search(rf"(^|\s){re.escape(name)}\*?(\s|$)", out, re.MULTILINE)
    (accuracy, *against), rows = out.split("Against "), out.splitlines()
    assert len(against) == 3  # all, and each domain
    for part, named in (
        (accuracy, ("gsm8k", "overall", "calls")),
        (against[0], ("p (Holm)", "cost")),
    ):
        assert len({part.count(f"\n{name} ") for name in named}) == 1
    assert (sum(row.startswith("problems ") for row in rows) > 4) == (count > 3)


def evaluated(verb: Verbs, *names: str, policy: str = "") -> list[str]:
    """Their results files, the first of these the reference."""
    for name in names:
        code, _, err = verb("evaluate", *OPTIONS, "--policy", policy or name, "--name", name)
        assert code == 0, err
    return [f"results/evaluation/{name}_results.json" for name in names]


@pytest.mark.slow
def test_only_seeds_of_one_evaluation_are_averaged(verb: Verbs, direct: Path) -> None:
    again = ("evaluate", *OPTIONS, "--policy", "direct")
    assert verb(*again, "--seed", "1", "--name", "direct_s1")[0] == 0
    other = ("--seed", "2", "--set", "executor.max_tokens=99", "--name", "short")
    assert verb(*again, *other)[0] == 0
    names = ("direct", "direct_s1", "short")
    files = [str(direct.with_name(f"{name}_results.json")) for name in names]
    code, out, _ = verb("compare", *files, "--json", "--against", "direct_s1")
    found = json.loads(out)
    assert code == 0
    assert [(c["files"], c["seeds"]) for c in found["systems"]] == [
        (["direct", "direct_s1"], [0, 1]),
        (["short"], [2]),
    ]
    assert found["reference"] == found["systems"][0]["name"]
    code, out, _ = verb("compare", *files)
    said = "not the same conditions: executor.max_tokens 160 (direct), 99 (short)"
    assert said in out.splitlines()[1]
    assert said in verb("compare", *files, "--markdown")[1].splitlines()[1]
    assert "not among the results (direct, direct_s1, short)" in verb.refused(
        "compare", *files, "--against", "none"
    )


def test_edited_rows_under_the_same_id_are_not_compared(
    verb: Verbs, folder: Path, direct: Path
) -> None:
    edited = [replace(row, question=f"{row.question}!") for row in ROWS["gsm8k"]]
    write_problems(folder / "data" / "test" / "gsm8k_test.jsonl", edited)
    assert verb("evaluate", *OPTIONS, "--policy", "direct", "--name", "edited")[0] == 0
    said = verb.refused("compare", str(direct), str(direct.with_name("edited_results.json")))
    assert "is not the same problem in both" in said


@pytest.mark.parametrize(("p", "shown"), [(1e-9, "< 0.001"), (0.001, "0.001"), (0.5, "0.500")])
def test_ap_text_is_never_shown_as_zero(p: float, shown: str) -> None:
    assert p_text(p) == shown

"""compare and analyze as a person calls them; the executor is scripted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from called_verbs import OPTIONS, ROWS, Verbs
from written_results import row, written

from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.compare import p_text

pytestmark = pytest.mark.usefixtures("held_out_rows")
ROWS_OF_FIVE = [
    *({**row(n, [False], 30), "cost": [20.0]} for n in range(3)),
    *({**row(n, [False], 30, "hotpotqa"), "cost": [20.0]} for n in range(2)),
]


def test_compare_is_against_the_untrained_and_names_who_answered_fewer(
    verb: Verbs, tmp_path: Path
) -> None:
    files = [
        str(written(tmp_path, policy, ROWS_OF_FIVE[:count]))
        for policy, count in (("cot", 1), ("direct", 5), ("untrained", 5))
    ]
    out, _ = verb.done("compare", *files)
    assert "Against untrained" in out
    assert "with fewer problems or more failures: cot." in " ".join(out.split())


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
        "Take more test rows: 5 problems can never show a difference, 8 or more can; or more steps."
        in first
    )
    assert json.loads(verb("compare", *FILES, "--json")[1])["verdict"] == [first]


@pytest.mark.usefixtures("direct")
def test_a_direct_call_is_the_reference_and_so_few_problems_never_show_a_difference(
    verb: Verbs,
) -> None:
    said = "No difference is shown: 5 problems can never show a difference, 8 or more can."
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


@pytest.mark.parametrize("count", [2, 5])
def test_every_table_of_compare_fits_80_columns_names_its_rows_and_breaks_no_name(
    verb: Verbs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [
        *("qwen25-coder-0.5b_untrained", "qwen25-coder-0.5b", "cot", "two_ways_else_third"),
        "x" * 30,
    ][:count]
    files = [str(written(tmp_path, name, ROWS_OF_FIVE)) for name in names]
    out, _ = verb.done("compare", *files, "--by-domain", "--details")
    first, *others = out.splitlines()
    assert first.startswith("No difference is shown: ")
    assert max(map(len, others)) <= 80
    for name in names:
        assert re.search(rf"(^|\s){re.escape(name)}\*?(\s|$)", out, re.MULTILINE)
    (accuracy, *against), rows = out.split("Against "), out.splitlines()
    assert len(against) == 3  # all, and each domain
    for part, named in (
        (accuracy, ("gsm8k", "overall", "calls")),
        (against[0], ("p (Holm)", "cost")),
    ):
        assert len({part.count(f"\n{name} ") for name in named}) == 1
    assert (sum(row.startswith("problems ") for row in rows) > 4) == (count > 3)


def test_seven_results_fit_a_screen_and_the_first_24_lines_decide(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folders = sorted((Path(__file__).parents[2] / "examples" / "baselines").glob("*/*"))
    assert len(folders) == 7
    files = [str(folder) for folder in folders]
    out, _ = verb.done("compare", *files)
    lines = out.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines[1:])) <= 80
    assert lines[0].startswith("vote_of_5 is better than direct: 36% right with direct, 58% with")
    assert {folder.parent.name for folder in folders} <= set(
        re.findall(r"^\w+", "\n".join(lines[8:24]), re.M)
    )
    assert "gsm8k  " not in out
    assert "--details" in lines[-2]
    whole, _ = verb.done("compare", *files, "--details")
    assert "gsm8k  " in whole
    assert "--details" not in whole
    assert "--details" not in verb("compare", *files, "--markdown")[1]


def test_only_seeds_of_one_evaluation_are_averaged(verb: Verbs, tmp_path: Path) -> None:
    longer = {"executor": {"model": "e", "max_tokens": 99}}
    files = [
        str(written(tmp_path, name, ROWS_OF_FIVE, policy="direct", seed=seed, **more))
        for name, seed, more in (
            ("first", 0, {}),
            ("second", 1, {}),
            ("short", 2, {"config": longer}),
        )
    ]
    code, out, _ = verb("compare", *files, "--json", "--against", "second")
    found = json.loads(out)
    assert code == 0
    assert [(c["files"], c["seeds"]) for c in found["systems"]] == [
        (["first", "second"], [0, 1]),
        (["short"], [2]),
    ]
    assert found["reference"] == found["systems"][0]["name"]
    said = "not the same conditions: executor.max_tokens 256 (direct), 99 (short)"
    for more in ((), ("--markdown",)):
        assert said in verb("compare", *files, *more)[1].splitlines()[1]
    assert "not among the results (direct, first, second, short)" in verb.refused(
        "compare", *files, "--against", "none"
    )


def test_replayed_runs_have_no_seconds_and_it_is_said_why(verb: Verbs, tmp_path: Path) -> None:
    kept = {"seconds": None, "not_timed": 5.0}
    older = {"config": {"calls": {"mode": "cache"}}}
    files = [
        *(
            str(written(tmp_path, name, ROWS_OF_FIVE, **more))
            for name, more in (("a", {}), ("b", older))
        ),
        str(written(tmp_path, "c", ROWS_OF_FIVE, overall=kept)),
    ]
    out, _ = verb.done("compare", *files, "--markdown")
    assert "| seconds | 2.0 | - | - |" in out
    assert "seconds leave out runs that got kept or shared replies, which take no time: c 5." in out
    assert (
        "seconds are not known of b: these older results do not say which replies were kept" in out
    )
    assert "seconds leave" not in verb("compare", files[0], "--markdown")[1]


@pytest.mark.parametrize(("p", "shown"), [(1e-9, "< 0.001"), (0.001, "0.001"), (0.5, "0.500")])
def test_ap_text_is_never_shown_as_zero(p: float, shown: str) -> None:
    assert p_text(p) == shown

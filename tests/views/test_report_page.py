"""The page itself: hostile text stays text, broken folders are one line, ten thousand rollouts fit."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.views.report import Change, Changes, Side, Sources, render, write_report
from llm_as_judge.views.report.page import embedded
from run_folders import HOSTILE, results, write_rows, write_run


class Elements(HTMLParser):
    """Start tags with attributes, and the text of script elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._in_script = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def data_of(page: str) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = json.loads(Elements(page).scripts[0])["groups"]
    return groups


def test_the_page_holds_every_rollout_with_its_neighbors(tmp_path: Path) -> None:
    groups = data_of(render(Sources(write_run(tmp_path / "run", texts=("x", "y")))))
    assert len(groups) == 6
    assert [r["correct"] for r in groups[0]["rollouts"]] == [True, False, True]
    assert groups[0]["rollouts"][1]["findings"][0] == {
        "code": "W208",
        "line": 2,
        "message": "no key y",
        "hint": "y",
    }
    assert groups[1]["rollouts"][0]["correct"] is None


@pytest.mark.parametrize(
    ("scheme", "most"), [("priced", "at most 1:"), ("weighted", "at most 10.")]
)
def test_the_reward_s_greatest_value_is_that_of_its_scheme(
    tmp_path: Path, scheme: str, most: str
) -> None:
    run = write_run(tmp_path / "run", texts=("x", "y"))
    (run / "config.yaml").write_text(f"reward: {{scheme: {scheme}}}\n")
    assert most in render(Sources(run))


def test_hostile_text_makes_no_element_and_no_attribute(tmp_path: Path) -> None:
    tame = Elements(render(Sources(write_run(tmp_path / "a", texts=("tame",) * len(HOSTILE)))))
    sources = Sources(
        write_run(tmp_path / "b", texts=HOSTILE),
    )
    wild = Elements(render(sources))
    # charts have equal figures: the same elements in the same order, attributes that carry no text
    assert [tag for tag, _ in wild.tags] == [tag for tag, _ in tame.tags]
    assert len(wild.scripts) == 2
    assert not any(name.startswith("on") for _, attributes in wild.tags for name in attributes)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_headings_of_results_are_escaped(text: str) -> None:
    named = {text.replace("\ud800", ""): results(0.5, 10), "b": results(0.6, 20)}
    page = render(Sources(None, named))
    assert len(Elements(page).scripts) == 2
    assert "<img" not in page


@pytest.mark.parametrize("text", HOSTILE)
def test_embedded_data_reads_back_and_holds_no_sign_of_markup(text: str) -> None:
    written = embedded({"a": text})
    assert json.loads(written) == {"a": text}
    assert not re.search(r"[<>&\u2028\u2029]", written)


def test_the_policy_names_our_script_by_hash_and_allows_no_request(tmp_path: Path) -> None:
    page = render(Sources(write_run(tmp_path / "run")))
    elements = Elements(page)
    policy = next(
        str(a["content"]) for tag, a in elements.tags if a.get("http-equiv") and tag == "meta"
    )
    digest = base64.b64encode(hashlib.sha256(elements.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def test_a_problem_is_looked_up_in_the_training_file(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "logs" / "run")
    file = write_rows(
        tmp_path / "train.jsonl", {"id": "gsm8k/train/1", "question": "How many?", "answers": ["4"]}
    )
    (folder / "config.yaml").write_text(f"data: {{train_file: {file}}}\n")
    first, *rest = data_of(render(Sources(folder)))
    assert first["problem"]["question"] == "How many?"
    assert not any("problem" in group for group in rest)


def test_results_alone_make_a_page_without_a_browser_of_rollouts() -> None:
    page = render(Sources(None, {"a": results(0.5, 100), "b": results(0.75, 300)}))
    assert "Cost and accuracy" in page
    assert 'id="rollouts"' not in page
    assert data_of(page) == []


def test_a_run_that_has_just_started_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("policy: {name: p}\n")
    assert "No step has been finished yet" in render(Sources(tmp_path))


def test_half_written_and_foreign_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=1)
    with (folder / "rollouts.jsonl").open("ab") as file:
        file.write(b'\xff\xfe\n[1]\n{"step": "x"}\n{"step": 1, "rollout": {"program": 3}}\n')
        file.write(b'{"step": 2, "rollo')
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('nonsense\n{"step": 1, "reward/mean": "<b>"}\n{"st')
    (folder / "run.json").write_text('{"policy": ')
    page = render(Sources(folder))
    assert "4 that are no rows of a run" in page
    assert len(data_of(page)) == 3  # the odd rollout has a group of its own


def test_beyond_the_limit_the_newest_stay_and_the_rest_is_told(tmp_path: Path) -> None:
    page = render(Sources(write_run(tmp_path / "run", steps=3)), max_rollouts=3)
    assert [group["step"] for group in data_of(page)] == [3, 3]
    assert "6 older ones are in the curves only" in page


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", texts=("x" * 50_000,), steps=1)
    answer = data_of(render(Sources(folder)))[0]["rollouts"][0]["answer"]
    assert len(answer) < 4100
    assert answer.endswith("[... cut]")


def test_the_page_opens_with_the_verdict(tmp_path: Path) -> None:
    page = render(Sources(write_run(tmp_path / "run"), verdict="Training helped: <b>"))
    assert page.index("Training helped: &lt;b&gt;") < page.index('class="summary"')
    assert 'class="verdict"' not in render(Sources(tmp_path / "run"))


def won(text: str) -> Changes:
    one = Change("arithmetic", text, "4", (Side("5", text), Side("4", "return 4")))
    return Changes(("before", "after"), (one,) * 10, ())


def test_results_and_what_was_won_stand_before_the_curves(tmp_path: Path) -> None:
    run, named = write_run(tmp_path / "run"), {"a": results(0.5, 10), "b": results(0.6, 20)}
    page = render(Sources(run, named, verdict="It helped", changes=won("2 + 2?")))
    marks = (
        "It helped",
        'id="h-results"',
        "Cost and accuracy",
        "Won: 10",
        "Lost: 0",
        'id="h-curves"',
    )
    assert sorted(marks, key=page.index) == list(marks)
    assert page.count("<h3>Cost and accuracy</h3>") == 1
    assert page.count("<h3>Reward</h3>") == 1
    assert "2 more" in page  # eight are seen at once
    assert "wanted <b>4</b>" in page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_questions_and_programs_of_changes_are_escaped(text: str) -> None:
    page = render(Sources(changes=won(text.replace("\ud800", ""))))
    assert len(Elements(page).scripts) == 2
    assert "<img" not in page


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "page.html"
    write_report(Sources(write_run(tmp_path / "run")), target)
    assert target.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
def test_ten_thousand_rollouts_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", texts=("return answer " * 20,) * 7, steps=1)
    lines = (folder / "rollouts.jsonl").read_text().splitlines()
    with (folder / "rollouts.jsonl").open("w") as file:
        for step in range(1, 1112):
            for line in lines:
                row = json.loads(line)
                row["step"] = step
                file.write(json.dumps(row) + "\n")
    page = render(Sources(folder))
    assert sum(len(g["rollouts"]) for g in data_of(page)) == 9_999
    assert len(page) < 40e6

"""The judge that the package ships: who names none gets it, and it may train by the report beside it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from llm_as_judge.assembly import judge_fingerprint, open_judge, workbench
from llm_as_judge.assembly.judge_gate import require_audit, require_measured_model
from llm_as_judge.audit.labeled import cases_sha256, shipped_labeled
from llm_as_judge.audit.status import find_audit_status, report_path
from llm_as_judge.config import Config, load_config, shipped_dir
from llm_as_judge.errors import AuditError, ModelError
from llm_as_judge.judge.kinds import scoring_folder
from llm_as_judge.judge.scoring import RIGHT, ScoringOptions
from llm_as_judge.types import Problem

OPEN = Problem("c/1", "colors", "qa", "Which color is the sky?", ("sky blue",))


def judging(place: Path, *overrides: str) -> Config:
    return load_config(
        overrides=[f"output.results={place}", "judge.kind=scoring", "judge.model=none", *overrides]
    )


def test_a_trained_judge_is_the_shipped_one_unless_a_folder_is_named(tmp_path: Path) -> None:
    assert scoring_folder(ScoringOptions()) == shipped_dir() / "judge"
    assert scoring_folder(ScoringOptions(tmp_path)) == tmp_path
    shipped = judge_fingerprint(judging(tmp_path))
    by_name = judge_fingerprint(judging(tmp_path, "judge.options.adapter=shipped"))
    assert shipped == by_name
    with pytest.raises(ModelError, match=r"judge\.json: cannot be read"):
        judge_fingerprint(judging(tmp_path, f"judge.options.adapter={tmp_path}"))


async def test_weights_of_a_trained_judge_are_read_when_an_answer_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    closed: list[bool] = []

    class Loaded:
        def close(self) -> None:
            closed.append(True)

        def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
            return [99.0] * len(pairs)

    def load(weights: Path, folder: Path, **_: object) -> Loaded:
        loaded.append(folder)
        return Loaded()

    monkeypatch.setattr("llm_as_judge.policy.label_scorer.LabelScorer.load", load)
    monkeypatch.setattr(workbench, "fetch", lambda entry, cache: tmp_path)
    monkeypatch.setattr(workbench, "unpack_gguf", lambda weights: weights)
    async with open_judge(judging(tmp_path)) as opened:
        assert (await opened.grade(OPEN, "sky blue")).correct
        assert loaded == []
        assert (await opened.grade(OPEN, "sky blue, as one sees it")).rule == RIGHT
        assert (await opened.grade(OPEN, "blue is how people call the sky, sky blue")).rule == RIGHT
        assert closed == []
    assert loaded == [shipped_dir() / "judge"]
    assert closed == [True]


@pytest.mark.parametrize("profile", ["embedded", "quickstart"])
def test_the_shipped_judge_may_train_by_the_report_it_came_with(
    tmp_path: Path, profile: str
) -> None:
    """Where this fails after a change of the rules, the shipped judge is to be audited again:
    docs/judge.md, "The shipped judge"."""
    settings = load_config(profile, overrides=[f"output.results={tmp_path}"])
    found = find_audit_status(tmp_path, judge_fingerprint(settings))
    assert (found.status, found.report) == ("passed", str(shipped_dir() / "judge" / "audit.json"))
    report = json.loads((shipped_dir() / "judge" / "audit.json").read_text())
    assert report["mode"] == "weights"
    page = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()
    assert f"| 0 of {report['attacks_accepted']['n']:,} |" in page
    assert report["data_sha256"]["labeled"] == cases_sha256(shipped_labeled())
    assert not report["examples"] or {e["source"] for e in report["examples"]} <= {
        case.source for case in shipped_labeled()
    }


def test_the_report_of_the_shipped_judge_permits_no_other(tmp_path: Path) -> None:
    other = tmp_path / "judge"
    shutil.copytree(shipped_dir() / "judge", other)
    content = json.loads((other / "judge.json").read_text())
    (other / "judge.json").write_text(json.dumps(content | {"precision": 0.5}))
    settings = load_config(
        "embedded",
        overrides=[f"output.results={tmp_path}", f"judge.options.adapter={other}"],
    )
    shipped = load_config("embedded", overrides=[f"output.results={tmp_path}"])
    statuses = [
        find_audit_status(tmp_path, judge_fingerprint(one)).status for one in (shipped, settings)
    ]
    assert statuses == ["passed", "missing"]


@pytest.mark.slow
async def test_a_trained_judge_without_a_report_is_audited_on_the_spot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scorer that finds every answer wrong accepts nothing that the rules leave open: it may train."""
    folder = tmp_path / "judge"
    shutil.copytree(shipped_dir() / "judge", folder)
    (folder / "judge.json").write_text(
        (folder / "judge.json").read_text().replace('"seed": 0', '"seed": 1')
    )
    monkeypatch.setattr(workbench, "fetch", lambda entry, cache: tmp_path)
    monkeypatch.setattr(workbench, "unpack_gguf", lambda weights: weights)
    monkeypatch.setattr(
        "llm_as_judge.policy.label_scorer.LabelScorer.load", lambda *_, **__: Wrong()
    )
    settings = load_config(
        "embedded",
        overrides=[f"output.results={tmp_path}", f"judge.options.adapter={folder}"],
    )
    require_measured_model(settings)
    said: list[str] = []
    found = await require_audit(settings, say=said.append)
    assert found.status == "passed"
    assert said == ["auditing the trained judge, one to three minutes"]
    report = json.loads(Path(found.report).read_text())
    assert report["mode"] == "weights"
    recall = next(bar for bar in report["bars"] if bar["name"] == "recall")
    assert not recall["passed"]
    assert not recall["required"]


class Wrong:
    def close(self) -> None: ...

    def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        return [-99.0] * len(pairs)


def test_a_report_of_results_comes_before_the_shipped_one(tmp_path: Path) -> None:
    settings = load_config("embedded", overrides=[f"output.results={tmp_path}"])
    fingerprint = judge_fingerprint(settings)
    document = {"time": 0.0, "fingerprint": fingerprint, "mode": "weights", "passed": False}
    path = report_path(tmp_path, fingerprint)
    path.parent.mkdir()
    path.write_text(json.dumps(document | {"failures": ["precision"]}))
    with pytest.raises(AuditError, match=r"failed its audit \(precision\)"):
        require_measured_model(settings)

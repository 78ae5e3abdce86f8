"""Old names of keys, metrics and fields mean the new ones, and whoever wrote one is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_as_judge.assembly.learning import rollout_settings
from llm_as_judge.audit.status import AuditStatus, measured_on
from llm_as_judge.config import Config, iterate_fields, load_config, load_models
from llm_as_judge.config.catalog import ModelEntry
from llm_as_judge.data.manifest import read_manifest
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.conditions import conditions_of
from llm_as_judge.renamed import KEYS, RECORDED, hint, with_new_keys
from llm_as_judge.runs.results import FullResults, read_results_file
from llm_as_judge.runs.rundir import read_run
from llm_as_judge.runs.runlog import METRICS, TIMINGS, RunLog, read_steps
from metric_names import METRIC_NAMES, OLDER

EARLIER_CONFIG = Path(__file__).parent / "recorded" / "earlier_config.yaml"
"""Of a run at the time of the older names."""
GRPO_ALONE = Path(__file__).parents[1] / "examples" / "adaptive" / "grpo_alone"
VALUES = {"training.centre": "leave_one_out", "training.scale": "batch"}
VALUES |= {"training.aggregate": "token", "training.objective": "gspo"}
VALUES |= {"sampling.replicas": "http://h:8010/v1"}
OF_RUNS = {old: new for old, new in KEYS.items() if not old.startswith("models.")}


@pytest.fixture(autouse=True)
def _nothing_was_told() -> Iterator[None]:
    hint.cache_clear()
    yield
    hint.cache_clear()


def value(tree: Any, key: str) -> Any:
    for part in key.split("."):
        tree = getattr(tree, part)
    return tree


def test_a_key_that_says_nothing_any_more_is_left_out_and_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tree = {"sampling": {"constrained": False, "form": "body"}}
    assert with_new_keys(tree) == {"sampling": {"form": "body"}}
    assert capsys.readouterr().err == ""
    assert with_new_keys(tree, "mine.yaml") == {"sampling": {"form": "body"}}
    assert capsys.readouterr().err == "mine.yaml: sampling.constrained is no key any more\n"


def test_every_new_name_is_one_of_today_and_no_old_one_is() -> None:
    known = {name for name, _ in iterate_fields(Config)}
    known |= {f"models.{name}" for name in ModelEntry.model_fields}
    assert set(KEYS.values()) <= known
    assert not set(KEYS) & known
    assert {new for new in RECORDED.values() if "/" in new} <= set(METRIC_NAMES)
    assert not set(RECORDED) & set(METRIC_NAMES)
    assert {old: new for old, new in RECORDED.items() if "/" in new} == OLDER


@pytest.mark.parametrize(("old", "new"), OF_RUNS.items(), ids=OF_RUNS)
def test_an_old_key_sets_the_new_one_wherever_it_stands(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = VALUES.get(old, 1 if "share" in old or "is_" in old else 64)
    section, key = old.split(".")
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump({section: {key: given}}))
    assert value(load_config(file), new) == given
    assert capsys.readouterr().err == f"{file}: {old} is called {new} now\n"
    empty = tmp_path / "empty.yaml"
    empty.write_text("{}")
    assert value(load_config(empty, overrides=[f"{old}={given}"]), new) == given
    assert f"--set {old}={given}: {old} is called {new} now" in capsys.readouterr().err


def test_a_later_layer_wins_in_whichever_words_the_two_are(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text("training: {preset: dapo, aggregate: sequence}")
    assert load_config(file).training.loss_aggregation == "sequence"
    for key in ("loss_aggregation", "aggregate"):
        over = load_config(file, overrides=[f"training.{key}=constant"])
        assert over.training.loss_aggregation == "constant"


def test_all_old_keys_of_a_file_are_named_in_one_line_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.yaml"
    file.write_text("{training: {centre: mean, is_cap: 3}, sampling: {rows_at_once: 2}}")
    load_config(file)
    load_config(file)
    (line,) = capsys.readouterr().err.splitlines()
    assert all(key in line for key in ("training.baseline", "is_clip_max", "generation_batch_size"))


def test_an_old_key_beside_the_new_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text("training: {centre: mean, baseline: leave_one_out}")
    with pytest.raises(ConfigError, match=r"both\.yaml: training\.centre is called training\.base"):
        load_config(file)


def test_settings_of_an_earlier_run_are_read_without_a_hint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    earlier = yaml.safe_load(EARLIER_CONFIG.read_text())
    assert earlier["training"].keys() >= {"centre", "row_tokens"}
    read = Config.model_validate(earlier)
    assert read.training.baseline == earlier["training"]["centre"]
    then = rollout_settings(earlier)
    assert then["training.baseline"] == earlier["training"]["centre"]
    assert not then.keys() & set(KEYS)
    assert capsys.readouterr().err == ""


def test_evaluations_of_before_and_of_now_are_under_one_name_of_each_condition() -> None:
    (file,) = (GRPO_ALONE / "trained").glob("*/full.json.gz")
    earlier = read_results_file(FullResults, file)
    now = earlier.model_copy(update={"config": with_new_keys(earlier.config)})
    assert "max_ungraded_share" in earlier.config["judge"]
    assert Config.model_validate(earlier.config).judge.max_ungraded_fraction == 0.5
    assert conditions_of(earlier) == conditions_of(now)


def test_old_names_in_the_logs_of_a_run_are_read_as_the_new_ones(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text(
        json.dumps({"step": 1, "update/clipped_share": 0.5, "update/row_tokens": 9.0}) + "\n"
    )
    (tmp_path / TIMINGS).write_text(json.dumps({"step": 1, "time/idle_share": 0.25}) + "\n")
    wanted = {
        "step": 1,
        "update/clipped_fraction": 0.5,
        "update/micro_batch_tokens": 9.0,
        "time/idle_fraction": 0.25,
    }
    assert read_steps(tmp_path) == [wanted]
    assert read_run(tmp_path).steps == [wanted]
    assert RunLog(tmp_path).steps()[0]["update/clipped_fraction"] == 0.5


def test_an_entry_of_models_yaml_may_have_its_old_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "models.yaml"
    entry = {"format": "gguf", "licence": "MIT", "sources": [{"hub": "a/b"}]}
    file.write_text(yaml.safe_dump({"models": {"m": entry}}))
    assert load_models(file)["m"].license == "MIT"
    assert "models.licence is called models.license now" in capsys.readouterr().err


def test_a_manifest_and_an_audit_report_of_before_are_read(tmp_path: Path) -> None:
    entry = {"dataset": "d", "origin": "sample", "where": "", "files": {}, "rows": 1, "bytes": 1}
    manifest = {"entries": [{**entry, "licence": "MIT"}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert read_manifest(tmp_path).entries[0].license == "MIT"
    report = tmp_path / "report.json"
    for name in ("labelled", "labeled"):
        report.write_text(json.dumps({"data_sha256": {name: "abc"}}))
        status = AuditStatus("f", "passed", "", str(report))
        assert measured_on(status, "abc")
        assert not measured_on(status, "other")

"""No judge rewards before it is measured; who forces it leaves a trace that stays."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_as_judge import plugins
from llm_as_judge.assembly import judge_fingerprint, open_judge
from llm_as_judge.assembly.judge_gate import (
    audit_command,
    judge_entry,
    judge_history,
    require_audit,
    require_measured_model,
)
from llm_as_judge.audit.status import report_path
from llm_as_judge.config import Config, load_config, shipped_dir
from llm_as_judge.errors import AuditError, ConfigError


@pytest.fixture(autouse=True)
def endpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """aflow_llm.yaml with one judge, which nobody answers for."""
    folder = tmp_path / "config"
    shutil.copytree(shipped_dir(), folder)
    path = folder / "aflow_llm.yaml"
    path.write_text(yaml.safe_dump({"models": {"big": endpoint()}}))
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(folder))
    return path


def endpoint(**changed: Any) -> dict[str, Any]:
    return {"base_url": "http://127.0.0.1:9/v1", "api_key": "x", "no_proxy": True} | changed


def config(place: Path, **judge: Any) -> Config:
    output = {"results": place / "results", "cache": place / "cache"}
    return Config.model_validate({"judge": judge, "output": output})


def leave_report(settings: Config, **changed: Any) -> Path:
    fingerprint = judge_fingerprint(settings)
    path = report_path(settings.output.results, fingerprint)
    path.parent.mkdir(parents=True, exist_ok=True)
    now = path.parent.stat().st_mtime
    report = {"time": now, "fingerprint": fingerprint, "mode": "model", "passed": True}
    path.write_text(json.dumps(report | changed))
    return path


async def test_a_model_without_an_audit_may_not_train(tmp_path: Path) -> None:
    settings = config(tmp_path, model="big")
    with pytest.raises(AuditError) as refusal:
        await require_audit(settings)
    said = str(refusal.value)
    assert f"audit/{judge_fingerprint(settings)}.json: the judge has no audit report" in said
    assert "run: llm-as-judge judge audit --set judge.model=big --set output.results=" in said
    assert "--force-unaudited-judge" in said
    assert "\n" not in said


def test_a_model_without_an_audit_is_refused_before_anything_is_loaded(
    tmp_path: Path,
) -> None:
    settings = config(tmp_path, model="big")
    with pytest.raises(AuditError, match=r"run: llm-as-judge judge audit"):
        require_measured_model(settings)
    leave_report(settings)
    require_measured_model(settings)
    require_measured_model(config(tmp_path, model="none"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"passed": False, "failures": ["recall"]}, r"failed its audit \(recall\); choose another"),
        ({"time": 0.0}, "days old"),
        ({"fingerprint": "other"}, "audit of judge other"),
    ],
)
async def test_a_model_that_failed_or_is_unlike_its_report_may_not(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    settings = config(tmp_path, model="big")
    leave_report(settings, **changed)
    with pytest.raises(AuditError, match=said):
        await require_audit(settings)
    forced = await require_audit(settings, force=True)
    assert forced.status in ("failed", "old", "other_judge")


async def test_any_change_of_the_judge_ends_its_permission(tmp_path: Path, endpoints: Path) -> None:
    settings = config(tmp_path, model="big")
    leave_report(settings)
    assert (await require_audit(settings)).status == "passed"
    longer = config(tmp_path, model="big", max_tokens=77)
    with pytest.raises(AuditError, match="no audit report"):
        await require_audit(longer)
    endpoints.write_text(yaml.safe_dump({"models": {"big": endpoint(model_name="small")}}))
    with pytest.raises(AuditError, match="no audit report"):
        await require_audit(settings)


async def test_where_an_endpoint_runs_is_no_part_of_the_judge(
    tmp_path: Path, endpoints: Path
) -> None:
    settings = config(tmp_path, model="big")
    before = judge_fingerprint(settings)
    endpoints.write_text(
        yaml.safe_dump({"models": {"big": endpoint(base_url="http://127.0.0.1:7/v1")}})
    )
    assert judge_fingerprint(settings) == before


async def test_a_judge_that_is_nowhere_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"judge\.model: no 'nosuch' \(known: big"):
        await require_audit(config(tmp_path, model="nosuch"))


@pytest.mark.slow
async def test_rules_that_let_attacks_through_are_audited_once_and_may_not_train(
    tmp_path: Path,
) -> None:
    lax = config(tmp_path, model="none", qa_f1_threshold=0.3)
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(AuditError, match=r"failed its audit .*attacks accepted.*another judge"):
            await require_audit(lax, say=said.append)
    assert said == ["auditing the rules that grade"]


async def test_rules_that_passed_may_train(tmp_path: Path, audited: None) -> None:
    audit_status = await require_audit(config(tmp_path, model="none"))
    assert audit_status.status == "passed"
    report = json.loads(Path(audit_status.report).read_text())
    assert report["attacks_accepted"]["n"] >= 300


async def test_the_fingerprint_is_that_of_the_judge_when_it_runs(tmp_path: Path) -> None:
    for judge in ({"model": "none"}, {"model": "none", "qa_f1_threshold": 0.5}):
        settings = config(tmp_path, **judge)
        async with open_judge(settings) as live:
            assert live.fingerprint == judge_fingerprint(settings)
    scripted = config(tmp_path, model="scripted", max_tokens=99)
    async with open_judge(scripted) as live:
        assert live.fingerprint == judge_fingerprint(scripted)


def test_the_command_audits_the_same_judge(tmp_path: Path) -> None:
    settings = config(tmp_path, model="big", max_tokens=99)
    words = shlex.split(audit_command(settings))
    assert words[:3] == ["llm-as-judge", "judge", "audit"]
    overrides = [word for word in words[3:] if word != "--set"]
    again = load_config(overrides=overrides)
    assert again.judge == settings.judge
    assert judge_fingerprint(again) == judge_fingerprint(settings)
    assert again.output.results == settings.output.results


def test_the_command_audits_with_the_same_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    settings = config(tmp_path, model="big").model_copy(update={"plugins": ("yaml", "json")})
    words = shlex.split(audit_command(settings))
    again = load_config(overrides=[word for word in words[3:] if word != "--set"])
    assert again.plugins == ("yaml", "json")


async def test_a_forced_judge_stays_in_the_history(tmp_path: Path) -> None:
    settings = config(tmp_path, model="big")
    forced = judge_entry(await require_audit(settings, force=True), settings, step=1, forced=True)
    assert forced["forced"]
    assert forced["audit"] == "missing"
    same = {**forced, "from_step": 5}
    assert judge_history([forced], same) == [forced]
    leave_report(settings)
    passed = judge_entry(await require_audit(settings, force=True), settings, step=5, forced=True)
    assert not passed["forced"]
    assert judge_history([forced], passed) == [forced, passed]
    assert judge_history([], passed) == [passed]

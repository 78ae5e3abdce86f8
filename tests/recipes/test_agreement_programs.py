"""Programs that draw and agree: all pass the check, differ, and ask what the shipped ways ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from agreement_programs import WAYS, main, programs
from llm_as_judge.config import Config
from llm_as_judge.errors import OutputError
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import form_of, parse_program

SHIPPED = {"direct": "direct", "cot": "cot", "pot": "program_of_thought"}


def shipped(way: str, domain: Domain) -> str:
    text = Path(workflows_dir() / SHIPPED[way] / f"{domain}.py").read_text("utf-8")
    return parse_program(text, domain, form_of(text)).hash


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_way_alone_is_the_shipped_program_of_its_name(domain: Domain) -> None:
    found = dict(programs(domain, 5))
    for way in WAYS[domain]:
        assert parse_program(found[way], domain, "body").hash == shipped(way, domain)


@pytest.mark.parametrize("domain", DOMAINS)
def test_all_are_valid_different_and_within_the_draws(domain: Domain) -> None:
    most = Config().workflow.max_worst_case_calls
    names = [name for name, _ in programs(domain, 5)]
    parsed = [
        parse_program(text, domain, "body", max_calls=most) for _, text in programs(domain, 5)
    ]
    assert len(set(names)) == len(names)
    assert all(program.strictly_valid for program in parsed)
    assert len({program.hash for program in parsed}) == len(parsed)
    fewer = dict(programs(domain, 3))
    assert set(fewer) < set(names)


def test_a_folder_is_written_once_and_nothing_in_it_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "programs"
    monkeypatch.setattr("sys.argv", ["agreement_programs.py", str(out), "--most", "3"])
    main()
    texts = dict(programs("qa", 3))
    assert {p.stem: p.read_text("utf-8") for p in (out / "qa").glob("*.py")} == texts
    with pytest.raises(OutputError, match="there already; name another folder"):
        main()

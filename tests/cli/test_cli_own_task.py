"""init: rows of one's own become a split and one file, which every verb then finds."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml
from called_verbs import ADDRESS, Verbs, began, rows, written

from documented import ROOT
from endpoint_modes import sound
from fault_endpoint import FaultEndpoint, in_a_thread
from llm_as_judge.assembly.preflight import PROGRAM
from llm_as_judge.cli import main
from llm_as_judge.cli.own_file import (
    HOSTED_TOKENS,
    LOCAL_TOKENS,
    OwnTask,
    own_file_text,
    unedited_task,
)
from llm_as_judge.config import Endpoint, load_config, load_endpoints
from llm_as_judge.data.files import read_problems
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.workflow.program import parse_program

FILE = Path("llm-as-judge.yaml")


@contextmanager
def serving(*models: str, mode: str = "ok") -> Iterator[str]:
    """URL of a server that lists ``models`` and meets each request in one way."""
    listed = sound({"data": [{"id": name} for name in models]})
    with in_a_thread(FaultEndpoint(0.0, mode_of=lambda _: mode, listing=listed)) as server:
        yield server.url


def test_the_file_is_found_by_every_verb_and_lies_over_the_shipped_profile(verb: Verbs) -> None:
    rows(math=12, qa=12)
    began(verb, "--model", "Qwen/Qwen2.5-7B-Instruct")
    config, shipped = load_config(), load_config("embedded")
    assert config.policy.name == "qwen25-7b"
    assert config.executor.model == "some/model:7b"
    assert load_endpoints()["some/model:7b"].base_url == "http://127.0.0.1:9/v1"
    assert (config.data.sets, config.evaluation.sets) == ((), ("mine_math", "mine_qa"))
    assert config.evaluation.limit_per_set is None
    small = shipped.executor
    assert (small.max_tokens, config.executor.max_tokens) == (160, HOSTED_TOKENS)
    assert (
        config.training.loss_type
        == shipped.training.loss_type
        != load_config("training").training.loss_type
    )
    alone = ("--set", "executor.model=scripted", "--set", "judge.kind=rules")
    out, err = verb.done("evaluate", "--policy", "direct", *alone)
    assert "configuration: llm-as-judge.yaml of this folder" in err
    assert "mine_math" in out
    assert "mine_qa" in out


@pytest.mark.usefixtures("mine")
def test_a_configuration_that_is_named_wins_over_the_file(verb: Verbs) -> None:
    written("other.yaml", "profile: embedded\nexecutor: {model: scripted}\n")
    assert load_config("other.yaml").executor.model == "scripted"
    assert load_config("embedded").executor.model == "qwen25-coder-0.5b"
    address = load_config("embedded", flags={"executor.model": "openai:m@http://h/v1"})
    assert load_endpoints()[address.executor.model].model_name == "m"
    _, err = verb.done("models", "list", "--config", "other.yaml")
    assert "llm-as-judge.yaml" not in err
    code, out, err = verb("models", "list", "--json")
    assert (code, "llm-as-judge.yaml" in err) == (0, True)
    json.loads(out)  # nothing else is on standard output


@pytest.mark.usefixtures("mine")
def test_endpoints_in_a_second_configuration_are_said_to_stand_in_the_file(verb: Verbs) -> None:
    copy = FILE.read_text()
    written("second.yaml", copy)
    line = verb.refused("models", "list", "--config", "second.yaml")
    assert "second.yaml: endpoints: found here, wanted in llm-as-judge.yaml" in line
    written("second.yaml", copy[: copy.index("endpoints:")])
    assert verb("models", "list", "--config", "second.yaml")[0] == 0
    assert load_endpoints()["some/model:7b"].base_url == "http://127.0.0.1:9/v1"


def test_the_key_is_never_written_and_is_read_when_it_is_asked_for(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    rows()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody-else")
    began(verb)
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(b"sk-of-nobody-else" in text for text in texts)
    assert "${OPENAI_API_KEY:-}" in FILE.read_text()
    assert load_endpoints()["some/model:7b"].api_key.get_secret_value() == "sk-of-nobody-else"


def test_the_file_is_yaml_whatever_the_names_hold(verb: Verbs) -> None:
    Path(rows()).rename('a "b": #c.jsonl')
    out, _ = verb.done("init", 'a "b": #c.jsonl', "--executor", "scripted", "--data-dir", "d: e")
    assert "llm-as-judge headroom 'a \"b\": #c.jsonl'" in out
    config = load_config()
    assert config.evaluation.sets == ('a "b": #c',)
    assert config.data.train_file == Path("d: e/mixed/train_mixed.jsonl")
    assert "endpoints" not in yaml.safe_load(FILE.read_text())


@pytest.mark.slow
def test_errors_name_the_file_and_the_place_to_write(verb: Verbs) -> None:
    asked = ("evaluate", "--policy", "direct", "--executor", "gone")
    rows()
    verb("data", "process", "--custom", "mine.jsonl", "--set", "data.sets=[]")
    here = ("--set", "evaluation.sets=[mine]")
    line = verb.refused(*asked, *here)
    assert "; write config/aflow_llm.yaml: models.gone, or name openai:" in line
    began(verb)
    assert "; write llm-as-judge.yaml: endpoints.gone, or name openai:" in verb.refused(*asked)
    unreachable = verb.refused("evaluate", "--policy", "direct")
    assert "correct base_url (its entry: llm-as-judge.yaml: endpoints.some/model:7b)" in unreachable
    FILE.write_text("profile: embedded\ndata: {data_dir: none, train_file: none.jsonl}\n")
    shipped = ("evaluate", "--policy", "direct", "--set", "evaluation.sets=[gsm8k]")
    for words in (("train",), shipped, ("headroom", "none.jsonl")):
        assert "llm-as-judge init FILE" in verb.refused(*words)
    FILE.unlink()
    no_rows = verb.refused("init", "none.jsonl", "--executor", ADDRESS)
    assert 'none.jsonl: no such file; write one row a line into it: {"problem"' in no_rows


# ------------------------------------------------------------------------------------ what it costs
def test_a_dry_run_says_calls_tokens_and_dollars_before_any_model_is_there(
    verb: Verbs, folder: Path
) -> None:
    rows()
    began(verb, "--model", "Qwen/Qwen3-4B")  # nobody has these weights, or serves the executor
    FILE.write_text(FILE.read_text().replace("# usd_per", "usd_per"))
    code, out, err = verb("train", "--steps", "10", "--dry-run", "--set", "budget.calls=1")
    assert code == 2
    assert re.search(r"policy.name: Qwen(--|/)Qwen3-4B cannot be had", err)
    lines = out.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("estimate"))
    estimate, calls, _, cost, warning = lines[begin : begin + 5]
    assert estimate.startswith("estimate: 10 steps, 120 programs (")
    assert calls.startswith("  calls   about 240 of the executor, at most ")
    assert re.search(r", \$[\d.]+ \(written tokens at most \$[\d.]+\)$", cost)
    assert re.search(r"^policy    Qwen--Qwen3-4B: cannot be had from here \(", out, re.MULTILINE)
    assert re.search(r"^  correctness x 0.65 +\+10.00 +-5.00 +-5.00$", out, re.MULTILINE)
    assert warning.startswith("budget.calls = 1 will probably not suffice")
    assert not [*folder.glob("logs/*"), *folder.glob("checkpoints/*")]


def test_a_dry_run_says_what_memory_weights_and_adapter_take(
    verb: Verbs, tiny_weights: Path
) -> None:
    rows()
    began(verb, "--model", str(tiny_weights))
    out, _ = verb.done("train", "--dry-run")
    assert re.search(r"^policy    \S+: on this machine, ", out, re.MULTILINE)
    memory = r"^memory    weights [\d.]+ GB in bfloat16, .* adapter of rank 16 "
    assert re.search(memory, out, re.MULTILINE)


@pytest.mark.usefixtures("mine")
def test_a_dry_run_says_what_the_warm_start_will_teach_and_refuses_what_is_no_bank(
    verb: Verbs, folder: Path
) -> None:
    (first, *_) = read_problems(Path("data/mixed/train_mixed.jsonl"))
    found = parse_program(PROGRAM, first.domain, "body")
    program = BankProgram(first.domain, found.hash, "one", "given", found.runnable)
    with Bank.writing(Path("bank"), {}) as bank:
        bank.add_program(program)
        bank.add_problem(first)
        bank.add(RunRecord(program.key, first.id, 0, 1.0, 50.0, 9, 1, "ok"))
    dry = ("train", "--dry-run", "--set")
    out, _ = verb.done(*dry, "training.warm_start=bank")
    said = "1 of the bank's 1 training problems teach 1 program (math 1 of 1): 1 update"
    assert f"warm start: {said}" in out.splitlines()
    assert not list(folder.glob("logs/*"))
    line = verb.refused(*dry, "training.warm_start=results/headrom/bank")
    assert "is no bank (no runs.jsonl); fill one: " in line


def test_the_page_of_answers_says_what_the_dry_run_says(verb: Verbs) -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    Path("mine.jsonl").write_text((ROOT / "examples" / "own_task.jsonl").read_text("utf-8"))
    began(verb, "--config", "training")
    text = FILE.read_text().replace("# usd_per", "usd_per")
    FILE.write_text(text.replace(": 0.10 ", ": 0.15 ").replace(": 0.50 ", ": 0.60 "))
    _, out, _ = verb("train", "--steps", "300", "--dry-run")
    found = re.search(r"([\d,]+) read, about ([\d,]+) written;(?s:.*), \$([\d.]+) ", out)
    assert found is not None, out
    prompt, completion = (int(found[n].replace(",", "")) / 1e6 for n in (1, 2))
    said = " ".join(page.split())
    assert (
        f"about {prompt:.1f} million prompt tokens, {completion:.1f} million written tokens and "
        f"{float(found[3]):.1f} dollars"
    ) in said
    assert "38,400 programs (" in out
    assert "about 153,600 of the executor" in out
    assert "| its 300 steps | 38,400 | 153,600 |" in page


def test_init_names_what_gives_before_and_after_and_says_nothing_of_texts_or_progress(
    mine: str,
) -> None:
    assert "answers  mine: 12 number" in mine
    assert not [word for word in ("short texts", "no judge is on", "\u2501") if word in mine]
    told = [line.split("llm-as-judge ")[1] for line in mine.splitlines() if "  next " in line]
    after = told.index("train --steps 60 --set training.warm_start=results/headroom/bank")
    assert told.index("headroom mine.jsonl") < after, "which fills the bank"
    assert told.index("evaluate --untrained") < after < told.index("evaluate")
    assert told[-1] == "compare results/evaluation/*_results.json"


@pytest.mark.slow
@pytest.mark.usefixtures("mine")
def test_a_dry_run_of_an_evaluation_asks_nobody_and_leaves_no_results(
    verb: Verbs, folder: Path
) -> None:
    # what a random program asks is not known before it is drawn
    for policy, calls in (("direct", 2), ("vote_of_5", 10), ("random", 4)):
        _, err = verb.done("evaluate", "--policy", policy, "--dry-run")
        assert f"about {calls} of the executor" in err
        assert "the judge's model" not in err
    judged = ("--set", "judge.model=some/model:7b")
    _, _, err = verb("evaluate", "--policy", "direct", "--dry-run", *judged)
    assert "at most 4 of the judge's model" in err
    assert not list(folder.glob("results/**/*_results.json"))
    assert "leave one" in verb.refused("evaluate", "--policy", "direct", "--dry-run", "--fresh")


# ------------------------------------------------------------------------------------- the executor
@pytest.mark.parametrize(
    ("model", "mode", "said"),
    [
        ("c", "ok", "model 'c' is not served (served: a, b); correct model_name"),
        ("a", "401", "HTTP 401: Incorrect API key provided; set OPENAI_API_KEY (1 try)"),
        ("a", "insufficient_quota", "add credit or take another key"),
        ("a", "500", "HTTP 500"),
        ("a", "html", "response is no JSON"),
        ("a", "ok", ""),
    ],
)
def test_init_asks_the_endpoint_for_a_reply_of_the_model_and_warns_where_there_is_none(
    verb: Verbs, model: str, mode: str, said: str
) -> None:
    rows()
    with serving("a", "b", mode=mode) as url:
        told = began(verb, executor=f"openai:{model}@{url}")
    assert ("it serves the model and gave a reply" in told) == (not said)
    warning = told.splitlines()[-1]
    assert not said or warning.startswith(f"warning: executor {model} at ")
    assert said in warning
    assert (f"(its entry: llm-as-judge.yaml: endpoints.{model})" in warning) == bool(said)
    assert FILE.exists(), "the server may be started with that model later"


def test_a_dead_endpoint_is_the_last_line_and_names_file_and_key() -> None:
    both = io.StringIO()  # as a terminal shows them
    with redirect_stdout(both), redirect_stderr(both), pytest.raises(SystemExit, match="0"):
        main(["init", rows(), "--executor", ADDRESS])
    *_, next_, last = both.getvalue().splitlines()
    assert next_.startswith("  next   ")
    assert "correct base_url (its entry: llm-as-judge.yaml: endpoints.some/model:7b)" in last
    assert "run init again" in last


@pytest.mark.slow
def test_a_bare_url_is_asked_for_its_only_model_and_several_want_a_name(verb: Verbs) -> None:
    file = rows()
    for served in ((), ("a", "b")):
        with serving(*served) as url:
            line = verb.refused("init", file, "--executor", url)
        assert ", ".join(served) in line
        assert "--executor openai:MODEL@http://HOST:PORT/v1" in line
    assert not FILE.exists()
    with serving("the-one") as url:
        began(verb, executor=url)
    assert load_endpoints()["the-one"].base_url == url


@pytest.mark.parametrize(
    "given",
    [
        "",
        "openai:m",
        "openai:m@host/v1",
        "openai:m@http://u:secret@h/v1",
        "openai:m@http://h/v1?k=secret",
    ],
)
def test_none_and_another_form_are_refused_with_an_example_and_no_password_repeated(
    verb: Verbs, given: str
) -> None:
    named = ("--executor", given) if given else ()
    line = verb.refused("init", rows(), *named)
    assert "openai:MODEL@http://HOST:PORT/v1" in line
    assert "secret" not in line


def test_without_an_executor_a_missing_file_is_told_first(verb: Verbs) -> None:
    assert "none.jsonl: no such file; write one row a line" in verb.refused("init", "none.jsonl")
    assert "--executor: wanted the model" in verb.refused("init", "some-org/rows")
    assert "--executor: wanted the model" in verb.refused("init", rows())


# ------------------------------------------------------------------------------------ what it checks
@pytest.mark.usefixtures("mine")
def test_init_runs_again_over_its_own_file_with_another_executor(verb: Verbs) -> None:
    began(verb, executor="openai:other@http://127.0.0.1:9/v1")
    assert load_config().executor.model == "other"
    assert "some/model:7b" not in FILE.read_text()
    began(verb, executor="other")  # whose entry stands in the file alone
    assert load_endpoints()["other"].base_url == "http://127.0.0.1:9/v1"
    began(verb, "--data-dir", "there", executor="scripted")
    assert load_config().executor.model == "scripted"
    assert load_config().executor.max_tokens == LOCAL_TOKENS


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(b"max_tokens: 2048", b"max_tokens: 512"),
        lambda text: text.replace(b"# usd_per", b"usd_per"),
        lambda text: text + b"\n",
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: b"# mine\n" + text,
        lambda text: text.replace(b'"mine"', b"mine"),
        lambda text: text.replace(b'"some/model:7b":', b'"some/model:7b": &x'),
        lambda text: b"[" + text,
        lambda text: b"\xff" + text,
        lambda text: b"",
        lambda text: b"profile: embedded\n",
    ],
    ids=lambda edit: None,
)
@pytest.mark.usefixtures("mine")
def test_an_edited_file_is_kept_byte_for_byte(verb: Verbs, edit: Callable[[bytes], bytes]) -> None:
    edited = edit(FILE.read_bytes())
    assert edited != FILE.read_bytes()
    FILE.write_bytes(edited)
    assert "move it away" in verb.refused("init", "mine.jsonl", "--executor", ADDRESS)
    assert FILE.read_bytes() == edited


@pytest.mark.parametrize(
    "name", ["mine.jsonl", 'a "b": #c.jsonl', "a\nb.jsonl", "x. Every command y"]
)
def test_what_init_writes_is_read_back_as_it_was_told_or_not_at_all(name: str) -> None:
    endpoint = Endpoint(base_url="http://h/v1", model_name="m")
    for task in (
        OwnTask(Path(name), "embedded", ["a", "b: c"], "m", "p/q", endpoint, Path("d: e")),
        OwnTask(
            Path(name), "embedded", ["a"], "m", "q", answers=[('"b\\: ä', "1 set"), ("c", "2")]
        ),
        OwnTask(Path(name), "training", ["a"], "scripted", "q"),
    ):
        text = own_file_text(task)
        found = unedited_task(text)
        assert found is None or own_file_text(found) == text
        assert found is not None or "Every" in name


def said_of(verb: Verbs, *given: Mapping[str, object]) -> str:
    """What init says of these rows."""
    written("mine.jsonl", "".join(json.dumps(row) + "\n" for row in given))
    return began(verb)


def test_init_says_and_writes_what_the_answers_are_read_as(verb: Verbs) -> None:
    late = "The truck broke down on the way to the northern warehouse."
    math = [(f"{n} boxes of {n * n} euros?", f"{n**3} EUR") for n in range(11)]
    qa = [(f"Who keeps key {n * n}?", "Ada Moss") for n in range(8)]
    qa += [(f"Why was delivery {n} late by {n * 7} days?", late) for n in range(4)]
    said = said_of(
        verb,
        *({"problem": text, "answer": answer, "type": "math"} for text, answer in math),
        {"problem": "How many boxes are there?", "answer": 12, "type": "math"},
        *({"problem": text, "answer": answer, "type": "qa"} for text, answer in qa),
    )
    assert "answers  mine_math: 11 money, 1 number" in said
    assert "answers  mine_qa: 8 short_text, 4 long_text" in said
    assert (
        "short texts: the answer alone, or in the question's words, is right; in other words it stays open"
        in said
    )
    assert "long texts: the same text is right; any other text stays open" in said
    assert "no judge is on (judge.kind: rules)" in said
    assert "the shipped judge reads them with judge: {kind: scoring, model: none} in" in said
    assert '"mine_math": {}  # read as 11 money, 1 number\n' in FILE.read_text("utf-8")
    assert set(load_config().data.answers) == {"mine_math", "mine_qa"}
    began(verb)  # over its own file


def test_a_unit_that_nothing_knows_is_said_and_taken(verb: Verbs) -> None:
    units = ["frobs", *["km/h"] * 11]
    said = said_of(
        verb,
        *(
            {"problem": f"{n}?", "answer": n, "type": "math", "unit": u}
            for n, u in enumerate(units)
        ),
    )
    assert "mine: unit 'frobs' of 1 row is not known" in said
    assert "km/h" not in said

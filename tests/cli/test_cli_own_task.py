"""init: rows of one's own become a split and one file, which every verb then finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from called_verbs import Verbs, written
from own_task import ADDRESS, began, rows

from documented import ROOT
from llm_as_judge.assembly.preflight import PROGRAM
from llm_as_judge.cli.own_file import HOSTED_TOKENS, OwnTask, own_file_text, unedited_task
from llm_as_judge.config import Endpoint, load_config, load_endpoints
from llm_as_judge.data.files import read_problems
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem
from llm_as_judge.workflow.program import parse_program


@contextmanager
def serving(*models: str, reply: tuple[int, str] | None = None) -> Iterator[str]:
    """URL of a server that lists ``models`` and answers each request alike.

    Args:
        reply: status and body; default: a sound reply.
    """
    sound = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    status, said = reply or (200, json.dumps(sound))
    body = json.dumps({"data": [{"id": name} for name in models]}).encode()

    class Lists(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Lists)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
    code, out, err = verb("evaluate", "--policy", "direct", *alone)
    assert code == 0, err
    assert "configuration: llm-as-judge.yaml of this folder" in err
    assert "mine_math" in out
    assert "mine_qa" in out


def test_a_configuration_that_is_named_wins_over_the_file(verb: Verbs) -> None:
    rows()
    began(verb)
    written("other.yaml", "profile: embedded\nexecutor: {model: scripted}\n")
    assert load_config("other.yaml").executor.model == "scripted"
    assert load_config("embedded").executor.model == "qwen25-coder-0.5b"
    code, _, err = verb("models", "list", "--config", "other.yaml")
    assert code == 0, err
    assert "llm-as-judge.yaml" not in err


def test_endpoints_in_a_second_configuration_are_said_to_stand_in_the_file(verb: Verbs) -> None:
    rows()
    began(verb)
    copy = Path("llm-as-judge.yaml").read_text()
    written("second.yaml", copy)
    line = verb.refused("models", "list", "--config", "second.yaml")
    assert "second.yaml: endpoints: found here, wanted in llm-as-judge.yaml" in line
    written("second.yaml", copy[: copy.index("endpoints:")])
    assert verb("models", "list", "--config", "second.yaml")[0] == 0
    assert load_endpoints()["some/model:7b"].base_url == "http://127.0.0.1:9/v1"


def test_standard_output_stays_json_where_the_file_is_named(verb: Verbs) -> None:
    rows()
    began(verb)
    code, out, _ = verb("models", "list", "--json")
    assert code == 0
    json.loads(out)


def test_the_key_is_never_written_and_is_read_when_it_is_asked_for(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    rows()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody-else")
    began(verb)
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(b"sk-of-nobody-else" in text for text in texts)
    assert "${OPENAI_API_KEY:-}" in Path("llm-as-judge.yaml").read_text()
    assert load_endpoints()["some/model:7b"].api_key.get_secret_value() == "sk-of-nobody-else"


def test_the_file_is_yaml_whatever_the_names_hold(verb: Verbs) -> None:
    Path(rows()).rename('a "b": #c.jsonl')
    code, out, err = verb("init", 'a "b": #c.jsonl', "--executor", "scripted", "--data-dir", "d: e")
    assert code == 0, err
    assert "llm-as-judge headroom 'a \"b\": #c.jsonl'" in out
    config = load_config()
    assert config.evaluation.sets == ('a "b": #c',)
    assert config.data.train_file == Path("d: e/mixed/train_mixed.jsonl")
    assert "endpoints" not in yaml.safe_load(Path("llm-as-judge.yaml").read_text())


@pytest.mark.slow
def test_errors_name_the_file_and_the_place_to_write(verb: Verbs) -> None:
    asked = ("evaluate", "--policy", "direct", "--executor", "gone")
    rows()
    verb("data", "process", "--custom", "mine.jsonl", "--set", "data.sets=[]")
    here = ("--set", "evaluation.sets=[mine]")
    assert "; write config/aflow_llm.yaml: models.gone, or name openai:" in verb.refused(
        *asked, *here
    )
    began(verb)
    assert "; write llm-as-judge.yaml: endpoints.gone, or name openai:" in verb.refused(*asked)
    unreachable = verb.refused("evaluate", "--policy", "direct")
    assert "correct base_url (its entry: llm-as-judge.yaml: endpoints.some/model:7b)" in unreachable
    written(
        "llm-as-judge.yaml", "profile: embedded\ndata: {data_dir: none, train_file: none.jsonl}\n"
    )
    assert "llm-as-judge init FILE" in verb.refused("train")
    shipped = ("--policy", "direct", "--set", "evaluation.sets=[gsm8k]")
    assert "llm-as-judge init FILE" in verb.refused("evaluate", *shipped)
    assert "llm-as-judge init FILE" in verb.refused("headroom", "none.jsonl")
    Path("llm-as-judge.yaml").unlink()
    no_rows = verb.refused("init", "none.jsonl", "--executor", ADDRESS)
    assert 'none.jsonl: no such file; write one row a line into it: {"problem"' in no_rows


# ------------------------------------------------------------------------------------ what it costs
def test_a_dry_run_says_calls_tokens_and_dollars_before_any_model_is_there(
    verb: Verbs, folder: Path
) -> None:
    rows()
    began(
        verb, "--model", "Qwen/Qwen3-4B"
    )  # nobody has these weights, and nobody serves the executor
    priced = Path("llm-as-judge.yaml").read_text().replace("# usd_per", "usd_per")
    written("llm-as-judge.yaml", priced)
    code, out, err = verb("train", "--steps", "10", "--dry-run", "--set", "budget.calls=1")
    assert code == 2
    assert (
        "policy.name: Qwen--Qwen3-4B cannot be had from here (" in err
        or "Qwen/Qwen3-4B cannot be had" in err
    )
    lines = out.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("estimate"))
    estimate, calls, _, cost, warning = lines[begin : begin + 5]
    assert estimate.startswith("estimate: 10 steps, 120 programs (")
    assert calls.startswith("  calls   about 240 of the executor, at most ")
    assert re.search(r", [\d.]+ dollars \(written tokens at most [\d.]+\)$", cost)
    assert re.search(r"^policy    Qwen--Qwen3-4B: cannot be had from here \(", out, re.MULTILINE)
    assert re.search(r"^  correctness x 0.65 +\+10.00 +-5.00 +-5.00$", out, re.MULTILINE)
    assert warning.startswith("budget.calls = 1 will probably not suffice")
    assert not list(folder.glob("logs/*"))
    assert not list(folder.glob("checkpoints/*"))


def test_a_dry_run_says_what_memory_weights_and_adapter_take(
    verb: Verbs, tiny_weights: Path
) -> None:
    rows()
    began(verb, "--model", str(tiny_weights))
    code, out, err = verb("train", "--dry-run")
    assert code == 0, err
    assert re.search(r"^policy    \S+: on this machine, ", out, re.MULTILINE)
    assert re.search(
        r"^memory    weights [\d.]+ GB in bfloat16, .* adapter of rank 16 ", out, re.MULTILINE
    )


def test_a_dry_run_refuses_a_folder_that_is_no_bank_and_says_how_to_fill_one(verb: Verbs) -> None:
    rows()
    began(verb)
    key = "training.warm_start"
    line = verb.refused("train", "--dry-run", "--set", f"{key}=results/headrom/bank")
    assert f"{key}: results/headrom/bank is no bank (no runs.jsonl); fill one: " in line
    assert "headroom FILE" in line


def test_a_dry_run_refuses_a_bank_of_other_problems(verb: Verbs) -> None:
    rows()
    began(verb)
    bank_of("bank", Problem("other/1", "other", "math", "1?", ("1",)), right=1.0)
    line = verb.refused("train", "--dry-run", "--set", "training.warm_start=bank")
    assert "none of its 1 problems is one of the " in line
    assert "llm-as-judge headroom FILE" in line


def test_a_dry_run_says_what_the_warm_start_will_teach(verb: Verbs, folder: Path) -> None:
    rows()
    began(verb)
    (first, *_) = read_problems(Path("data/mixed/train_mixed.jsonl"))
    bank_of("bank", first, right=1.0)
    code, out, err = verb("train", "--dry-run", "--set", "training.warm_start=bank")
    assert code == 0, err
    said = "1 of the bank's 1 training problems teach 1 program (math 1 of 1): 1 update"
    assert f"warm start: {said}" in out.splitlines()
    assert not list(folder.glob("logs/*"))


def bank_of(folder: str, problem: Problem, right: float) -> None:
    """A bank of one run of a program."""
    found = parse_program(PROGRAM, problem.domain, "body")
    with Bank.writing(Path(folder), {}) as bank:
        program = BankProgram(problem.domain, found.hash, "one", "given", found.runnable)
        bank.add_program(program)
        bank.add_problem(problem)
        bank.add(RunRecord(program.key, problem.id, 0, right, 50.0, 9, 1, "ok"))


def test_the_page_of_answers_says_what_the_dry_run_says(verb: Verbs) -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    Path("mine.jsonl").write_text((ROOT / "examples" / "own_task.jsonl").read_text("utf-8"))
    began(verb, "--config", "training")
    text = Path("llm-as-judge.yaml").read_text().replace("# usd_per", "usd_per")
    written("llm-as-judge.yaml", text.replace(": 0.10 ", ": 0.15 ").replace(": 0.50 ", ": 0.60 "))
    _, out, _ = verb("train", "--steps", "300", "--dry-run")
    found = re.search(r"([\d,]+) read, about ([\d,]+) written;(?s:.*), ([\d.]+) dollars", out)
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


def test_init_names_what_gives_before_and_after(verb: Verbs) -> None:
    rows()
    told = [
        line.split("llm-as-judge ")[1] for line in began(verb).splitlines() if "  next " in line
    ]
    after = told.index("train --steps 60 --set training.warm_start=results/headroom/bank")
    assert told.index("headroom mine.jsonl") < after, "which fills the bank"
    assert told.index("evaluate --untrained") < after < told.index("evaluate")
    assert told[-1] == "compare results/evaluation/*_results.json"


def test_a_pipe_gets_no_progress_bar(verb: Verbs) -> None:
    rows()
    assert "\u2501" not in began(verb)
    assert "starting" not in verb("init", "none.jsonl", "--executor", ADDRESS)[2]


@pytest.mark.slow
def test_a_dry_run_of_an_evaluation_asks_nobody_and_leaves_no_results(
    verb: Verbs, folder: Path
) -> None:
    rows()
    began(verb)
    code, _, err = verb("evaluate", "--policy", "direct", "--dry-run")
    assert code == 0, err
    assert "about 2 of the executor" in err
    _, _, err = verb("evaluate", "--policy", "vote_of_5", "--dry-run")
    assert "about 10 of the executor" in err
    _, _, err = verb("evaluate", "--policy", "random", "--dry-run")  # not known before it is drawn
    assert "about 4 of the executor" in err
    assert "the judge's model" not in err
    judged = ("--set", "judge.model=some/model:7b")
    _, _, err = verb("evaluate", "--policy", "direct", "--dry-run", *judged)
    assert "at most 4 of the judge's model" in err
    assert not list(folder.glob("results/**/*_results.json"))
    assert "leave one" in verb.refused("evaluate", "--policy", "direct", "--dry-run", "--fresh")


# ------------------------------------------------------------------------------------- the executor
def test_a_bare_url_is_asked_for_its_only_model(verb: Verbs) -> None:
    rows()
    with serving("the-one") as url:
        began(verb, executor=url)
    assert load_endpoints()["the-one"].base_url == url


def test_init_asks_the_endpoint_whether_it_serves_the_model(verb: Verbs) -> None:
    rows()
    with serving("a", "b") as url:
        assert "it serves the model and gave a reply" in began(verb, executor=f"openai:b@{url}")
        told = began(verb, executor=f"openai:c@{url}")
    assert "serves the model" not in told
    warning = told.splitlines()[-1]
    assert warning.startswith("warning: executor c at ")
    assert "model 'c' is not served (served: a, b); correct model_name" in warning
    assert "(its entry: llm-as-judge.yaml: endpoints.c)" in warning
    assert Path("llm-as-judge.yaml").exists(), "the server may be started with that model later"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            (401, '{"error": {"message": "bad key"}}'),
            "http_401: HTTP 401: bad key; set OPENAI_API_KEY (1 try)",
        ),
        ((429, '{"error": {"code": "insufficient_quota"}}'), ": quota: "),
        ((500, "{}"), "http_500"),
        ((200, "<html>Sign in</html>"), "bad_json"),
    ],
    ids=["key", "quota", "500", "page"],
)
def test_init_warns_of_an_endpoint_that_lists_its_models_and_gives_no_reply(
    verb: Verbs, reply: tuple[int, str], said: str
) -> None:
    rows()
    with serving("a", reply=reply) as url:
        told = began(verb, executor=f"openai:a@{url}")
    assert "gave a reply" not in told
    warning = told.splitlines()[-1]
    assert said in warning
    assert "(its entry: llm-as-judge.yaml: endpoints.a)" in warning


def test_a_dead_endpoint_is_the_last_line_and_names_file_and_key(verb: Verbs) -> None:
    rows()
    shown = subprocess.run(
        [sys.executable, "-m", "llm_as_judge", "init", "mine.jsonl", "--executor", ADDRESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    ).stdout
    *_, next_, last = shown.splitlines()
    assert next_.startswith("  next   ")
    assert "correct base_url (its entry: llm-as-judge.yaml: endpoints.some/model:7b)" in last
    assert "run init again" in last


@pytest.mark.slow
@pytest.mark.parametrize("served", [(), ("a", "b")])
def test_a_bare_url_with_another_number_of_models_wants_a_name(
    verb: Verbs, served: Sequence[str]
) -> None:
    rows()
    with serving(*served) as url:
        line = verb.refused("init", "mine.jsonl", "--executor", url)
    assert ", ".join(served) in line
    assert "--executor openai:MODEL@http://HOST:PORT/v1" in line
    assert not Path("llm-as-judge.yaml").exists()


@pytest.mark.parametrize(
    "given",
    [
        "openai:m",
        "openai:m@host/v1",
        "openai:m@http://u:secret@h/v1",
        "openai:m@http://h/v1?k=secret",
    ],
)
def test_another_form_is_refused_and_no_password_repeated(verb: Verbs, given: str) -> None:
    rows()
    line = verb.refused("init", "mine.jsonl", "--executor", given)
    assert "openai:MODEL@http://HOST:PORT/v1" in line
    assert "secret" not in line


def test_an_address_is_an_executor_of_any_configuration() -> None:
    config = load_config("embedded", flags={"executor.model": ADDRESS})
    endpoint = load_endpoints()[config.executor.model]
    assert (endpoint.model_name, endpoint.base_url) == ("some/model:7b", "http://127.0.0.1:9/v1")
    assert ADDRESS not in list(load_endpoints())


# ------------------------------------------------------------------------------------ what it checks
def test_a_file_that_is_there_is_kept(verb: Verbs) -> None:
    rows()
    written("llm-as-judge.yaml", "profile: embedded\n")
    line = verb.refused("init", "mine.jsonl", "--executor", ADDRESS)
    assert "move it away" in line
    assert Path("llm-as-judge.yaml").read_text() == "profile: embedded\n"


def test_init_runs_again_over_its_own_file_with_another_executor(verb: Verbs) -> None:
    rows()
    began(verb)
    began(verb, executor="openai:other@http://127.0.0.1:9/v1")
    assert load_config().executor.model == "other"
    assert "some/model:7b" not in Path("llm-as-judge.yaml").read_text()
    began(verb, executor="other")  # whose entry stands in the file alone
    assert load_endpoints()["other"].base_url == "http://127.0.0.1:9/v1"
    began(verb, "--data-dir", "there", executor="scripted")
    assert load_config().executor.model == "scripted"


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
    ],
    ids=lambda edit: None,
)
def test_an_edited_file_is_kept_byte_for_byte(verb: Verbs, edit: Callable[[bytes], bytes]) -> None:
    rows()
    began(verb)
    path = Path("llm-as-judge.yaml")
    edited = edit(path.read_bytes())
    assert edited != path.read_bytes()
    path.write_bytes(edited)
    line = verb.refused("init", "mine.jsonl", "--executor", ADDRESS)
    assert "move it away" in line
    assert path.read_bytes() == edited


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


def test_init_says_and_writes_what_the_answers_are_read_as(verb: Verbs) -> None:
    lines: list[dict[str, object]] = [
        {"problem": f"{n} boxes of {n * n} euros?", "answer": f"{n**3} EUR", "type": "math"}
        for n in range(11)
    ]
    lines += [{"problem": "How many boxes are there?", "answer": 12, "type": "math"}]
    lines += [
        {"problem": f"Who keeps key {n * n}?", "answer": "Ada Moss", "type": "qa"} for n in range(8)
    ]
    lines += [
        {
            "problem": f"Why was delivery {n} late by {n * 7} days?",
            "answer": "The truck broke down on the way to the northern warehouse.",
            "type": "qa",
        }
        for n in range(4)
    ]
    written("mine.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    said = began(verb)
    assert "answers  mine_math: 11 money, 1 number" in said
    assert "answers  mine_qa: 8 short_text, 4 long_text" in said
    assert "short texts: rules know no synonyms" in said
    assert "long texts: rules do not read them" in said
    text = Path("llm-as-judge.yaml").read_text("utf-8")
    assert '"mine_math": {}  # read as 11 money, 1 number\n' in text
    assert set(load_config().data.answers) == {"mine_math", "mine_qa"}
    began(verb)  # over its own file


def test_numbers_alone_need_no_line_on_texts(verb: Verbs) -> None:
    rows()
    said = began(verb)
    assert "answers  mine: 12 number" in said
    assert "short texts" not in said
    assert "a judge reads" not in said


def test_a_unit_that_nothing_knows_is_said_and_taken(verb: Verbs) -> None:
    lines = [
        {"problem": f"{n}?", "answer": n, "type": "math", "unit": "km/h" if n else "frobs"}
        for n in range(12)
    ]
    written("mine.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    said = began(verb)
    assert "mine: unit 'frobs' of 1 row is not known" in said
    assert "km/h" not in said

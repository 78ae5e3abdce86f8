"""judge train, judge calibrate: a folder of a judge, and files that are refused in one line."""

import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from called_verbs import Verbs

from labeled_rows import rows
from llm_as_judge.judge.judge_file import judge_sha256, read_judge_file
from llm_as_judge.judge.parts import HOLDING
from llm_as_judge.policy.adapter import read_spec
from llm_as_judge.training.judge.rows import read_training_rows


@pytest.mark.slow
def test_rows_make_a_judge_that_is_calibrated_anew_on_other_rows(
    verb: Verbs, folder: Path, tiny_weights: Path
) -> None:
    learned = rows(folder / "rows.jsonl", 0, 25)
    train = (
        *("judge", "train", "--labeled", str(learned), "--out", "mine", "--limit", "40"),
        *("--rank", "2", "--device", "cpu", "--model", str(tiny_weights)),
    )
    out, err = verb.done(*train)
    assert "\nnext    " in out
    assert " steps, 0 done" in err
    made = read_judge_file(folder / "mine")
    assert made.precision == 0.97
    assert {"qa", "qa" + HOLDING} <= set(made.thresholds)
    names = {path.name for path in (folder / "mine").iterdir()}
    assert {"adapter_model.safetensors", "README.md", "questions.txt", "metrics.jsonl"} <= names
    _, err = verb.done(*train)
    assert "step 1/" not in err, "what was done is not done again"

    others = rows(folder / "others.jsonl", 1000, 25)
    onward = (*train[:3], str(others), "--out", "next", "--limit", "40", "--start")
    shape = ("--device", "cpu", "--model", str(tiny_weights))
    verb.done(*onward, "mine", *shape)
    assert read_judge_file(folder / "next").start == judge_sha256(folder / "mine")
    assert read_spec(folder / "next").rank == 2, "of the judge that it went on from"
    first, both = (
        (folder / name / "questions.txt").read_text().split() for name in ("mine", "next")
    )
    assert set(first) < set(both)
    assert "nothing/judge.json: cannot be read" in verb.refused(*onward, "nothing", *shape)
    assert "a judge with base model" in verb.refused(*onward, "shipped", *shape)

    calibrate = ("judge", "calibrate", "--judge", "mine", "--device", "cpu", "--labeled")
    verb.done(*calibrate, str(others), "--precision", "0.6")
    assert read_judge_file(folder / "mine").precision == 0.6
    assert "the judge has learned from" in verb.refused(*calibrate, str(learned))

    strict = read_judge_file(folder / "mine").thresholds
    again = ("judge", "calibrate", "--judge", "mine", "--precision")
    verb.done(*again, "0.55")
    assert read_judge_file(folder / "mine").precision == 0.55
    verb.done(*again, "0.6")
    assert read_judge_file(folder / "mine").thresholds == strict, "the kept scores choose the same"
    _, out, _ = verb(*again, "0.995")
    assert "it accepts nothing: label more rows" in out, "so few rows cannot promise that"
    (folder / "mine/calibration.jsonl").write_text('{"domain": "qa", "log_odds": "high"}\n')
    assert "mine/calibration.jsonl: not what judge train writes" in verb.refused(*again, "0.6")
    (folder / "mine/calibration.jsonl").unlink()
    assert "name rows with --labeled" in verb.refused(*again, "0.6")
    assert "name them with --labeled" in verb.refused(*again, "0.6", "--model", "openai:m@http://h")


@pytest.mark.slow
def test_examples_are_written_and_counted_without_a_model(verb: Verbs, folder: Path) -> None:
    learned = rows(folder / "rows.jsonl", 0, 30)
    make = ("judge", "train", "--labeled", str(learned), "--out", "mine", "--examples-only")
    out, _ = verb.done(*make, "--limit", "60")
    labeled, bare = read_training_rows([folder / "mine" / "examples.jsonl"])
    assert bare == []
    assert 0 < len(labeled) <= 60
    assert f"{len(labeled)} examples in mine/examples.jsonl" in out
    held_out, _ = read_training_rows([folder / "mine" / "held_out.jsonl"])
    assert not {case.problem.question for case in labeled} & {
        case.problem.question for case in held_out
    }
    counted = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert counted["stated"][1] == "0", "right replies alone"
    assert counted["denied"][0] == "0", "wrong replies alone"


@pytest.mark.parametrize(
    ("n", "labels", "said"),
    [
        (3, (True, False), "6 labeled rows, wanted 40 or more"),
        (60, (True,), "no answer is labeled wrong"),
    ],
)
def test_rows_that_teach_nothing_are_refused_in_one_line(
    verb: Verbs, folder: Path, tiny_weights: Path, n: int, labels: tuple[bool, ...], said: str
) -> None:
    path = str(rows(folder / "rows.jsonl", 0, n, labels))
    place = ("--out", "mine", "--model", str(tiny_weights))
    assert said in verb.refused("judge", "train", "--labeled", path, *place)


# ---------------------------------------------------------------------------- an endpoint's model
class Judging(BaseHTTPRequestHandler):
    """Says yes with .99 where the candidate begins with the reference and ends as people's do, else no."""

    protocol_version = "HTTP/1.1"  # one connection for all
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._say({"data": [{"id": "judge-1"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["messages"][-1]["content"]
        choice: dict[str, Any] = {"message": {"content": "yes"}, "finish_reason": "length"}
        if "Reference:" in text:
            assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
            lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
            name = " ".join(json.loads(lines["Reference"]).split()[:2])
            said = json.loads(lines["Candidate"])
            yes = 0.99 if said.startswith(name) and said.endswith("some say.") else 0.01
            listed = [("Yes", yes), ("No", 1 - yes)]
            top = [{"token": token, "logprob": math.log(share)} for token, share in listed]
            choice["logprobs"] = {"content": [{"token": "Yes", "top_logprobs": top}]}
        usage = {"prompt_tokens": 80, "completion_tokens": 1}
        self._say({"choices": [choice], "usage": usage})

    def _say(self, data: dict[str, Any]) -> None:
        content = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judging)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_an_endpoints_model_gets_thresholds_and_grades_by_them(
    verb: Verbs, folder: Path, url: str
) -> None:
    labeled = rows(folder / "rows.jsonl", 0, 60)
    calibrate = ("judge", "calibrate", "--judge", "theirs", "--labeled", str(labeled))
    model = ("--model", f"openai:judge-1@{url}", "--precision", "0.9")
    out, _ = verb.done(*calibrate, *model)
    assert "accepts from" in out
    made = read_judge_file(folder / "theirs")
    assert made.endpoint
    assert any(limits.accept is not None for limits in made.thresholds.values())
    assert "name it with --model" in verb.refused(*calibrate)
    assert "found none, wanted a model" in verb.refused(*calibrate, "--model", "none")

    others = rows(folder / "others.jsonl", 500, 6)
    grade = (
        *("grade", "--in", str(others), "--out", "verdicts.jsonl", "--set", "judge.kind=scoring"),
        *("--set", f"judge.model=openai:judge-1@{url}", "--set", "judge.options.adapter=theirs"),
    )
    verb.done(*grade)
    verdicts = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    judged = [one for one in verdicts if one["stage"] == "llm"]
    assert judged
    assert all(one["correct"] in (one["id"].endswith("True"), None) for one in judged)
    assert any(one["correct"] for one in judged)

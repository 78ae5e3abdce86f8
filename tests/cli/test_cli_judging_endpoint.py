"""judge calibrate --model: thresholds for an endpoint's model, and answers graded by them."""

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
from llm_as_judge.judge.judge_file import read_judge_file


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

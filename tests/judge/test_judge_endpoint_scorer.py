"""A judge behind an endpoint is read by the log-probabilities of its first token, both orders asked."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from llm_as_judge.assembly import judge_fingerprint
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError, EndpointError, ModelError
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.judge.endpoint_scorer import EndpointScorer, first_token_log_odds
from llm_as_judge.judge.judge_file import JudgeFile, write_judge_file
from llm_as_judge.judge.scoring import UNREADABLE, ScoringJudge
from llm_as_judge.types import ChatReply, ChatRequest, Problem, Usage

QUESTION = Problem("q/1", "open", "qa", "Which lake?", ("Lake Ostra",))


class Listing:
    """Lists the same first tokens for every prompt that begins like the first order, others for the second."""

    name = "judge"

    def __init__(
        self, first: Mapping[str, float] | None, second: Mapping[str, float] | None
    ) -> None:
        self.listed = (first, second)
        self.asked: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        text = request.messages[-1].content
        first = text.index("Reference:") < text.index("Candidate:")
        return ChatReply("yes", "length", Usage(90, 1), first_token=self.listed[not first])


class Silent:
    name = "silent"

    async def chat(self, request: ChatRequest) -> ChatReply:
        raise EndpointError("no reply")


def nats(**shares: float) -> dict[str, float]:
    return {token: math.log(share) for token, share in shares.items()}


def test_spellings_of_a_label_are_added() -> None:
    listed = {" yes": math.log(0.3), "Yes": math.log(0.3), "no": math.log(0.2)}
    assert first_token_log_odds(listed) == pytest.approx(math.log(0.6 / 0.2))


def test_a_label_that_is_not_listed_is_as_likely_as_the_least_likely_token() -> None:
    listed = nats(Yes=0.9, The=0.05, A=0.01)
    assert first_token_log_odds(listed) == pytest.approx(math.log(0.9 / 0.01))
    assert first_token_log_odds(nats(The=0.9, A=0.1)) is None


async def test_the_score_is_the_mean_of_both_orders() -> None:
    model = Listing(nats(yes=0.8, no=0.2), nats(yes=0.5, no=0.5))
    (found,) = await EndpointScorer(model).log_odds([(QUESTION, "Ostra, the lake")])
    assert found == pytest.approx(math.log(4) / 2)
    assert len(model.asked) == 2
    assert {(request.max_tokens, request.top_logprobs) for request in model.asked} == {(1, 20)}


async def test_an_endpoint_without_log_probabilities_is_told_in_one_line() -> None:
    with pytest.raises(ModelError, match=r"gives no log-probabilities.*judge\.kind: llm"):
        await EndpointScorer(Listing(None, None)).log_odds([(QUESTION, "a")])


def thresholds(place: Path, base: str) -> Path:
    place.mkdir(exist_ok=True)
    limits = Thresholds(accept=1.0, reject=-1.0, scale=1.0, offset=0.0, rows=50)
    made = JudgeFile(
        base=base, endpoint=True, seed=0, examples={}, data_sha256="", thresholds={"qa": limits}
    )
    write_judge_file(place, made)
    return place


@pytest.mark.parametrize("model", [Silent(), Listing(nats(a=0.5), nats(b=0.5))])
async def test_a_reply_without_a_score_is_not_graded(
    tmp_path: Path, model: Silent | Listing
) -> None:
    judge = ScoringJudge(thresholds(tmp_path, "m"), EndpointScorer(model), "f")
    verdict = await judge.judge(QUESTION, "the lake of Ostra", None)
    assert (verdict.correct, verdict.stage, verdict.rule) == (None, "llm", UNREADABLE)


def test_thresholds_of_another_model_are_refused(tmp_path: Path) -> None:
    place = thresholds(tmp_path, "other")
    keys = ["judge.kind=scoring", f"judge.options.adapter={place}"]
    for model in ("none", "scripted"):
        with pytest.raises(ConfigError, match=r"judge.model: found \w+, wanted other") as error:
            judge_fingerprint(load_config(overrides=[*keys, f"judge.model={model}"]))
        assert "\n" not in str(error.value)
    thresholds(tmp_path, "scripted")
    assert judge_fingerprint(load_config(overrides=[*keys, "judge.model=scripted"]))

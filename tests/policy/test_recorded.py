"""Programs of a policy that are kept: streamed as they are written, given again without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.policy.recorded import RecordedSampler
from llm_as_judge.policy.stream import Stream
from llm_as_judge.types import Completion, Message, Prompt, Sample, Sampling
from streams import sampled

ASKED = [[Message("user", "a")], [Message("user", "b")]]
TWO = Sampling(2, 1.0, 8)


class Writer:
    """Writes its prompt, the last program first."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        self.asked += [prompt.messages[-1].content for prompt in prompts_P]
        stream = Stream()
        stream.follow(self._write(stream, prompts_P, sampling))
        return stream

    async def _write(self, stream: Stream, prompts_P: Sequence[Prompt], sampling: Sampling) -> None:
        for p, prompt in reversed(list(enumerate(prompts_P))):
            for k in reversed(range(sampling.samples)):
                text = f"{prompt.messages[-1].content}{k}"
                stream.put(Sample(p, k, Completion((1,), (2,), (-1.0,), text, "stop")))


def texts(groups: list[list[Completion]]) -> list[list[str]]:
    return [[completion.text for completion in group] for group in groups]


async def test_what_was_written_is_given_again_and_only_what_is_missing_is_asked(
    tmp_path: Path,
) -> None:
    recording, writer = Pool(tmp_path, one_run=True), Writer()
    recorded = RecordedSampler(writer, recording, {"base": "tiny"})
    assert texts(await sampled(recorded, ASKED[:1], TWO)) == [["a0", "a1"]]
    assert texts(await sampled(recorded, ASKED, TWO)) == [["a0", "a1"], ["b0", "b1"]]
    assert writer.asked == ["a", "b"]
    replay = RecordedSampler(None, recording, {"base": "tiny"})
    assert texts(await sampled(replay, ASKED, TWO)) == [["a0", "a1"], ["b0", "b1"]]


async def test_a_half_written_prompt_is_not_kept(tmp_path: Path) -> None:
    recording = Pool(tmp_path, one_run=True)
    stream = await RecordedSampler(Writer(), recording, {}).sample([Prompt(ASKED[0])], TWO)
    async for _ in stream:
        break
    await stream.aclose()
    with pytest.raises(ModelError, match="the policy was not asked this"):
        await sampled(RecordedSampler(None, recording, {}), ASKED[:1], TWO)


async def test_another_policy_is_another_question(tmp_path: Path) -> None:
    recording = Pool(tmp_path, one_run=True)
    await sampled(RecordedSampler(Writer(), recording, {"base": "one"}), ASKED[:1], TWO)
    with pytest.raises(ModelError, match="record again"):
        await sampled(RecordedSampler(None, recording, {"base": "two"}), ASKED[:1], TWO)

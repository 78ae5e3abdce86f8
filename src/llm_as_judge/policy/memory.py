"""The experience buffer at work: examples for prompts, new entries from scored groups.

The problems of one domain in a step share their examples, those nearest to the mean of their questions. Their
prompts then differ in the problem alone, so that docs and examples are computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from llm_as_judge.policy.experience import (
    Experience,
    ExperienceBuffer,
    compared_text,
    passage_digests,
)
from llm_as_judge.policy.experience_files import BufferKind, buffer_files, load_buffer, save_buffer
from llm_as_judge.policy.prompt import Example, shorten
from llm_as_judge.types import Domain, Embedder, Group, Problem, Rollout


class Memory:
    """Good programs of earlier steps, shown to the policy as examples."""

    def __init__(
        self,
        buffer: ExperienceBuffer,
        embedder: Embedder,
        *,
        form: str,
        folder: Path,
        start: Path | None = None,
        top_k: int = 3,
        example_chars: int = 300,
    ) -> None:
        """
        Args:
            form: program form of the entries.
            folder: written after every step that changed the buffer.
            start: folder of the entries to begin with (a checkpoint's); None = ``folder``.
            example_chars: longest problem text of an example.
        Raises:
            ConfigError, DataError: see ``load_buffer``.
        """
        self.buffer = buffer
        self.top_k = top_k
        self._embedder = embedder
        self._kind = BufferKind(form, embedder.name, embedder.dimensions)
        self._folder = folder
        self._example_chars = example_chars
        load_buffer(start or folder, buffer, self._kind, embedder.embed)

    def examples(self, problems_P: Sequence[Problem]) -> list[tuple[Example, ...]]:
        """For each problem its retrieved examples, the nearest last: beside the problem."""
        if not len(self.buffer) or not problems_P:
            return [()] * len(problems_P)
        vectors_P = self._embedder.embed([compared_text(problem) for problem in problems_P])
        of_domain: dict[Domain, tuple[Example, ...]] = {}
        for domain in dict.fromkeys(problem.domain for problem in problems_P):
            members = [i for i, problem in enumerate(problems_P) if problem.domain == domain]
            mean = np.mean([vectors_P[i] for i in members], axis=0)
            mean /= np.linalg.norm(mean)
            asked = [problems_P[i] for i in members]
            hits = self.buffer.nearest(mean, domain, self.top_k, asked)
            of_domain[domain] = tuple(_example(hit.experience) for hit in reversed(hits))
        return [of_domain[problem.domain] for problem in problems_P]

    def remember(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """Add what deserves it, write the folder, say how the buffer stands.

        Raises:
            OutputError: the folder cannot be written.
        """
        good = [(g.problem, r) for g in groups for r in g.rollouts if self.buffer.admits(r)]
        vectors = self._embedder.embed([compared_text(problem) for problem, _ in good])
        added = self.buffer.add(
            self._experience(step, problem, rollout, vector)
            for (problem, rollout), vector in zip(good, vectors, strict=True)
        )
        if good:
            save_buffer(self._folder, self.buffer, self._kind)
        return {
            "experience/entries": float(len(self.buffer)),
            "experience/added": float(added),
            "experience/programs": float(self.buffer.distinct_programs),
        }

    def _experience(
        self, step: int, problem: Problem, rollout: Rollout, vector: Sequence[float]
    ) -> Experience:
        assert rollout.reward is not None  # or the buffer had not admitted it
        return Experience(
            problem_id=problem.id,
            domain=problem.domain,
            question=compared_text(problem),
            passages=passage_digests(problem),
            shown=shorten(problem.statement(), self._example_chars),
            program=rollout.program.source,
            hash=rollout.program.hash,
            reward=rollout.reward.total,
            step=step,
            vector=np.asarray(vector, np.float32),
        )

    def files(self) -> Mapping[str, str]:
        return buffer_files(self.buffer, self._kind)


def _example(of: Experience) -> Example:
    return Example(problem=of.shown, program=of.program, problem_id=of.problem_id)

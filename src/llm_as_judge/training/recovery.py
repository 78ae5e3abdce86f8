"""What a run's folder holds of steps after its last checkpoint, given back to these steps."""

from __future__ import annotations

from collections.abc import Sequence

from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.runs.pending import Kept, PendingRollouts, Place
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.training.settings import rollout_settings
from llm_as_judge.types import Problem


class Recovered:
    """Rollouts of an earlier process by their place; each is given back once."""

    def __init__(self, pending: PendingRollouts, kept: dict[Place, Kept] | None = None) -> None:
        self._pending = pending
        self._kept = kept or {}

    @classmethod
    def after(
        cls, step: int, pending: PendingRollouts, log: RunLog, config: Config
    ) -> tuple[Recovered, str]:
        """What there is of later steps, and a line that says how much; empty = nothing.

        Raises:
            ConfigError: they were made under other settings.
        """
        kept = pending.recover(step)
        log.cut_after(step)
        if not kept:
            return cls(pending), ""
        ended = sum(one.rollout.verdict is not None for one in kept.values())
        then, now = (rollout_settings(c) for c in (log.config(), config.model_dump(mode="json")))
        changed = [key for key in now if key in then and then[key] != now[key]]
        if changed:
            key = changed[0]
            raise ConfigError(
                f"{pending.path}: {ended} finished rollouts of later steps were made with "
                f"{key} = {then[key]!r}, now it is {now[key]!r}. Set it back, or remove that file "
                "to pay for these steps again"
            )
        said = (
            f"after step {step}: {len(kept)} programs were written already, {ended} of them run "
            "and graded"
        )
        return cls(pending, kept), said

    def take(self, step: int, problems: Sequence[Problem]) -> dict[tuple[int, int], Kept]:
        """The rollouts of ``step`` by position of problem and sample.

        Raises:
            DataError: they are of other problems than the step's.
        """
        known = {}
        for place in [place for place in self._kept if place.step == step]:
            kept = self._kept.pop(place)
            drawn = problems[place.group].id if place.group < len(problems) else None
            if kept.rollout.problem_id != drawn:
                raise DataError(
                    f"{self._pending.path}: step {step}, group {place.group} is "
                    f"{kept.rollout.problem_id}, this run draws {drawn}. Resume with the same data, "
                    "or remove that file to pay for these steps again"
                )
            known[place.group, place.sample] = kept
        return known

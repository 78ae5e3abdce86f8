"""Trackers that show a run beside its own files: Weights & Biases, a collector of OpenTelemetry.

metrics.jsonl is the record; a sink gets the same numbers under the same names (docs/metrics.md)
and nothing else: no problem, no program, no answer. ``otel`` gets spans in their place (``spans.py``).
Unless ``tracking.online`` is set all of it stays on this machine.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from llm_as_judge.errors import ConfigError, OutputError
from llm_as_judge.runs.spans import open_spans


@dataclass(frozen=True, slots=True)
class TrackingOptions:
    """Keys of the section ``tracking``."""

    sinks: tuple[str, ...] = ()
    """``wandb``, ``otel``."""
    project: str | None = None
    online: bool = False


class Sink(Protocol):
    """Where the numbers of a step go besides the run's folder."""

    def log(self, step: int, numbers: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


def project_of(tracking: TrackingOptions) -> str:
    """Under which project the run is shown."""
    return tracking.project or os.environ.get("WANDB_PROJECT") or "llm-as-judge"


def require_sinks(tracking: TrackingOptions) -> None:
    """The asked-for trackers can be opened; opens none.

    Raises:
        ConfigError: one is not installed, W&B is to be online without a key, or spans would leave this machine
            though nobody asked for that.
    """
    for name in tracking.sinks:
        if not all(map(_installed, _MODULES.get(name, (name,)))):
            raise ConfigError(
                f"tracking.sinks: {name} is not installed; run: pip install 'llm-as-judge[{name}]', "
                f"in a checkout: pip install -e '.[{name}]'"
            )
    online = tracking.online
    if online and "wandb" in tracking.sinks and not os.environ.get("WANDB_API_KEY"):
        raise ConfigError(
            "tracking.online: no WANDB_API_KEY in the environment or .env; set it, or leave "
            "tracking.online false and send the run later by: wandb sync"
        )
    if "otel" in tracking.sinks and not online:
        for variable, address in _collectors():
            if urlsplit(address).hostname not in _HERE:
                raise ConfigError(
                    f"tracking.online: false, but {variable} is {address}, which is another machine; set "
                    "tracking.online=true, or name a collector on this one"
                )


_MODULES = {"otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")}
_HERE = ("localhost", "127.0.0.1", "::1")


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is a part of
        return False


def _collectors() -> Iterator[tuple[str, str]]:
    """Where spans and events would go, as the environment says it; unset is this machine."""
    for signal in ("", "TRACES_", "LOGS_"):
        variable = f"OTEL_EXPORTER_OTLP_{signal}ENDPOINT"
        if address := os.environ.get(variable):
            yield variable, address


@contextmanager
def wanted_spans(tracking: TrackingOptions) -> Iterator[None]:
    """Spans of everything in the block, where the sink ``otel`` is asked for.

    Raises:
        ConfigError: as :func:`require_sinks`.
    """
    if "otel" not in tracking.sinks:
        yield
        return
    require_sinks(tracking)
    with open_spans():
        yield


@contextmanager
def open_sinks(
    tracking: TrackingOptions, folder: Path, resolved: Mapping[str, Any]
) -> Iterator[tuple[Sink, ...]]:
    """The trackers of the run in ``folder``, closed at the end of the block.

    Args:
        resolved: the configuration as it is written down.

    Raises:
        ConfigError: as :func:`require_sinks`.
        OutputError: a tracker cannot be opened.
    """
    require_sinks(tracking)
    if "wandb" not in tracking.sinks:
        yield ()
        return
    with closing(_Wandb(tracking, folder, resolved)) as sink:
        yield (sink,)


class _Wandb:
    """W&B. Offline runs lie in RUN/wandb; a resumed run goes on under its name."""

    def __init__(
        self, tracking: TrackingOptions, folder: Path, resolved: Mapping[str, Any]
    ) -> None:
        import wandb

        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_code=True,
            disable_git=True,
            save_code=False,
            x_disable_stats=True,
            x_disable_machine_info=True,
        )
        try:
            self._run: Any = wandb.init(
                project=project_of(tracking),
                id=_run_id(folder),
                name=folder.name,
                dir=str(folder),
                mode="online" if tracking.online else "offline",
                resume="allow",
                config=dict(resolved),
                settings=settings,
            )
        except (wandb.Error, OSError) as error:
            raise OutputError(
                f"tracking.sinks: wandb: {' '.join(str(error).split())}; mend that, or go on "
                "without it: --set tracking.sinks=[]"
            ) from None

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        self._run.finish()


def _run_id(folder: Path) -> str:
    """The same for a resumed run, another for a run of the same name in another place."""
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', folder.name)[:48]}-{place}"

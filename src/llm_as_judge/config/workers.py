"""Keys of the machines that run programs and grade."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from llm_as_judge.config.reading import Number, Section


class WorkersConfig(Section):
    """Where programs run and rules grade."""

    backend: Literal["local", "ray"] = Field(
        "local",
        description="`local`: this machine; `ray`: workers of a Ray cluster (extra `ray`), each with "
        "a sandbox of its own and workflow.concurrency programs at once.",
    )
    count: int = Field(1, ge=1, description="ray: workers to keep; a lost one is replaced.")
    address: str | None = Field(
        None,
        description="ray: HOST:PORT of the cluster, or `auto`; default RAY_ADDRESS, else a Ray of "
        "this process alone.",
    )
    cpus: Number = Field(1.0, gt=0, description="ray: processors set aside for one worker.")
    resource: str | None = Field(
        None, description="ray: only on nodes started with this resource, one for each worker."
    )
    start_s: Number = Field(
        120.0, gt=0, description="ray: time in which the first worker must be ready."
    )

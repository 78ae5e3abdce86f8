"""The recipes for clusters, which cannot be run here: they parse, and name options that exist."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from llm_as_judge.cli import app
from llm_as_judge.config import load_config, load_endpoints

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "cluster"
SLURM = (FOLDER / "slurm.sh").read_text(encoding="utf-8")
KUBERAY: dict[str, Any] = yaml.safe_load((FOLDER / "kuberay.yaml").read_text(encoding="utf-8"))
SBATCH = {
    "job-name",
    "nodes",
    "ntasks-per-node",
    "gpus-per-node",
    "cpus-per-task",
    "time",
    "signal",
}
SRUN = {"nodes", "ntasks", "overlap", "exact", "gpus", "cpus-per-task", "nodelist"}


def command(text: str, start: str) -> list[str]:
    """Words of the command that begins with ``start``, with variables as they stand."""
    joined = re.sub(r"\\\n\s*", " ", text)
    (line,) = [line for line in joined.splitlines() if start in line]
    return shlex.split(line[line.index(start) :].rstrip("& "))


def overrides(words: list[str]) -> list[str]:
    found = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    return [text.replace("$writer", "http://a/v1") for text in found]


TRAINS = {
    "slurm.sh": command(SLURM, "llm_as_judge train"),
    "kuberay.yaml": shlex.split(KUBERAY["spec"]["entrypoint"]),
}


@pytest.mark.parametrize("name", TRAINS)
def test_the_training_commands_are_ones_that_the_verb_takes(name: str) -> None:
    words = TRAINS[name]
    options = {
        option
        for parameter in typer.main.get_command(app).commands["train"].params  # type: ignore[attr-defined]
        for option in parameter.opts
    }
    assert words[1] == "train"
    assert {word for word in words if word.startswith("--")} <= options
    config = load_config(overrides=overrides(words))
    assert config.workers.backend == "ray"
    assert config.sampling.backend == "vllm"


def test_the_slurm_script_parses_and_its_directives_are_sbatchs() -> None:
    subprocess.run(["bash", "-n", str(FOLDER / "slurm.sh")], check=True)
    directives = re.findall(r"^#SBATCH --([a-z-]+)=\S+$", SLURM, re.M)
    assert set(directives) == SBATCH
    assert len(directives) == SLURM.count("#SBATCH")
    # sbatch reads no directive after the first command
    assert SLURM.rindex("#SBATCH") < SLURM.index("set -euo")
    for line in re.sub(r"\\\n\s*", " ", SLURM).splitlines():
        if line.lstrip().startswith("srun"):
            own = line.split("accelerate")[0].split('"${@')[0]
            assert set(re.findall(r" --([a-z-]+)", own)) <= SRUN


SAID = """#!/bin/bash
echo "$(basename "$0") $*" >> "$SAID"
case "$*" in
*llm_as_judge*) python3 -c 'import os; print(os.environ["LLM_AS_JUDGE_CONFIG"])' > "$SAID.config" ;;
*"show hostnames"*) printf 'node%s\\n' 0 1 2 3 ;;
esac
"""


def test_a_job_leaves_the_persons_endpoints_alone_and_opens_no_server_to_all(
    tmp_path: Path,
) -> None:
    """The script as it stands, on a cluster where every command only notes that it was called."""
    programs, said = tmp_path / "bin", tmp_path / "said"
    programs.mkdir()
    for name in ("scontrol", "srun", "curl", "sleep"):
        (programs / name).write_text(SAID)
        (programs / name).chmod(0o755)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    own = tmp_path / "config" / "aflow_llm.yaml"
    own.write_text("models: {mine: {base_url: http://a/v1, api_key: secret}}\n")
    subprocess.run(
        ["bash", str(FOLDER / "slurm.sh")],
        cwd=tmp_path,
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SAID": str(said),
            "POLICY_WEIGHTS": "/models/p",
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NODELIST": "node[0-3]",
        },
        check=True,
        capture_output=True,  # until all that it has started has ended
        timeout=60,
    )
    assert "secret" in own.read_text()
    jobs = Path(said.with_name("said.config").read_text().strip())
    assert jobs == tmp_path / "logs" / "job_7.config"
    (endpoint,) = load_endpoints(jobs / "aflow_llm.yaml").values()
    addresses = [f"http://node{n}:{8100 + gpu}" for n in (2, 3) for gpu in range(8)]
    assert endpoint.base_url == "http://node0:8002/v1"
    assert f"vllm-router --worker-urls {' '.join(addresses)} --policy" in said.read_text()
    assert "secret" not in (jobs / "aflow_llm.yaml").read_text()
    hosts = re.findall(r"nodelist=(\S+) env VLLM_HOST=(\S+)", said.read_text())
    assert len(hosts) == 1 + len(addresses)
    assert all(node == host for node, host in hosts)


def test_vllm_is_started_by_the_projects_launchers_with_variables_that_they_read() -> None:
    launchers = re.findall(r"bash (\S*launch_\w+\.sh)", SLURM)
    assert launchers == ["scripts/launch_sampler.sh", "launch_vllm.sh"]
    read = "".join((ROOT / name).read_text(encoding="utf-8") for name in launchers)
    assert set(re.findall(r"VLLM_[A-Z]+", SLURM)) <= set(re.findall(r"VLLM_[A-Z]+", read))


def test_ray_is_started_with_options_that_it_has() -> None:
    ray = pytest.importorskip("ray.scripts.scripts", reason="pip install 'llm-as-judge[ray]'")
    known = {option for parameter in ray.start.params for option in parameter.opts}
    joined = re.sub(r"\\\n\s*", " ", SLURM)
    started = re.findall(r"ray start (.*)", joined)
    assert len(started) == 2
    for line in started:
        assert set(re.findall(r"--[a-z-]+", line)) <= known
    groups = [KUBERAY["spec"]["rayClusterSpec"]["headGroupSpec"], *worker_groups()]
    for group in groups:
        assert {f"--{name}" for name in group["rayStartParams"]} <= known


def worker_groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = KUBERAY["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    return groups


def test_the_pods_have_what_the_workers_ask_for() -> None:
    assert (KUBERAY["apiVersion"], KUBERAY["kind"]) == ("ray.io/v1", "RayJob")
    config = load_config(overrides=overrides(TRAINS["kuberay.yaml"]))
    (group,) = worker_groups()
    given = yaml.safe_load(yaml.safe_load(group["rayStartParams"]["resources"]))
    wanted = config.workers
    assert wanted.resource in given
    per_pod = min(
        given[wanted.resource], int(group["rayStartParams"]["num-cpus"]) // int(wanted.cpus)
    )
    assert per_pod * group["replicas"] == wanted.count
    container = group["template"]["spec"]["containers"][0]
    assert container["securityContext"]["runAsNonRoot"]
    assert not [entry for entry in container.get("env", []) if "KEY" in entry["name"]]

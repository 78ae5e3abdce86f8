#!/usr/bin/env bash
# Four nodes of eight GPUs under SLURM, from a folder that all of them see:
#   sbatch --export=ALL,POLICY_WEIGHTS=/models/qwen25-7b examples/cluster/slurm.sh
# Node 0: learner on its GPUs, the driver, Ray's head. Node 1: vLLM with eight engines of the policy. The
# others: eight replicas of the executor each, behind vllm-router on node 0. Programs run and are graded on the processors of all.
# Not run by us: no SLURM here. `bash -n` and the names of all options are tested.
#SBATCH --job-name=llm-as-judge
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail

: "${POLICY_WEIGHTS:?folder of the base weights of the policy, seen by all nodes}"
GPUS=8 RAY_PORT=6379
mapfile -t NODES < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
HEAD="${NODES[0]}" WRITERS="${NODES[1]}"
EXECUTORS=("${NODES[@]:2}")

on() { # on NODE COMMAND...: a step of this job that runs beside the others
  srun --nodes=1 --ntasks=1 --overlap --exact --gpus="$1" --cpus-per-task="$2" --nodelist="$3" "${@:4}" &
}

# ------------------------------------------------------------------ Ray: a head, and the other nodes
on 0 32 "$HEAD" ray start --head --port="$RAY_PORT" --num-cpus=32 --num-gpus=0 --block
sleep 20
for node in "${NODES[@]:1}"; do
  on 0 32 "$node" ray start --address="$HEAD:$RAY_PORT" --num-cpus=32 --num-gpus=0 --block
done

# ------------------------------------------------------------------ who writes programs, who replies
executors=() writer="http://$WRITERS:8010/v1"
on "$GPUS" 16 "$WRITERS" env VLLM_HOST="$WRITERS" bash scripts/launch_sampler.sh "$POLICY_WEIGHTS" --data-parallel-size "$GPUS"
for node in "${EXECUTORS[@]}"; do
  for ((gpu = 0; gpu < GPUS; gpu++)); do
    port=$((8100 + gpu))
    on 1 2 "$node" env VLLM_HOST="$node" VLLM_PORT="$port" bash launch_vllm.sh
    executors+=("http://$node:$port")
  done
done
on 0 4 "$HEAD" vllm-router --worker-urls "${executors[@]}" --policy cache_aware --host "$HEAD" --port 8002

# A configuration of the job's own: your config/aflow_llm.yaml, which may hold keys, stays as it is.
export LLM_AS_JUDGE_CONFIG="$PWD/logs/job_$SLURM_JOB_ID.config"
mkdir -p "$LLM_AS_JUDGE_CONFIG"
for file in config/*; do
  [[ "$file" == config/aflow_llm.yaml ]] || cp -r "$file" "$LLM_AS_JUDGE_CONFIG/"
done
cat > "$LLM_AS_JUDGE_CONFIG/aflow_llm.yaml" <<YAML
models:
  gpt-oss-120b:
    base_url: http://$HEAD:8002/v1
    api_key: none
    no_proxy: true
YAML
for url in "$writer" "${executors[@]/%//v1}" "http://$HEAD:8002/v1"; do
  until curl --silent --fail --output /dev/null "$url/models"; do sleep 10; done
done

# ------------------------------------------------------------------ the learner, on the first node
trap 'kill -TERM "$learner"; wait "$learner"' TERM
srun --nodes=1 --ntasks=1 --overlap --exact --gpus="$GPUS" --cpus-per-task=24 --nodelist="$HEAD" \
  accelerate launch --config_file config/accelerate/ddp.yaml --num_processes "$GPUS" \
  -m llm_as_judge train --run-dir "logs/job_$SLURM_JOB_ID" \
  --set sampling.backend=vllm --set "sampling.server=$writer" \
  --set sampling.adapters=checkpoints/adapters \
  --set workers.backend=ray --set workers.address="$HEAD:$RAY_PORT" \
  --set workers.count=64 --set workers.cpus=2 --set workflow.concurrency=32 \
  --set executor.concurrency=1024 --set training.problems_per_step=512 &
learner=$!
wait "$learner"

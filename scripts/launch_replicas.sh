#!/usr/bin/env bash
# Serves the policy's base weights on N replicas, one after the other GPU each, and starts again what dies:
#   bash scripts/launch_replicas.sh FOLDER N [further vllm options]
# FOLDER holds the base weights of the policy: `path` in `llm-as-judge models list --json`. The line to give to `train` is printed first.
# From the environment: VLLM_FIRST_PORT (8010), VLLM_HOST (127.0.0.1), VLLM_TENSOR_PARALLEL (GPUs of a replica, 1),
# VLLM_MAX_LORA_RANK (64, at least policy.lora_rank), VLLM_MAX_LORAS (3, at least training.max_staleness + 2),
# CUDA_VISIBLE_DEVICES (the GPUs to divide; default 0, 1, ...), VLLM_RESTART_S (5, pause before a restart),
# VLLM_STOP_S (30, what a server may take to end).
set -euo pipefail

fail() { echo "launch_replicas.sh: $*" >&2; exit 2; }
[[ $# -ge 2 && "$2" =~ ^[1-9][0-9]*$ ]] || fail "wanted: FOLDER N [vllm options]"
folder="$1" count="$2"
shift 2
[[ -f "$folder/config.json" ]] || fail "$folder holds no config.json; wanted the folder of the policy's base weights"
command -v vllm >/dev/null || fail "no vllm on PATH; install it in an environment of its own: pip install vllm"

first="${VLLM_FIRST_PORT:-8010}" host="${VLLM_HOST:-127.0.0.1}" each="${VLLM_TENSOR_PARALLEL:-1}"
gpus=($(seq 0 $((count * each - 1))))
[[ -z "${CUDA_VISIBLE_DEVICES:-}" ]] || IFS=, read -ra gpus <<<"$CUDA_VISIBLE_DEVICES"
[[ ${#gpus[@]} -ge $((count * each)) ]] || fail "$count replicas of $each GPUs, and CUDA_VISIBLE_DEVICES names ${#gpus[@]}"

urls=()
for ((i = 0; i < count; i++)); do urls+=("http://$host:$((first + i))/v1"); done
echo "--set sampling.backend=vllm --set sampling.replicas=[$(IFS=,; echo "${urls[*]}")]"

# A replica: again and again, until the script is told to end. A server has a process group of its own, so that
# an engine whose server died does not keep the GPU's memory from the next one.
replica() {
  local server="" status
  trap 'stop' TERM INT
  while true; do
    CUDA_VISIBLE_DEVICES="$1" VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 setsid vllm serve "$folder" \
      --host "$host" --port "$2" --tensor-parallel-size "$each" \
      --enable-lora --max-lora-rank "${VLLM_MAX_LORA_RANK:-64}" --max-loras "${VLLM_MAX_LORAS:-3}" \
      --logprobs-mode processed_logprobs --enable-prefix-caching "${@:3}" &
    server=$!
    wait "$server" && status=0 || status=$?
    kill -KILL -- "-$server" 2>/dev/null || true
    server=""
    echo "launch_replicas.sh: the replica on port $2 ended with $status; it is started again" >&2
    sleep "${VLLM_RESTART_S:-5}"
  done
}

# vLLM hears no signal while it loads: it gets VLLM_STOP_S seconds.
stop() {
  if [[ -n "$server" ]]; then
    kill -TERM "$server" 2>/dev/null || true
    timeout "${VLLM_STOP_S:-30}" tail --pid="$server" -f /dev/null || true
    kill -KILL -- "-$server" 2>/dev/null || true
  fi
  exit 0
}

trap 'kill -TERM $(jobs -p) 2>/dev/null || true; wait; exit 0' TERM INT
for ((i = 0; i < count; i++)); do
  own="$(IFS=,; echo "${gpus[*]:$((i * each)):$each}")"
  replica "$own" $((first + i)) "$@" &
done
wait

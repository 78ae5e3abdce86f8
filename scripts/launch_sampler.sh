#!/usr/bin/env bash
# Serves the policy's base weights with vLLM, for sampling.backend=vllm (pip install vllm; needs a GPU):
#   bash scripts/launch_sampler.sh FOLDER [further vllm options, such as --data-parallel-size 4]
# FOLDER holds the base weights of the policy: `path` in `llm-as-judge models list --json`. The line to give to `train` is printed first.
# From the environment: VLLM_PORT (8010), VLLM_HOST (127.0.0.1), VLLM_TENSOR_PARALLEL (GPUs of an engine, 1),
# VLLM_MAX_LORA_RANK (64, at least policy.lora_rank), VLLM_MAX_LORAS (3, at least training.max_staleness + 2),
# CUDA_VISIBLE_DEVICES.
set -euo pipefail

fail() { echo "launch_sampler.sh: $*" >&2; exit 2; }
[[ $# -ge 1 ]] || fail "wanted: FOLDER [vllm options]"
folder="$1"
shift
[[ -f "$folder/config.json" ]] || fail "$folder holds no config.json; wanted the folder of the policy's base weights"
command -v vllm >/dev/null || fail "no vllm on PATH; install it in an environment of its own: pip install vllm"

host="${VLLM_HOST:-127.0.0.1}" port="${VLLM_PORT:-8010}"
echo "--set sampling.backend=vllm --set sampling.server=http://$host:$port/v1"

# Adapters are loaded by one process of the front: vLLM takes them while it runs only where there is no other.
export VLLM_ALLOW_RUNTIME_LORA_UPDATING=1
exec vllm serve "$folder" \
  --host "$host" \
  --port "$port" \
  --tensor-parallel-size "${VLLM_TENSOR_PARALLEL:-1}" \
  --api-server-count 1 \
  --enable-lora \
  --max-lora-rank "${VLLM_MAX_LORA_RANK:-64}" \
  --max-loras "${VLLM_MAX_LORAS:-3}" \
  --logprobs-mode processed_logprobs \
  --enable-prefix-caching \
  "$@"

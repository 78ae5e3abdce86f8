#!/usr/bin/env bash
# Serves the executor and judge on port 8002 with vLLM (pip install vllm; needs a GPU):
#   GPT_OSS_MODEL_PATH=/models/gpt-oss-120b bash launch_vllm.sh [further vllm options]
# VLLM_PORT, VLLM_TENSOR_PARALLEL and CUDA_VISIBLE_DEVICES are read from the environment.
set -euo pipefail

model="${GPT_OSS_MODEL_PATH:-openai/gpt-oss-120b}"
port="${VLLM_PORT:-8002}"

if ! command -v vllm >/dev/null; then
  echo "launch_vllm.sh: no vllm on PATH; install it in an environment of its own: pip install vllm" >&2
  exit 2
fi
if [[ "$model" == /* && ! -f "$model/config.json" ]]; then
  echo "launch_vllm.sh: GPT_OSS_MODEL_PATH=$model holds no config.json; give the folder of the weights" >&2
  exit 2
fi

# Programs of one group ask about one problem: prefix caching makes their shared text cheap.
exec vllm serve "$model" \
  --served-model-name gpt-oss-120b \
  --host "${VLLM_HOST:-127.0.0.1}" \
  --port "$port" \
  --tensor-parallel-size "${VLLM_TENSOR_PARALLEL:-1}" \
  --enable-prefix-caching \
  "$@"

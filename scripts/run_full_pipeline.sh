#!/usr/bin/env bash
# Audit the judge, download, process, evaluate the untrained policy, train, evaluate again, report.
# A judge that misses a bar of the audit ends it (status 3) before anything else is paid for.
#
#   ./scripts/run_full_pipeline.sh --config embedded
#   ./scripts/run_full_pipeline.sh --model qwen25-7b --device cuda:0
#
#   --model NAME      policy, an entry of config/models.yaml
#   --device NAME     cpu, cuda:0 ...
#   --config NAME     YAML file or shipped profile; default: config/training.yaml
#   --source DIR      upstream data files instead of the hub (default ../shared/data if it is there)
#   --seed N          of everything random
#   --labeled FILE   labeled rows of your own for the audit, beside the shipped ones
#   --limit N|all     test rows evaluated of each set, before and after training; default:
#                     evaluation.limit_per_set of the configuration, or 100 if it names none
#   --warm-start N    search on N training rows of each domain first; training begins with the
#                     bank's best programs, under the short prompt and with a floor of entropy;
#                     the untrained policy, which could not write under it, keeps the prompt of the configuration
#   --skip-download   data/raw is as wanted
#   --skip-process    data/mixed and data/test are as wanted
#   --eval-only       no audit, no training; evaluates the latest checkpoint
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,22s/^# \{0,1\}//p' "$0"; }
fail() { echo "error: $1" >&2; exit 2; }

rows_per_set=100
config=() model=() device=() seed=() labeled=() limit=() searched=() taught=() source=""
download=1 process=1 train=1
while [ $# -gt 0 ]; do
  if [ "$1" = --labelled ]; then shift; set -- --labeled "$@"; echo "--labelled is called --labeled now" >&2; fi
  case "$1" in
    --config|--model|--device|--seed|--labeled|--limit|--warm-start|--source)
      [ $# -ge 2 ] || fail "$1 wants a value; see $0 --help"
      case "$1" in
        --config) config=(--config "$2") ;;
        --model)  model=(--model "$2") ;;
        --device) device=(--device "$2") ;;
        --seed)   seed=(--seed "$2") ;;
        --labeled) labeled=(--labeled "$2") ;;
        --limit)
          [[ "$2" =~ ^([1-9][0-9]*|all)$ ]] || fail "--limit $2: wanted a number of rows, at least 1, or all"
          limit=(--limit "$2") ;;
        --warm-start)
          [[ "$2" =~ ^([2-9]|[1-9][0-9]+)$ ]] || fail "--warm-start $2: wanted a number of rows, at least 2"
          searched=(--split train --rows "$2")
          taught=(--set sampling.prompt_style=signatures --set training.warm_start=results/bank --set training.entropy_floor=0.06) ;;
        --source) source="$2" ;;
      esac
      shift 2 ;;
    --skip-download) download=0; shift ;;
    --skip-process)  process=0; shift ;;
    --eval-only)     train=0; shift ;;
    -h|--help) usage; exit 0 ;;
    *) fail "unknown option $1; see $0 --help" ;;
  esac
done

if [ $train = 0 ] && [ ${#labeled[@]} != 0 ]; then
  fail "--labeled is for the audit, which --eval-only leaves out; give one of the two"
fi

python=python3
if [ -x .venv/bin/python ]; then python=.venv/bin/python; fi

# A shell keeps signals to itself while it waits for a foreground child: each verb runs in the
# background (with job control, so that an interrupt is not ignored there) and is sent what we get.
set -m
child=""
forward() {
  if [ -z "$child" ]; then exit $((128 + $(kill -l "$1"))); fi
  kill -s "$1" "$child" 2>/dev/null || true
}
trap 'forward INT' INT
trap 'forward TERM' TERM
trap 'forward HUP' HUP
run() {
  echo "+ llm-as-judge $*"
  "$python" -m llm_as_judge "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  while kill -0 "$child" 2>/dev/null; do status=0; wait "$child" || status=$?; done
  child=""
  if [ "$status" != 0 ]; then exit "$status"; fi
}

if [ -z "$source" ] && [ -d ../shared/data ]; then source=../shared/data; fi
from=()
if [ -n "$source" ]; then from=(--source "$source"); fi

if [ $train = 1 ]; then run judge audit "${config[@]}" "${labeled[@]}" --if-needed; fi
run models pull "${config[@]}" "${model[@]}"
if [ $download = 1 ]; then run data download "${config[@]}" "${from[@]}"; fi
if [ $process = 1 ]; then run data process "${config[@]}"; fi
if [ ${#limit[@]} = 0 ]; then
  named=$("$python" -c 'import sys
from llm_as_judge.config import load_config
print("limit_per_set" in load_config(*sys.argv[2:]).evaluation.model_fields_set)' "${config[@]}")
  if [ "$named" = False ]; then limit=(--limit $rows_per_set); fi
fi
evaluated=("${config[@]}" "${model[@]}" "${device[@]}" "${seed[@]}" "${limit[@]}")
if [ $train = 1 ]; then
  run evaluate "${evaluated[@]}" --untrained
  if [ ${#searched[@]} != 0 ]; then run search "${config[@]}" "${seed[@]}" "${searched[@]}"; fi
  run train "${config[@]}" "${model[@]}" "${device[@]}" "${seed[@]}" "${taught[@]}"
fi
run evaluate "${evaluated[@]}"
if [ $train = 1 ]; then
  run report "${config[@]}" "${model[@]}"
  verb=llm-as-judge
  if [ -x .venv/bin/llm-as-judge ]; then verb=.venv/bin/llm-as-judge; fi
  with=$(echo "${config[*]}" "${model[*]}")
  cat <<END
What next:
  $verb compare results/evaluation/*_results.json
  $verb report $with --run-dir "\$(ls -td logs/train_*/ | head -1)" --html run.html
  $verb solve $with --domain math --problem "What is 17 * 3?"
END
fi

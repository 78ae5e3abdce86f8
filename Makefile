# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# what a run needs; tests and tools come with READY
RUNS   := $(VENV)/.ready-to-run
AUDIT  ?= .venv-audit
# test files in processes side by side, so that each prepares its place once; AT_ONCE= one after the other
AT_ONCE ?= -n logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder

# each guards a figure of the documents; the other files of benchmarks/ are what they share
BENCHES := training whole_step group_size lora pipeline sandbox program_check pool data_pipeline verdicts engines serving

.PHONY: run test check smoke bench kills setup format clean help

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: $(RUNS)     ## set up, then train small real models on a small task
# Ctrl-C is no error of make's: the command has said what is kept
	@trap : INT; $(BIN)/llm-as-judge quickstart $(ARGS) || { status=$$?; test $$status -eq 130 || exit $$status; }

.PHONY: full
full: $(RUNS)    ## the whole pipeline on six data sets, with small real models
	PATH="$(abspath $(BIN)):$$PATH" exec ./scripts/run_full_pipeline.sh --config embedded $(ARGS)

test: $(READY)   ## everything CI checks: format, lint, types, layers, documents, tests, coverage
	$(MAKE) lint
	$(MAKE) -j 2 tests types docs

check: $(READY)  ## the fast part
	$(MAKE) lint
	$(MAKE) -j 2 fast-tests types

.PHONY: lint
lint: $(READY)   ## format, lint, layers
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports

.PHONY: types
types: $(READY)  ## types; one process for a minute, which is why it runs beside the tests
	$(BIN)/mypy

.PHONY: fast-tests
fast-tests: $(READY)
	$(BIN)/pytest $(AT_ONCE) -m "not slow and not chaos"

.PHONY: tests coverage
coverage: SELECTED := not slow and not chaos
tests: SELECTED := not chaos
coverage:        ## the fast tests, watched: they reach at least 90 % of lines
tests coverage: $(READY)
	$(BIN)/coverage erase
	COVERAGE_CORE=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
		$(BIN)/coverage run -m pytest $(AT_ONCE) -m "$(SELECTED)"
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --skip-covered --sort=cover

.PHONY: docs
docs: $(READY)   ## the site of the documents, in build/site; a link that leads nowhere ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

smoke: $(READY)  ## one real training step with SmolLM2-135M as policy and executor
	$(BIN)/python scripts/smoke.py

bench: $(READY)  ## every benchmark; each prints a ratio measured in one run
	for name in $(BENCHES); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

.PHONY: bench-training
bench-training: $(READY) ## update and sampling against TRL, e.g. ARGS=--quick or ARGS="--model smollm2-135m"
	$(BIN)/python benchmarks/training.py $(ARGS)

.PHONY: bench-step
bench-step: $(READY) ## a whole step with slow, uneven rewards against TRL's
	$(BIN)/python benchmarks/whole_step.py $(ARGS)

kills: $(READY)  ## kill training with -9 at 20 random moments; it must end as if nothing had happened
	KILLS=20 $(BIN)/pytest -s tests/training/test_killed_runs.py

.PHONY: chaos
chaos: $(READY)  ## what make test leaves out: real models, and runs broken in every way (Ray workers: make test-ray)
	$(BIN)/pytest -m chaos
	FUZZ=300 $(BIN)/pytest -s tests/test_fuzz.py
	CHAOS=3 $(BIN)/pytest -s tests/training/test_chaos.py
	KILLS=10 $(BIN)/pytest -s tests/training/test_killed_runs.py
	KILLS=10 CHAOS=1 $(BIN)/pytest -s tests/training/test_killed_verbs.py

.PHONY: fuzz
fuzz: $(READY)   ## 300 spoiled configurations, rows, checkpoints, replies, files that runs keep; properties on new examples
	FUZZ=300 $(BIN)/pytest -s tests/test_fuzz.py
	$(BIN)/pytest $(AT_ONCE) --hypothesis-profile=drawn $$(grep -rl "from hypothesis" tests --include=test_*.py)

.PHONY: audit
audit: $(AUDIT)/.ready $(READY) ## known holes in the installed packages (asks the package index)
	$(BIN)/python scripts/audit.py $(AUDIT)/bin/pip-audit "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" $(ARGS)

.PHONY: sbom
sbom: $(AUDIT)/.ready $(READY) ## sbom.cdx.json: what is installed, in the CycloneDX format
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --of JSON -o sbom.cdx.json

# tools in an environment of their own: they change nothing of what they look at
$(AUDIT)/.ready:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install -q --disable-pip-version-check 'pip-audit>=2.10,<3' 'cyclonedx-bom>=7.5,<8'
	touch $@

.PHONY: test-ray
test-ray: $(READY) ## workers on a Ray cluster of several nodes, all on this machine; installs the extra
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,ray]'
	RAY_TESTS=1 $(BIN)/pytest tests/workers

.PHONY: ranks
ranks: $(READY)  ## whole runs under accelerate launch: equal to one process, also when killed and resumed
	RANKS=1 $(BIN)/pytest -s tests/training/test_ranks.py tests/training/test_launched_runs.py

format: $(READY) ## mend format and what lint can mend
	$(BIN)/ruff format -q . ; $(BIN)/ruff check -q --fix .

# torch for the processor is gigabytes smaller; its index is taken where there is no NVIDIA GPU and the index answers
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
ANSWERS := import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=3)
FOR_PROCESSOR = $(shell test -e /dev/nvidia0 || { $(PYTHON) -c '$(ANSWERS)' $(TORCH_INDEX) 2> /dev/null \
	&& echo --extra-index-url $(TORCH_INDEX); })

setup: $(READY)  ## make the environment
$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "Python 3.10 or newer is needed, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check $(FOR_PROCESSOR) -c constraints.txt -e .
	touch $(RUNS)
$(READY): $(RUNS)
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)

clean:           ## remove the environment and caches (not data, checkpoints or results)
	rm -rf $(VENV) $(AUDIT) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage*

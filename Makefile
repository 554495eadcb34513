# Everything here does its own set-up: Python 3.11 or newer and make are all that has to be there.
# Java: JAVA_HOME or a java 17+ on the PATH where there is one, otherwise the one in a Python package.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests side by side: on two cores one of three waits for a broker most of the time.
PROCESSES ?= 3
# What a developer waits for: no broker, no Spark, no shell, nothing over ten seconds; a process each core.
QUICK := -n 2 --dist loadgroup --hypothesis-profile=check -m 'not kafka and not spark and not shell and not slow'
# Of a search: examples of a property, and seconds of each decoder.
EXAMPLES ?= 1000
SECONDS ?= 60
# Compiling every module anew costs each process that tests start more than it does.
unexport PYTHONDONTWRITEBYTECODE
BASE_PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test archives check changed tests-of search traces mutants lint format bench docs golden completions losses conformance conformance-old constraints clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 17

# One run for each state of pyproject.toml and constraints.txt.
$(READY): pyproject.toml constraints.txt
	@test -n "$(BASE_PYTHON)" || { echo 'error: no Python 3.11 or newer on the PATH; name one: make BASE_PYTHON=...' >&2; exit 2; }
	$(BASE_PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraints constraints.txt --build-constraints constraints.txt --editable '.[dev]'
	@touch $@

# Prints a command line, then what it answers.
define show
@printf '\n$$ %s\n' '$(1)'
@$(BIN)/$(1)
endef

demo: $(READY) ## describe and check a packaged dump, audit packaged dumps on Spark
	$(call show,kreplica describe --dump sample --exit-zero)
	$(call show,kreplica describe --dump sample --under-replicated --exclude-internal --exit-zero)
	$(call show,kreplica check --dump sample --exit-zero)
	$(call show,kreplica audit sample --exit-zero)

test: archives lint ## lint, then every test, those with a real Kafka and Spark too
	$(BIN)/pytest -n $(PROCESSES) --dist loadgroup

check: lint ## style, types, layering and the quick tests: no broker, no Spark; within three minutes
	$(BIN)/pytest $(QUICK) tests/unit tests/cli tests/completions tests/docs --ignore tests/docs/test_examples.py

archives: $(READY) ## archives of Kafka's and Spark's classes, once for each Java: less processor time at each start
	@$(BIN)/python tests/support/real_clusters/class_archives.py 4.3.1 3.9.2
	@$(BIN)/kreplica audit prepare || echo 'audits go on without an archive'

changed: $(READY) ## the quick tests that the changed files reach, by imports
	@files=$$($(BIN)/python tests/support/suite/tests_of.py --changed); \
	  if [ -n "$$files" ]; then $(BIN)/pytest $(QUICK) $$files; else echo 'no changed file reaches a test'; fi

tests-of: $(READY) ## the quick tests that a file reaches: make tests-of FILE=kreplica/store/layout.py
	@test -n '$(FILE)' || { echo 'error: name a file: make tests-of FILE=kreplica/store/layout.py' >&2; exit 2; }
	@files=$$($(BIN)/python tests/support/suite/tests_of.py $(FILE)); \
	  if [ -n "$$files" ]; then $(BIN)/pytest $(QUICK) $$files; else echo 'no test reaches $(FILE)'; fi

search: $(READY) ## new random examples, then fuzzed decoders, for an hour or two: SEED=, EXAMPLES=, SECONDS=
	@seed=$(or $(SEED),$$(date +%s)); echo "seed $$seed: make search SEED=$$seed draws the same examples again"; \
	  EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n $(PROCESSES) --dist loadgroup --timeout 0 --hypothesis-profile=search \
	  --hypothesis-seed=$$seed -m 'hypothesis and not kafka and not spark'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraints constraints.txt --build-constraints constraints.txt --editable '.[search]'
	$(BIN)/python tests/support/fuzzing/decoders.py --seconds $(SECONDS)

traces: $(READY) ## a real cluster under random faults, its decisions held against the rules: MODE=, MINUTES=, SEED=
	$(BIN)/python tests/support/real_clusters/random_faults.py --mode $(or $(MODE),kraft) --minutes $(or $(MINUTES),30) \
	  $(if $(SEED),--seed $(SEED))

mutants: $(READY) ## change lines one at a time, record what the tests notice: AREA=, COUNT=, SEED=; or all of FILE=
	$(BIN)/python tests/support/suite/mutants.py $(if $(FILE),--file $(FILE),--area $(or $(AREA),all) \
	  --count $(or $(COUNT),15) --seed $(or $(SEED),1))

lint: $(READY) ## style, types, layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY) ## put the code into the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## write docs/reference from the code
	$(BIN)/python docs/generator/generate.py docs/reference

golden: $(READY) ## ask Kafka's own classes anew, by Java 17 and Maven: make golden FILE=leader-epochs.txt
	$(BIN)/python tests/support/releases/kafka_classes.py $(FILE)
	$(BIN)/python tests/support/releases/golden_tables.py

completions: $(READY) ## write completions/ from the program
	$(BIN)/python docs/generator/generate.py completions

losses: $(READY) ## write the tables of docs/losses.md: settings that lose records, by faults and losses of power
	$(BIN)/python docs/generator/loss_table.py docs/losses.md
	$(BIN)/python docs/generator/client_table.py docs/losses.md
	$(BIN)/python docs/generator/group_table.py docs/losses.md

conformance: $(READY) ## play scripts on real brokers and on the engine, write the table of docs/conformance.md: ROWS=
	PYTHONPATH=tests/support $(BIN)/python -m conformance --page docs/conformance.md $(ROWS)

conformance-old: $(READY) ## the same on old releases, on both sides of rules that changed: ROWS='2.0.0 missed-epoch'
	PYTHONPATH=tests/support $(BIN)/python -m conformance.old --page docs/conformance.md $(ROWS)

constraints: $(READY) ## renew constraints.txt: the newest versions that pyproject.toml allows
	printf 'hatchling\n' | $(BIN)/uv pip compile --quiet --universal --upgrade --all-extras --no-annotate \
	  --no-header --no-emit-index-url --output-file constraints.txt pyproject.toml -
	@echo 'constraints.txt is renewed; make test installs and tries it'

bench: $(READY) ## measure what the README says about speed
	for file in $(filter-out %/compiled.py %/speed.py %/sensitivity.py %/switched_off.py,$(wildcard benchmarks/*/*.py)); do \
	  $(BIN)/python "$$file" || exit; done

clean: ## remove what these targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

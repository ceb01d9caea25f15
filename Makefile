# Every target sets up what it needs and is instant when nothing has changed. `make` lists them.
PYTHON  ?= python3.11
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
# One more than there are cores: tests wait for programs, sockets and the clock for a third of their time.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 1) + 1)
TEST_CPU ?= 5
N       ?= 1000
SEED    ?= 0
SPINE   := src/soundstage/errors.py,src/soundstage/config.py,src/soundstage/messages.py,src/soundstage/match/*,src/soundstage/clock/*,src/soundstage/journal/*,src/soundstage/lifecycle/*,src/soundstage/models/*,src/soundstage/scripts/*,src/soundstage/tools/*
SPINE_TESTS := tests/test_errors.py tests/test_config.py tests/test_messages.py tests/test_match.py tests/test_match_expression.py tests/clock tests/journal tests/lifecycle tests/models tests/scripts tests/tools
GATED_TESTS := tests/runs tests/workflows tests/trace tests/judges
# Tests start many programs, and each would compile our sources again where a shell forbids bytecode.
export PYTHONDONTWRITEBYTECODE :=
PYTEST  := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

.PHONY: help demo test test-all check format bench mutants compat clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml tools/setup.sh
	@sh tools/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $(READY)

# One after the other: both bring the node if it is not there.
PROMPTFOO := .cache/promptfoo/ready
$(PROMPTFOO): $(READY) tests/evals/promptfoo/package.json tools/node.sh
	@sh tools/node.sh $(BIN)/python .cache/promptfoo tests/evals/promptfoo/package.json

CLIENTS := .cache/clients/ready
$(CLIENTS): $(READY) tests/clients/package.json tools/node.sh | $(PROMPTFOO)
	@sh tools/node.sh $(BIN)/python .cache/clients tests/clients/package.json

demo: $(READY)  ## eight scenarios, live, then a table and an HTML page
	@$(BIN)/soundstage demo --out soundstage-demo

# MkDocs prints a notice about its next version, which is not the one that is installed.
.PHONY: docs
docs: $(READY)  ## the documents as a site, in build/site: it opens from disk, search included
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)
	@echo "the site is at build/site/index.html"

# What it leaves out, and why, is in CONTRIBUTING.md. ARGS are options of pytest.
test: $(READY)  ## the fast part of the tests, in parallel and in random order: some minutes
	@$(PYTEST) -m "not full" --hypothesis-profile=fast --soundstage-test-cpu $(TEST_CPU) $(ARGS)

# Two runs, because measuring costs time: the spine and the modules of tools/gates.py have to be covered by their own
# tests, the others run without.
test-all: $(READY) $(PROMPTFOO) $(CLIENTS)  ## all tests: the real CLI in full, browsers, containers, programs; and the coverage of the spine
	@$(PYTEST) --cov --cov-report= $(SPINE_TESTS) $(GATED_TESTS) $(ARGS); spine=$$?; \
	$(PYTEST) $(SPINE_TESTS:%=--ignore=%) $(GATED_TESTS:%=--ignore=%) $(ARGS) && [ $$spine = 0 ]
	@$(BIN)/coverage report --include='$(SPINE)' --fail-under=90 --skip-covered
	@$(BIN)/python tools/gates.py

check: $(READY)  ## format, lint, types, layers, sizes, public names
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types shape

# Types take as long as all the rest.
.PHONY: types shape
types: $(READY)
	@$(BIN)/mypy

shape: $(READY)
	@$(BIN)/ruff format --check --quiet src tests bench tools examples
	@$(BIN)/ruff check --quiet src tests bench tools examples
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/shape.py
	@$(BIN)/python -m pytest -q -p no:randomly -p no:cacheprovider tests/test_exports.py

format: $(READY)  ## bring the code into shape
	@$(BIN)/ruff format src tests bench tools examples
	@$(BIN)/ruff check --fix src tests bench tools examples

bench: $(READY)  ## what is measured, as ratios against peers and limits; writes bench/results.md
	@$(BIN)/python bench/run.py $(ARGS)

# mutmut is installed here and pinned, because nothing else needs it and because tools/mutants.py calls its inner functions.
mutants: $(READY)  ## by hand, an hour: 400 small changes to the code, and whether its own tests notice; ARGS="--seed 12 --count 100"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mutmut==3.8.1'
	@$(BIN)/python tools/mutants.py $(ARGS)

# The tests run the same strategies with few cases and a fixed seed; this is for finding more, by hand.
fuzz: $(READY)  ## odd requests and scripts: N cases for each kind, drawn from SEED
	@FUZZ_CASES=$(N) nice -n 19 $(BIN)/python -m pytest -q -p no:cacheprovider -p no:randomly --hypothesis-profile=fuzz \
	--hypothesis-seed=$(SEED) --hypothesis-show-statistics $$(find tests -name 'test_odd_*.py') $(ARGS)

compat:  ## whether the newest SDKs have fields or routes that our tables do not know; needs the network
	@sh tools/compat.sh "$(PYTHON)" build/compat

clean:  ## remove what the targets have made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* soundstage-demo build bench/node_modules

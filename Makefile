# Two commands matter: `make demo` (see it work) and `make test` (trust it).
# Each does its own set-up from a fresh clone; `make venv` is the step they share.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Workers for the parallel test run; the soak runs one at a time on purpose.
JOBS ?= 2

# Bytecode is kept, or every process that a test starts compiles the libraries anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: venv dev system-deps demo test soak mutate bench figures rules proto clean

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "steadyhand needs Python 3.11 or later; none was found. Set PYTHON=/path/to/python."; exit 2; }
	$(PYTHON) -m venv $(VENV)

# What running needs and no more.
$(VENV)/.run-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

# What testing needs on top.
$(VENV)/.dev-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.run-ready

venv: $(VENV)/.run-ready
dev: $(VENV)/.dev-ready

system-deps:
	@sh bench/system_deps.sh

demo: venv
	@mkdir -p out
	$(BIN)/steadyhand demo --script kill_link --seed 7 --json out/demo.json --plot out/demo.html

PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -W error
# Every file of the safety tests runs once: under coverage, but for whole streams through the envelope,
# over which tracing would take three times as long.
STREAMS := tests/core/safety/test_safety_shock_streams.py tests/core/safety/test_safety_controller.py
TRACED := $(filter-out $(STREAMS),$(sort $(wildcard tests/core/safety/test_*.py)))

# The last run is the suite under -O. It is set by the environment, which pytest's workers and the
# processes of tests inherit, as they do not inherit the option (tests/conftest.py).
test: dev system-deps
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -m "not soak" $(TRACED:%=--ignore %)
	$(PYTEST) -m "not soak" $(TRACED) \
		--cov steadyhand.core.safety --cov-branch --cov-report term:skip-covered --cov-fail-under 100
	PYTHONOPTIMIZE=1 $(PYTEST) -W "ignore:assertions not in test modules:pytest.PytestConfigWarning" \
		-m "not soak and not slow and not browser"

soak: dev
	$(BIN)/python -m pytest -n $(JOBS) -W error -m soak

# Every mutant of the safety rules is killed or explained (FILES=latch for one file; resumes after a stop).
mutate: dev
	nice $(BIN)/python -m bench.mutate $(FILES)

bench: dev
	$(BIN)/python -m bench

# Everything that is generated from the code; tests fail when the committed copies have drifted.
figures: venv
	$(BIN)/steadyhand figures --out docs/figures
	$(BIN)/steadyhand simulate --link wifi_burst --seed 7 --duration 30 --plot docs/demo.png
rules: venv
	$(BIN)/python -m steadyhand.view.rules docs/rules
proto: dev
	$(BIN)/python bench/generate_proto.py

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis

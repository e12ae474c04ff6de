# Works with nothing but python3 (with venv) and make on the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WITH_EXTRAS := $(VENV)/.extras
WITH_TOOLS := $(VENV)/.tools
OLDEST := $(VENV)/oldest
COMPILED := $(VENV)/.compiled
ON_WINDOWS := -p lpirc_client -p lpirc_testsets -p lpirc_power
SOURCES := referee tracks/lpirc_tracks scoring/lpirc_score power/lpirc_power datasets/lpirc_testsets client/lpirc_client

OTHER_PYTHON := run make setup PYTHON=python3.12, with the name of one that is installed
NO_PYTHON := $(PYTHON) is not installed: on Debian run apt-get install python3-venv, then make again; or $(OTHER_PYTHON)
OLD_PYTHON := Python 3.11 or newer is needed, and $(PYTHON) is not: $(OTHER_PYTHON)

SLIPS := $(foreach name,args Args images window port faults client testset,$(if $(filter command,$(origin $(name))),$(name)))
ifneq ($(strip $(SLIPS)),)
$(error make reads no $(strip $(SLIPS)): options go into ARGS, as in make rehearse ARGS="--images 10")
endif

.PHONY: help moved setup extras tools rehearse demo test test-all test-on wheels release simulate mutants lint bench soak watch-table serve docs screenshots lock vendor clean

help:
	@echo "make rehearse   a whole contest run on this machine, with simulated meter and sample client"
	@echo "make demo       a rehearsed contest day with board and console to look at"
	@echo "make test       the tests that take no time, most of them: 4 minutes; ARGS=\"tests/power -n 0\" runs all of a part"
	@echo "make test-all   every test, also those of whole days, browsers and kills: 20 minutes"
	@echo "make test-on SUITE=trixie  both commands of the README on a minimal Debian of that suite; needs root on Debian"
	@echo "make wheels     all six wheels in dist/, each installed alone in a fresh environment, and tried"
	@echo "make release VERSION=1.0.0 KEY=FILE  a release of this commit in dist/, checked, built twice and signed"
	@echo "make simulate   contest days from seeds, with everything that goes wrong; ARGS=\"--seconds 3600 --seed 1\""
	@echo "make mutants    small faults in the code of energy and windows, each of which a test must find; some 20 minutes"
	@echo "make lint       style, types, import rules, known vulnerabilities"
	@echo "make bench      speed, measured on this machine; ARGS=\"serving --save\" keeps the figures"
	@echo "make soak       a contest under faults for MINUTES=60; ARGS=--save keeps the table in docs/reliability.md"
	@echo "                ARGS=\"--day last\": a season's last day, with 100 teams, devices that fail and a host switched off"
	@echo "make watch-table  hours and figures of all parts of simulate and soak with ARGS=--watch; ARGS=--save keeps them"
	@echo "make serve      a referee on CONTEST (default: ./contest, made when missing)"
	@echo "make docs       the documents as a site in ./site, without network"
	@echo "make screenshots  take the pictures of the documents anew, from demo and rehearsal; needs Chromium"
	@echo "make setup      only build $(VENV), with what running needs (requirements.lock)"
	@echo "make extras     add Parquet, clusters and the runtimes of models (extras.lock)"
	@echo "make tools      add the extras and the tools of test, lint and docs (development.lock)"
	@echo "make lock       resolve the locks anew"
	@echo "make vendor     fetch the front-end pieces anew"
	@echo "make clean      remove $(VENV) and everything generated"

setup: $(READY)

# Programs in .venv name its folder: when it is moved, they are installed again.
MOVED := $(if $(wildcard $(READY)),$(shell test "$$(cat $(READY))" = "$$(pwd -P)" || echo moved))

$(READY): requirements.lock $(wildcard */pyproject.toml) $(MOVED)
	@command -v $(PYTHON) >/dev/null || { echo "$(NO_PYTHON)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 7))' || { echo "$(OLD_PYTHON)" >&2; exit 1; }
	@$(PYTHON) tests/environment.py $(VENV)
	@pwd -P > $@

extras: $(WITH_EXTRAS)

$(WITH_EXTRAS): $(READY) extras.lock
	@$(BIN)/python tests/environment.py $(VENV) extras
	@touch $@

tools: $(WITH_TOOLS)

$(WITH_TOOLS): $(READY) extras.lock development.lock client/oldest.lock
	@$(BIN)/python tests/environment.py $(VENV) tools
	@touch $@ $(WITH_EXTRAS)

moved:

rehearse: setup
	@$(BIN)/referee rehearse $(ARGS)

demo: setup
	@$(BIN)/referee demo $(ARGS)

# Most tests wait for other processes: six at a time keep two cores busy. Neighbours stay in one process, for what
# they share. Whoever names tests in ARGS gets all of these, the slow ones of tests/slow.txt too.
PYTEST := $(BIN)/python -m pytest -n 6 --dist worksteal
test: $(COMPILED)
	$(PYTEST) $(or $(ARGS),-m "not slow")

test-all: $(COMPILED)
	$(PYTEST) $(ARGS)

# Once for a fresh checkout: the processes that share the tests start together, and each would compile every file at
# the same time as the others.
$(COMPILED): $(WITH_TOOLS)
	$(BIN)/python -m compileall -q $(SOURCES)
	@$(BIN)/python -m pytest --collect-only -qq tests/referee >/dev/null & \
	  $(BIN)/python -m pytest --collect-only -qq --ignore tests/referee >/dev/null; wait
	@touch $@

# The file systems are kept in /var/cache/lpirc-referee. It needs no environment here: each system builds its own.
test-on:
	@test -n "$(SUITE)" || { echo "name the suite of Debian: make test-on SUITE=trixie" >&2; exit 2; }
	@$(PYTHON) -m tests.systems $(SUITE) $(ARGS)

wheels: setup
	$(BIN)/python -m tests.wheels

# Every reason to refuse comes first, before an hour of checks, and again at the end: nothing may have changed since.
release: tools
	@test -n "$(VERSION)" -a -n "$(KEY)" || { echo "name both: make release VERSION=1.0.0 KEY=FILE" >&2; exit 2; }
	@$(BIN)/python -m tests.release ready "$(VERSION)" --key "$(KEY)"
	$(MAKE) lint test-all wheels
	@$(BIN)/python -m tests.release make "$(VERSION)" --key "$(KEY)"

# First every planted fault, which must be found, then days counted on from a seed; one that fails is replayed step by
# step by: make simulate ARGS="--days 1 --seed N"
simulate: tools
	@$(BIN)/python -m tests.simulation $(ARGS)

# mutmut is installed for this only. It tells names by paths, so it works in a folder where each package stands at the
# top; what it changes are copies. ARGS="*energy.step_checks*" takes the mutants of one module.
MUTANTS := build/mutants
mutants: tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/mutants.lock
	rm -rf $(MUTANTS)
	mkdir -p $(MUTANTS)
	ln -s $(addprefix $(CURDIR)/,$(SOURCES) scoring tracks power datasets client tests pyproject.toml) $(MUTANTS)
	cd $(MUTANTS) && $(CURDIR)/$(BIN)/mutmut run --max-children 2 $(ARGS)
	cd $(MUTANTS) && $(CURDIR)/$(BIN)/mutmut results

lint: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 --exclude /harness/ $(ON_WINDOWS)
	$(OLDEST)/bin/mypy --config-file client/oldest.ini
	$(OLDEST)/bin/mypy --cache-dir .mypy_cache/oldest --python-version 3.8 --strict client/examples/python/client.py
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lines
	$(BIN)/python -m tests.audit

# The scorers that ours is measured beside are installed for this only.
bench: tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/requirements.lock
	$(BIN)/python -m bench $(ARGS)

MINUTES ?= 60
soak: tools
	@$(BIN)/python -m bench.soak --minutes $(MINUTES) $(ARGS)

# The parts that simulate and soak leave in bench/watch with ARGS=--watch.
watch-table: tools
	@$(BIN)/python -m bench.watch_table $(ARGS)

CONTEST ?= contest
serve: setup
	@test -n "$(CONTEST)" || { echo "name the folder of the contest: make serve CONTEST=contest" >&2; exit 2; }
	@test -e "$(CONTEST)/contest.toml" || $(BIN)/referee init "$(CONTEST)" --yes
	@$(BIN)/referee serve "$(CONTEST)" $(ARGS)

docs: tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build $(ARGS)
	@echo "Open site/index.html in a browser; it needs no server and no network."

screenshots: tools
	$(BIN)/python docs/make/screenshots.py

# One resolution of everything, and from it a lock for each group of pyproject.toml. No index host may enter a lock: it
# must install from whichever index the machine is set up for.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
  --no-emit-index-url --no-emit-find-links \
  $(addprefix --no-emit-package lpirc-,client power referee score testsets tracks)
LOCKED := build/locked.txt
lock: setup
	$(BIN)/python -m pip install --quiet uv
	@mkdir -p build
	cat *.lock > $(LOCKED)
	$(COMPILE) --group run --group extras --group develop -o $(LOCKED) $(ARGS)
	$(COMPILE) -c $(LOCKED) --group run -o requirements.lock
	$(COMPILE) -c $(LOCKED) --group extras -o extras.lock
	$(COMPILE) -c $(LOCKED) --group develop -o development.lock
	$(COMPILE) -c $(LOCKED) bench/requirements.in -o bench/requirements.lock
	$(COMPILE) -c $(LOCKED) bench/mutants.in -o bench/mutants.lock
	$(BIN)/uv pip compile --quiet --python-version 3.8 --generate-hashes --no-header \
	  --no-emit-index-url --no-emit-find-links client/oldest.in -o client/oldest.lock

# The front-end pieces in referee/pages/static/vendor, from npm, with their checksums.
vendor: setup
	$(BIN)/python -m referee.pages.vendor

.DEFAULT:
	@echo "make: there is no target '$@'; make help lists the targets" >&2; exit 2

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis rehearsals
	find . -name __pycache__ -prune -exec rm -rf {} +

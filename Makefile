# Every target makes the virtual environment it needs: Python 3.11+ and make are enough.
# All paths are relative, and everything runs as `python -m ...`: the checkout may lie in a folder
# with spaces in its name, which the first line of an installed script cannot express.

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
CODE := orchestrator workflows activities tests
LOCK_VENV := build/lock-venv
UV_VERSION := 0.13.9

# More options for one run: make test PYTEST_ARGS="-k ledger -x"
PYTEST_ARGS ?=
# make lock UPGRADE=--upgrade takes the newest versions; without it the pins stay where they can.
UPGRADE ?=

# Finds an interpreter; leaves it in $$python or stops with one line.
FIND_PYTHON = python=; \
	for candidate in "$(PYTHON)" python3 python3.13 python3.12 python3.11; do \
		if [ -n "$$candidate" ] && "$$candidate" -c \
			'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
			>/dev/null 2>&1; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "No Python 3.11 or newer with venv was found: install one, or name it with make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi

# Forbidden to keep what it has compiled, each of the hundreds of processes of a test run would
# compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo dev test test-all chaos chaos-store chaos-points screenshots browser bench real-model clients mcp injection missions interop structure lint types lock clean

help: ## this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1	\2/p' Makefile

demo: $(STAMP) ## three missions on real parts: success, rollback, killed worker
	$(PY) -m orchestrator demo

dev: $(STAMP) ## Temporal with its UI, the sandbox, a worker and the inbox, left running
	$(PY) -m orchestrator dev

# Files stay whole: the tests of one share servers that start with its first. They run in the order
# of tests/distribution.py, in more processes than CI has cores, for many tests mostly wait.
SIDE_BY_SIDE := -n 4 --dist loadfile --no-loadscope-reorder
ELSEWHERE := not long and not clients and not interop and not browser

test: $(STAMP) ## the tests of five minutes, side by side in four processes; PYTEST_ARGS adds options
	$(PY) -m pytest $(SIDE_BY_SIDE) -m "not slow and $(ELSEWHERE)" $(PYTEST_ARGS)

test-all: $(STAMP) ## what CI runs: these, and the files that tests/distribution.py lists as slow
	$(PY) -m pytest $(SIDE_BY_SIDE) -m "$(ELSEWHERE)" $(PYTEST_ARGS)

# More of one run: make chaos CHAOS_MISSIONS=50 CHAOS_SEEDS=7
CHAOS_MISSIONS ?= 120
CHAOS_SEEDS ?= 1 2 3

chaos: $(STAMP) ## the tests marked long, then runs of some minutes; CHAOS_SEEDS and CHAOS_MISSIONS choose
	$(PY) -m pytest -m long
	@set -e; for seed in $(CHAOS_SEEDS); do \
		$(PY) -m orchestrator chaos run --seed $$seed --missions $(CHAOS_MISSIONS); \
	done

chaos-store: $(STAMP) ## the same runs over workers with folders of their own, one PostgreSQL, which is killed as well
	@set -e; for seed in $(CHAOS_SEEDS); do \
		$(PY) -m orchestrator chaos run --store postgresql --workers 2 --seed $$seed --missions $(CHAOS_MISSIONS); \
	done

chaos-points: $(STAMP) ## one mission hit at every point there is, which takes as long as all of chaos
	$(PY) -m orchestrator chaos run --every-point

# The browser's library stays out of the lock that every other target installs.
screenshots: $(STAMP) ## take the pictures of docs/observing.md again, with Debian's Chromium
	$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--require-hashes --requirement tests/screenshots/requirements.lock
	$(PY) -m tests.screenshots

# Pictures of the inbox for the documentation: make browser BROWSER_PICTURES=docs/images
BROWSER_PICTURES ?= build/browser
BROWSER_CARDS ?= 500

browser: $(STAMP) ## the inbox in Debian's Chromium; BROWSER_CARDS waiting cards at its end
	$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--require-hashes --requirement tests/screenshots/requirements.lock
	BROWSER_PICTURES="$(BROWSER_PICTURES)" BROWSER_CARDS="$(BROWSER_CARDS)" \
		$(PY) -m pytest -m browser tests/browser $(PYTEST_ARGS)

bench: $(STAMP) ## speed, memory and size, measured; BENCH="http routing" chooses
	$(PY) -m tests.benchmarks $(BENCH)

# Compiles llama.cpp and joins the model once, under build/: 1.3 GB, ten to twenty minutes.
real-model: $(STAMP) ## sixteen goals planned by a real small model; REAL_MODEL_ARGS="--only table-en"
	$(PY) -m tests.benchmarks.real_model $(REAL_MODEL_ARGS)

# Clients that no environment holds together with the tests' own.
CLIENTS_VENV := build/clients-venv
CLIENTS_LOCK := tests/integration/proxy/clients.lock

clients: $(STAMP) ## the proxy with LangChain and LiteLLM, AG-UI and MCP with their own clients from npm
	@$(FIND_PYTHON); "$$python" -m venv --clear $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: --require-hashes --requirement $(CLIENTS_LOCK)
	CLIENTS_PYTHON="$(CURDIR)/$(CLIENTS_VENV)/bin/python" $(PY) -m pytest -m clients $(PYTEST_ARGS)

mcp: $(STAMP) ## missions over the reference MCP servers, which npm brings
	$(PY) -m pytest -m interop tests/integration/test_mcp_servers_of_others.py $(PYTEST_ARGS)

# AgentDojo brings the libraries of many providers of models, which nothing here needs.
MISSIONS_VENV := build/missions-venv
MISSIONS_LOCK := tests/benchmarks/missions/requirements.lock

missions: $(STAMP) ## the demo trip beside Temporal alone, DBOS and LangGraph; MISSIONS_ARGS="--part times"
	@$(FIND_PYTHON); "$$python" -m venv --clear $(MISSIONS_VENV)
	$(MISSIONS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: --require-hashes --requirement $(MISSIONS_LOCK)
	MISSIONS_PYTHON="$(CURDIR)/$(MISSIONS_VENV)/bin/python" \
		$(PY) -m tests.benchmarks missions $(MISSIONS_ARGS)

INJECTION_VENV := build/injection-venv
INJECTION_LOCK := tests/benchmarks/injection/requirements.lock
INJECTION_ARGS ?=

injection: $(STAMP) ## AgentDojo's attacks on a model that obeys them; INJECTION_ARGS="--part all"
	@$(FIND_PYTHON); "$$python" -m venv --clear $(INJECTION_VENV)
	$(INJECTION_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: --require-hashes --requirement $(INJECTION_LOCK)
	INJECTION_PYTHON="$(CURDIR)/$(INJECTION_VENV)/bin/python" \
		$(PY) -m tests.benchmarks injection $(INJECTION_ARGS)

# Node.js and npm bring Prism; DOCS is filled by `python -m tests.interop bring`, WORKFLOWS
# by `bring --workflows`, or by hand.
DOCS ?= build/interop/documents
WORKFLOWS ?= build/interop/workflows

interop: $(STAMP) ## third-party documents of DOCS called at Prism, workflows of WORKFLOWS run at the sandbox
	$(PY) -m tests.interop run $(DOCS) --out build/interop/results $(INTEROP_ARGS)
	$(PY) -m tests.interop workflows $(WORKFLOWS)

structure: $(STAMP) ## rooms, arrows, duplicate names and lengths of the code, counted
	$(PY) -m tests.structure

lint: $(STAMP) ## style, format and import contracts
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -c "from importlinter.cli import lint_imports_command; lint_imports_command()" --no-logo

.PHONY: docs
docs: $(STAMP) ## write the generated tables of the documentation
	$(PY) -m tests.doc_tables

types: $(STAMP) ## mypy, strict, tests included
	# Workflows and activities are read through the links in orchestrator/, each file once.
	$(PY) -m mypy orchestrator tests

lock: ## rewrite requirements.lock from pyproject.toml; UPGRADE=--upgrade takes newest versions
	@$(FIND_PYTHON); set -e; \
	"$$python" -m venv --clear $(LOCK_VENV); \
	$(LOCK_VENV)/bin/python -m pip install --quiet uv==$(UV_VERSION); \
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile pyproject.toml --group dev \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file requirements.lock
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile --group pyproject.toml:screenshots \
		--constraint requirements.lock \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet \
		--output-file tests/screenshots/requirements.lock
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile --group pyproject.toml:clients \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file $(CLIENTS_LOCK)
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile --group pyproject.toml:injection \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file $(INJECTION_LOCK)
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile pyproject.toml --extra llm \
		--constraint requirements.lock \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file deploy/image/runtime.lock
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile --group pyproject.toml:build \
		--constraint requirements.lock \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file deploy/image/build.lock
	$(LOCK_VENV)/bin/python -m uv --no-config pip compile --group pyproject.toml:missions \
		--python-version 3.11 --universal --generate-hashes --no-build $(UPGRADE) \
		--custom-compile-command "make lock" --quiet --output-file $(MISSIONS_LOCK)
	@rm -rf $(LOCK_VENV)

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last and holds the folder it was made in. Without it, or when the checkout
# has moved or the interpreter is gone, the environment is made anew: a half-made one heals itself.
ifneq ($(shell $(PY) -c '' 2>/dev/null && cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

# Wheels only and no build isolation: what is not in the lock is never fetched nor run.
$(STAMP): requirements.lock pyproject.toml | links
	@$(FIND_PYTHON); set -e; \
	echo "Making $(VENV) with $$python from requirements.lock (about a minute)"; \
	"$$python" -m venv --clear $(VENV); \
	$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--require-hashes --requirement requirements.lock; \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--no-index --editable .
	@pwd -P > $(STAMP)

# A checkout made without symbolic links (an archive, core.symlinks=false) has files in their place,
# each with the path that the link would have.
.PHONY: links
links:
	@set -e; for name in activities specs workflows; do \
		[ -L "orchestrator/$$name" ] || ln -sfn "../$$name" "orchestrator/$$name"; \
	done

# Everything sets itself up: `make demo`, `make test`, `make check` work on a machine with Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Each collects all tests and imports all libraries for itself: no more of them than cores.
WORKERS = $(shell $(PYTHON) -c "import os; print(os.cpu_count() or 2)")
# Tests are compiled once, also where the machine says that nothing shall be.
# What is pure is covered whole.
WHOLE = */model/*,*/gates/*,*/languages/*,*/mutation/*,*/loop/*
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

.PHONY: demo test tools long check docs slow gates overhead cycle size fuzz handoffs format clean

demo: $(STAMP)
	@$(BIN)/rgr demo

test: $(STAMP)
	@$(PYTEST) -m "not slow and not long" --cov --cov-report=term --cov-fail-under=95
	@$(BIN)/coverage report --include='$(WHOLE)' --fail-under=100 >/dev/null \
		|| { $(BIN)/coverage report --include='$(WHOLE)' --fail-under=100; exit 1; }

# What `make test` leaves out where bubblewrap, ripgrep, npm or setsid are not installed.
tools: $(STAMP)
	@$(PYTEST) -m "needs and not slow and not long"

# And what is tried out with made-up examples, with many more of them.
long: $(STAMP)
	@$(PYTEST) -m "long and not slow"
	@RGR_EXAMPLES=200 $(PYTEST) -m "hypothesis and not slow"

slow: $(STAMP)
	@$(PYTEST) -m slow -k "$(or $(ONLY),not corpus)"

# A small workflow with a real model: costs money, needs a key (docs/money.md).
.PHONY: live
live: $(STAMP)
	@RGR_LIVE=1 $(BIN)/python -m pytest tests/live -q -s

# Runs that are killed at random moments and resumed: the same end every time.
.PHONY: kills
kills: $(STAMP)
	@RGR_KILLS=$(or $(MOMENTS),100) $(PYTEST) tests/flow/test_flow_kill.py -k whenever

# Honest and cheating turns, judged: false accepts and false blocks must both be 0.
gates: $(STAMP)
	@$(BIN)/python bench/gates.py

# What evidence costs: CPU of a suite with our probe in it by that of the plain runner, at most 1.12.
overhead: $(STAMP)
	@$(BIN)/python bench/overhead.py

# What a cycle costs more with 50,000 more files in the repository, by what git takes for them: at most 2.
.PHONY: large
large: $(STAMP)
	@$(BIN)/python bench/large.py

# What a cycle costs: CPU of ours by that of the thinnest driver of the same steps, without a sandbox.
cycle: $(STAMP)
	@$(BIN)/python bench/cycle.py --sandbox off

# What it costs to judge a run again: CPU of `rgr verify` by that of the run's own gates, at most 1.2, and 3 suites a cycle.
.PHONY: verify
verify: $(STAMP)
	@$(BIN)/python bench/verify.py --sandbox off

# What it costs to be answered, by a bare interpreter: `rgr --help` and `rgr status` at most 5.
.PHONY: startup
startup: $(STAMP)
	@$(BIN)/python bench/startup.py

# What an installation without extras takes, byte code apart: at most 60 MB.
size: $(STAMP)
	@$(BIN)/python bench/size.py

# Odd texts and odd files for everything that is read from outside: none may lead to a traceback, or to nothing at all.
fuzz: $(STAMP)
	@RGR_FUZZ=$(or $(TEXTS),100000) RGR_FUZZ_FILES=$(or $(FILES),1000) \
		$(PYTEST) tests/unit/test_outside_texts.py tests/unit/test_outside_files.py

# What looking at a long run costs, by that of a short one and of git log: at most 1.5 and 2.
handoffs: $(STAMP)
	@$(BIN)/python bench/handoffs.py

# The README's pictures, from a real `rgr demo`.
.PHONY: pictures
pictures: $(VENV)/.docs
	@$(BIN)/python bench/pictures.py

check: $(STAMP) docs
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/lint-imports --no-cache | tail -n 4
	@$(BIN)/pyright

format: $(STAMP)
	@$(BIN)/ruff format -q .
	@$(BIN)/ruff check -q --fix .

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) …"
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The documentation as a site, in site/. Its tool is large, so the tests do without it; a link that leads nowhere fails.
docs: $(VENV)/.docs
	@$(BIN)/zensical build --strict --clean

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

clean:
	rm -rf site $(VENV) .pytest_cache .ruff_cache .coverage .coverage.* htmlcov

# The real programs that are agents, in a folder of their own outside the repository; what is there already stays.
.PHONY: agents clients
AGENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/redgreenrefactor-agents
agents:
	@PYTHON="$(PYTHON)" tests/install_programs.sh "$(AGENTS)"

# Whole workflows through them, with a model on loopback. `make test` leaves them out.
clients: $(STAMP) agents
	@RGR_AGENTS="$(AGENTS)" $(PYTEST) -m "programs" tests/flow tests/contract

# What a session costs beside the program that holds it: CPU of ours by that of the program, at most 5 %.
.PHONY: programs
programs: $(STAMP) agents
	@RGR_AGENTS="$(AGENTS)" PYTHONPATH=tests $(BIN)/python bench/programs.py

# Pages in a real browser: chromium, which has to be installed, driven by Playwright; axe-core looks for what keeps people out.
.PHONY: browser
BROWSER ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/redgreenrefactor-browser
browser: $(STAMP)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@npm install --prefix "$(BROWSER)" --no-save --no-package-lock --no-audit --no-fund --loglevel=error axe-core@4.14.0
	@RGR_AXE="$(BROWSER)/node_modules/axe-core/axe.min.js" $(BIN)/python -m pytest tests/browser -q

# What a report costs, by git log -p: at most 5; a page of watch with 10,000 handoffs, by that with 10: at most 3.
.PHONY: reports
reports: $(STAMP)
	@$(BIN)/python bench/reports.py

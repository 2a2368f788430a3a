# Everything runs from .venv, which each target sets up by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format bench docs clean lock

demo: $(STAMP)
	$(BIN)/rung demo

test: $(STAMP) chromium
	$(BIN)/python -m pytest -n 2 --dist loadfile tests

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m pytest -q -s -p no:cacheprovider tests/bench

# The site lands in docs/site and opens from disk. The variable silences a notice about the theme's successor.
DOCS_STAMP := $(VENV)/.docs-installed

docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build --strict --quiet -f docs/mkdocs.yml

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[docs]'
	touch $@

# The HTML report is tested in a real browser; Debian's package brings it where the user may install it.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null 2>&1 || sh .ci/install-chromium || true

$(STAMP): pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[dev]'
	touch $@

# Rewrites the pinned versions from what a fresh resolution of pyproject.toml gives.
lock:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[dev,docs]'
	$(BIN)/python -m pip freeze --exclude-editable > .ci/constraints.txt

clean:
	rm -rf $(VENV) docs/site .mypy_cache .ruff_cache .pytest_cache .hypothesis

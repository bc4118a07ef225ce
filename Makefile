# Two commands do everything: `make reproduce` and `make test`. Each makes its own
# virtual environment in .venv first; both can be run again and again.
PROFILE ?= laptop
ARGS    ?=
SEEDS   ?=
THINK   := GRPO,MAPO,RAPO
LONG    := $(if $(SEEDS),--from 04 -p SEEDS=$(SEEDS) -p 05:LONG_STEPS=180 \
           -p 07:THINKING=$(THINK) --out figures/$(PROFILE)_seeds$(SEEDS))
VENV    := .venv
PYTHON  ?= $(shell command -v python3.11 || command -v python3)
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready

export HF_HUB_OFFLINE ?= 1
export HF_HUB_DISABLE_TELEMETRY ?= 1
export TRL_EXPERIMENTAL_SILENCE ?= 1
export TOKENIZERS_PARALLELISM ?= false
export OMP_NUM_THREADS ?= 1

.PHONY: help reproduce test lab lint env clean
.DEFAULT_GOAL := help

help:
	@echo "make reproduce   run every notebook; tables and figures go to figures/$(PROFILE)"
	@echo "                 (PROFILE=smoke|laptop|gpu|paper, ARGS='--only 03' and so on)"
	@echo "make reproduce SEEDS=5   the long run: the notebooks that train, with five seeds, a"
	@echo "                 long pair of 180 steps, and three methods with thinking in the"
	@echo "                 race; results go to figures/$(PROFILE)_seeds5"
	@echo "make test        run the whole test suite"
	@echo "make lab         open JupyterLab on the notebooks"
	@echo "make lint        check style, and that notebooks are committed without outputs"
	@echo "make clean       remove the environment, the caches and runs/"

reproduce: $(READY)
	@$(BIN)/python -m helpers.reproduce --profile $(PROFILE) $(LONG) $(ARGS)

test: $(READY)
	@$(BIN)/python -m pytest $(ARGS)

lab: $(READY)
	@$(BIN)/jupyter lab notebooks

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/nbstripout --verify notebooks/*.ipynb

env: $(READY)

# The marker is written last: an install that was cut off starts over.
$(READY): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "No python3 found: install Python 3.11 or name one, PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and "Python %d.%d is too old: the kit needs 3.11 or newer. Name one with PYTHON=/path/to/python3.11" % v)'
	@echo "Preparing $(VENV) (once; one to four minutes and 2 GB)"
	@test ! -e $(VENV) || test -f $(VENV)/pyvenv.cfg || { echo "$(VENV) is not a virtual environment: move it away"; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

clean:
	@test ! -e $(VENV) || test -f $(VENV)/pyvenv.cfg || { echo "$(VENV) is not a virtual environment: left alone"; exit 1; }
	rm -rf $(VENV) runs .pytest_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

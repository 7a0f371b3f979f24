# make            build everything            make demo    train a CNN on npu and on cpu
# make test       C++ and Python tests        make bench   speed beside native CPU PyTorch
# make test-full  the slow ones as well       make lint    formatting, ruff, mypy
# make wheel      both wheels into dist/      make tidy    clang-tidy, slow
# make docs       docs/operators.md from the operator table, docs/api.md from the tests
# make test-official   the official torch-npu wheel, unmodified, on softcann
#
# Each of them sets up what it needs, first of all .venv. Useful variables:
#   PYTHON=python3.11  JOBS=2  PYTEST_ARGS="-k stream -x"

PYTHON ?= python3.11
JOBS ?= $(shell nproc)
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
BUILD := build/cmake
INSTALLED := $(VENV)/.installed
ECOSYSTEM := $(VENV)/.ecosystem

export PATH := $(CURDIR)/$(BIN):$(PATH)

CXX_FILES = $(shell git ls-files -co --exclude-standard -- '*.h' '*.c' '*.cpp')
CXX_SOURCES = $(filter-out test/% examples/%,$(filter %.cpp,$(CXX_FILES)))

.PHONY: build setup configure products gtest test test-cpp test-python test-full test-official \
        official-wheel demo bench wheel docs lint format tidy clean

build: configure
	ninja -C $(BUILD) -j $(JOBS)

# Python and its packages ---------------------------------------------------------------------

setup: $(INSTALLED)

$(INSTALLED): requirements/dev.txt pyproject.toml softcann/pyproject.toml cmake/softnpu_build.py \
              torch_npu/version.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "make: '$(PYTHON) -m venv' failed: it takes Python 3.11 with its venv module"; exit 1; }
	$(BIN)/python -m pip install -r requirements/dev.txt
	$(call install-editable,./softcann,python/softcann)
	$(call install-editable,.,torch_npu)
	@touch $@

# Libraries that only examples/ecosystem and its tests use. None may replace what dev.txt names.
$(ECOSYSTEM): requirements/ecosystem.txt requirements/timm.txt $(INSTALLED)
	$(BIN)/python -m pip install -c requirements/dev.txt -r requirements/ecosystem.txt
	$(BIN)/python -m pip install --no-deps --upgrade --target $(VENV)/timm -r requirements/timm.txt
	@touch $@

# The packages are used from the source tree, where CMake puts the compiled parts; this writes only
# their metadata: entry points, and where they lie. torch_npu is not loaded meanwhile.
define install-editable
TORCH_DEVICE_BACKEND_AUTOLOAD=0 $(BIN)/python -m pip install --no-deps --no-build-isolation \
  -C editable.mode=inplace -C wheel.cmake=false -C wheel.packages=$(2) -e $(1)
endef

# Compiled parts ------------------------------------------------------------------------------

configure: $(INSTALLED)
	cmake -S . -B $(BUILD) -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python $(CONFIGURE)

# What Python needs, without the tests.
products: configure
	ninja -C $(BUILD) -j $(JOBS) softcann_toolkit torch_npu_python

gtest:
	@echo '#include <gtest/gtest.h>' | $(CXX) -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq libgtest-dev || true; \
	  fi

# Checks --------------------------------------------------------------------------------------

test: PYTEST_MARKS := not full
test-full: PYTEST_MARKS := full or not full

# Both suites run whatever the other says; either failing fails the target.
test test-full: CONFIGURE := -DBUILD_TESTING=ON
test test-full: gtest $(ECOSYSTEM) build
	@mkdir -p build/test; failed=; \
	if grep -q add_test $(BUILD)/test/softcann/CTestTestfile.cmake; then \
	  ctest --test-dir $(BUILD) --output-on-failure --timeout 300 --no-tests=error || failed=1; \
	else \
	  skipped="The C++ tests were skipped: GoogleTest is missing (apt-get install libgtest-dev)."; \
	fi; \
	python -m pytest -m "$(PYTEST_MARKS)" -n $(JOBS) --junitxml=build/test/pytest.xml \
	  $(PYTEST_ARGS) || failed=1; \
	if [ -n "$$skipped" ]; then echo "$$skipped"; fi; \
	test -z "$$failed"

test-cpp: CONFIGURE := -DBUILD_TESTING=ON
test-cpp: gtest build
	ctest --test-dir $(BUILD) --output-on-failure --timeout 300 --no-tests=error

test-python: $(ECOSYSTEM) products
	python -m pytest -m "not full" -n $(JOBS) $(PYTEST_ARGS)

# The official wheel lies in a virtual environment of its own. It comes from PyPI, or is the file
# OFFICIAL_WHEEL. Another version, on demand: make test-official OFFICIAL=2.14.0, with a softcann
# built for that torch.
OFFICIAL ?= 2.13.0
OFFICIAL_VENV := build/official/venv-$(OFFICIAL)

# Fails where the package index does not have it.
official-wheel: $(INSTALLED)
	@mkdir -p build/official
	$(BIN)/python -m pip download -q --no-deps -d build/official torch-npu==$(OFFICIAL)

$(OFFICIAL_VENV)/.installed: test/official/requirements.txt requirements/ecosystem.txt $(INSTALLED)
	$(BIN)/python -m venv --clear $(OFFICIAL_VENV)
	cat requirements/dev.txt requirements/ecosystem.txt | grep -v '^torch==' > build/official/constraints.txt
	$(OFFICIAL_VENV)/bin/python -m pip install -q torch==$(OFFICIAL) -r $< \
	  -c build/official/constraints.txt
	$(OFFICIAL_VENV)/bin/python -m pip install -q --no-deps \
	  $(or $(OFFICIAL_WHEEL),$(wildcard build/official/torch_npu-$(OFFICIAL)-*.whl),torch-npu==$(OFFICIAL))
	@touch $@

test-official: products $(OFFICIAL_VENV)/.installed
	SOFTNPU_OFFICIAL_PYTHON=$(CURDIR)/$(OFFICIAL_VENV)/bin/python \
	  python -m pytest test/official -m "not full" -n $(JOBS) $(PYTEST_ARGS)

demo: products
	python examples/train_digits.py --device npu --out build/demo

bench: products
	python -m benchmarks.run --out build/bench

lint: $(INSTALLED)
	@failed=; \
	clang-format --dry-run -Werror $(CXX_FILES) || failed=1; \
	ruff check . || failed=1; \
	ruff format --check . || failed=1; \
	mypy || failed=1; \
	if [ -n "$$failed" ]; then echo "make lint: failed; 'make format' mends what is layout"; exit 1; \
	else echo "make lint: all passed"; fi

format: $(INSTALLED)
	clang-format -i $(CXX_FILES)
	ruff check --fix-only --quiet .
	ruff format .

tidy: build
	$(BIN)/python -m pip install -q -r requirements/tidy.txt
	clang-tidy -p $(BUILD) --quiet $(CXX_SOURCES)

# The page of all operators, after a change of the operator table, and that of the public names.
docs: products
	TORCH_DEVICE_BACKEND_AUTOLOAD=0 $(BIN)/python -m operators.document
	cd test && ../$(BIN)/python -m api.page

# Distributions -------------------------------------------------------------------------------

# Both come from the development build's objects; only the install step differs.
wheel: products
	rm -f dist/*.whl
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation -w dist \
	  -C build-dir=$(CURDIR)/$(BUILD) ./softcann
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation -w dist \
	  -C build-dir=$(CURDIR)/$(BUILD) .
	@ls -l dist

clean:
	rm -rf build dist softcann/python/softcann/toolkit torch_npu/lib torch_npu/_C*.so

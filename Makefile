# A thin front of CMake presets; `make help` lists the targets.
.PHONY: all deps deps-test check check-layers check-format format test test-release test-asan test-tsan cases e2e test-long fuzz bench \
	tidy demo install clean help
CCACHE := $(shell command -v ccache 2>/dev/null)
CONFIGURE := cmake $(if $(CCACHE),-D CMAKE_C_COMPILER_LAUNCHER=ccache -D CMAKE_CXX_COMPILER_LAUNCHER=ccache) --preset
DESTDIR ?=
PREFIX ?= /usr/local

all: build/CMakeCache.txt ## build/frazil, with optimisation
	@cmake --build --preset release

build/CMakeCache.txt:
	@$(CONFIGURE) release >/dev/null

build/asan/CMakeCache.txt build/tsan/CMakeCache.txt build/fuzz/CMakeCache.txt: build/%/CMakeCache.txt:
	@$(CONFIGURE) $* >/dev/null

deps: ## install the Debian packages that a build needs, if missing
	@tools/deps build

deps-test: ## and what the tests need: packages, Python environments, Kafka
	@tools/deps test

check: all check-layers check-format ## unit tests, layers and format, in under two minutes
	@ctest --preset release

check-layers:
	@tools/check-layers

check-format:
	@tools/check-format

format: ## rewrite all sources in the project's format
	@tools/check-format --fix

# What fails fast comes first; one failure does not hide the others.
test: deps-test ## all that a change must pass, in some 20 minutes
	@failed=; for step in check test-asan test-tsan cases e2e; do \
		echo "== make $$step"; $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

test-asan: build/asan/CMakeCache.txt ## unit tests and fuzz corpora under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --build --preset asan
	@ctest --preset asan

test-tsan: build/tsan/CMakeCache.txt ## threaded tests under ThreadSanitizer
	@cmake --build --preset tsan
	@ctest --preset tsan

cases: all ## records of foreign serializers through the program
	@tests/cases/run

e2e: all ## a real Kafka, kills, and independent readers
	@tests/e2e/run

test-long: test ## besides: a million rows, the real registry, Spark, ten minutes against fastavro, five a fuzz target
	@tools/deps long
	@E2E_ROWS=1000000 E2E_REGISTRY=apicurio tests/e2e/run tests/e2e/exactly_once.py
	@E2E_SPARK=1 tests/e2e/run tests/e2e/churn.py
	@E2E_LONG=1 tests/e2e/run tests/e2e/memory.py
	@E2E_TOPICS=40 E2E_VERSIONS=10 tests/e2e/run tests/e2e/deep_avro.py
	@E2E_SECONDS=600 tests/e2e/run tests/e2e/avro_diff.py
	@build/venv/judge/bin/pip install -q --disable-pip-version-check -r tests/judge/requirements.txt
	@tests/judge/jvm.sh get $(CURDIR)/build/jvm
	@E2E_LONG=1 E2E_JVM=$(CURDIR)/build/jvm tests/e2e/run tests/e2e/engines.py
	@FUZZ_SECONDS=300 $(MAKE) --no-print-directory fuzz

fuzz: build/fuzz/CMakeCache.txt ## each fuzz target for FUZZ_SECONDS (20)
	@cmake --build --preset fuzz
	@tools/fuzz

bench: all ## rows per CPU-second, and the floor beside it
	@bench/run

tidy: all ## clang-tidy over src
	@find src -name '*.c' | xargs -P "$$(nproc)" -n 4 clang-tidy-14 --quiet -p build

demo: deps ## install what is missing, build, and make a live table
	@$(MAKE) --no-print-directory all
	@build/frazil demo --once --dir build/demo

install: all ## to $(DESTDIR)$(PREFIX)
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean: ## remove build products; Python environments and Kafka stay
	@find build -mindepth 1 -maxdepth 1 ! -name venv ! -name svc -exec rm -rf {} + 2>/dev/null || true

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14

# SPDX-License-Identifier: Apache-2.0
# Every target installs missing dependencies, configures and builds as needed.

PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: help configure demo test web-test build bench format lint asan tsan fuzz kills power-loss soak sbom install package bootstrap clean distclean

help:
	@echo "make demo     build, then generate a clip with the demo model into out/demo"
	@echo "make test     build, then run all tests"
	@echo "make web-test build, then test the page of loci serve: types, logic, browser"
	@echo "make build    build only (PRESET=release|dev|asan|tsan)"
	@echo "make bench    build, then run the kernel and render benchmarks"
	@echo "make format   format the C++ sources"
	@echo "make install  build, then install to PREFIX (default /usr/local); relocatable"
	@echo "make package  build, then create Debian packages"
	@echo "make lint     check the sources with clang-format and clang-tidy"
	@echo "make asan     run the tests with the address and undefined behaviour sanitizers"
	@echo "make tsan     run the tests with the thread sanitizer"
	@echo "make fuzz     run libFuzzer on every parser, FUZZ_SECONDS=60 each; FUZZ_RUNS=1e8: until this total"
	@echo "make kills    kill serve, generate, train and encode KILLS=1000 times; compare all files"
	@echo "make power-loss  simulate power losses; RECOVERIES=50 continued runs per job"
	@echo "make soak     WALKS=16 walks through nginx for SOAK_MINUTES=60"
	@echo "make sbom     write the software bill of materials to out/loci.cdx.json"
	@echo "make clean    remove build outputs; distclean: also dependencies in this folder"

bootstrap:
	@scripts/bootstrap

configure: bootstrap
	@mkdir -p build
	@cmake --preset $(PRESET) -Wno-dev -DLIBTORCH_ROOT="$(LIBTORCH)" > build/configure-$(PRESET).log 2>&1 \
	  || { sed -n '/CMake Error/,$$p' build/configure-$(PRESET).log >&2; exit 3; }

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

test: build
	@scripts/bootstrap --test
	@cd $(BUILD) && ctest --output-on-failure --parallel $(JOBS)

web-test:
	@scripts/bootstrap --browser
	@$(MAKE) build
	@cd $(BUILD) && ctest --output-on-failure -R '^web/'

demo: configure
	@[ -x $(BUILD)/loci ] || echo "make demo: builds loci first, about 6 minutes on two cores" >&2
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target loci
	@scripts/demo $(BUILD)/loci

bench: build
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target loci_kernel_bench
	@$(BUILD)/src/app/bench/loci_kernel_bench
	@$(BUILD)/loci bench render

PREFIX ?= /usr/local
install: build
	@cmake --install $(BUILD) --prefix "$(PREFIX)" --strip

package:
	@scripts/bootstrap --package
	@$(MAKE) build
	@cd $(BUILD) && cpack

asan tsan:
	@$(MAKE) test PRESET=$@

fuzz:
	@scripts/bootstrap --fuzz
	@mkdir -p build
	@cmake --preset fuzz -Wno-dev -DLIBTORCH_ROOT="$(LIBTORCH)" > build/configure-fuzz.log 2>&1 \
	  || { sed -n '/CMake Error/,$$p' build/configure-fuzz.log >&2; exit 3; }
	@cmake --build --preset fuzz --parallel $(JOBS) --target loci_fuzz_files loci_fuzz_models loci_fuzz_server
	@scripts/fuzz build/fuzz

# docs/reliability.md describes these tests and their results.
TORTURE = python3 tests/torture/$(1) $(BUILD)/loci $(BUILD)/tests/serve/loci_make_tiny_folder
KILLS ?= 1000
kills: build
	@$(call TORTURE,torture.py) --kills $(KILLS)

RECOVERIES ?= 50
power-loss: build
	@$(call TORTURE,power_loss.py) $(BUILD)/tests/torture/libloci_file_trace.so --recoveries $(RECOVERIES)

WALKS ?= 16
SOAK_MINUTES ?= 60
soak: build
	@scripts/bootstrap --test
	@$(call TORTURE,soak.py) --steady --nginx --walkers $(WALKS) --minutes $(SOAK_MINUTES)

sbom: bootstrap
	@scripts/sbom.py

format:
	@scripts/bootstrap --dev
	@scripts/lint --fix

lint:
	@scripts/bootstrap --dev
	@$(MAKE) build PRESET=dev
	@scripts/lint

clean:
	@rm -rf build/release build/dev build/asan build/tsan build/fuzz out

distclean:
	@rm -rf build out web/node_modules

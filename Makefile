# Makefile - short names for what CMake, Ninja and ctest do; `make help` lists them.
#
# demo and check need nothing but make and a network: they install what is missing first
# (tools/setup.sh). The others take the machine as it is.
BUILD ?= build
JOBS  ?= $(shell nproc 2>/dev/null || echo 2)
# Two more tests at once than there are processors: some of them wait for a while.
TESTS ?= $(shell expr $(JOBS) + 2)
# A test without its own limit may take this long (seconds).
LIMIT ?= 300
FUZZ_TIME ?= 600

cmake = cmake -G Ninja -S . -Wno-dev
test  = ctest --test-dir $(BUILD) -j$(TESTS) --timeout $(LIMIT) --output-on-failure
# make sets MAKEFLAGS for its own children; builds inside the tests are to start clean.
unexport MAKEFLAGS MFLAGS

.PHONY: all help setup demo check fresh programs test soak python gpu fuzz bench asan clang format \
	format-check install clean distclean
.DEFAULT_GOAL := all

all: $(BUILD)/build.ninja ## build into build/ (the program: build/bin/collider)
	ninja -C $(BUILD) -j$(JOBS) --quiet

# Ninja runs CMake again by itself when a CMakeLists.txt changes.
$(BUILD)/build.ninja:
	@command -v cmake >/dev/null && command -v ninja >/dev/null || \
		{ echo "cmake or ninja is missing: run 'make setup' first" >&2; exit 1; }
	$(cmake) -B $(BUILD) >/dev/null

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r t d; do \
		printf '  make %-13s %s\n' "$$t" "$$d"; done

setup: ## install what is missing: packages, and a CUDA toolkit in .deps/ if none is found
	@tools/setup.sh

demo: ## set up, build, and look for a race in an example
	@tools/setup.sh --build-only
	@$(MAKE) --no-print-directory all
	@tools/demo.sh $(BUILD)/bin/collider

check: ## set up, build, and run all checks that need no GPU and little time
	@tools/setup.sh
	@$(MAKE) --no-print-directory format-check
	@$(MAKE) --no-print-directory asan LEAVE='|once_gcc'
	@$(MAKE) --no-print-directory programs
	$(test) -LE 'soak|once'

fresh: ## demo and check on new root file systems (as root; PARTS=demo,user: only these)
	tools/fresh.sh $(PARTS)

programs: all ## build the programs that the tests run, too
	ninja -C $(BUILD) -j$(JOBS) --quiet programs

test: programs ## build and run the tests
	$(test) -LE soak

soak: programs ## the tests that take long (CONTRIBUTING.md lists them)
	ninja -C $(BUILD) -j$(JOBS) --quiet soak_programs
	$(test) -L soak

python: all ## Triton, Numba and CuPy on the CPU device: installs them in .deps/python
	tools/python.sh $(BUILD)

gpu: all ## the examples and the race-free programs on this machine's GPU
	tools/gpu.sh $(BUILD)

# clang: it needs half of gcc's time for such code, and all is compiled by both compilers then.
asan: all ## the unit tests under AddressSanitizer and UBSan, by clang, in build-asan/
	@grep -qs '^CMAKE_C_COMPILER:.*clang' $(BUILD)-asan/CMakeCache.txt || rm -rf $(BUILD)-asan
	$(cmake) -B $(BUILD)-asan -DCOLLIDER_ASAN=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang \
		-DCOLLIDER_PTX_OF=$(abspath $(BUILD)) >/dev/null
	ninja -C $(BUILD)-asan -j$(JOBS) --quiet all inputs
	ctest --test-dir $(BUILD)-asan -j$(TESTS) --timeout $(LIMIT) --output-on-failure \
		-LE 'soak|corpus|plain|gpu$(LEAVE)'

# Nobody runs it, so it isn't optimised. `make asan` compiles the same with the sanitizers.
clang: ## compile everything with clang, warnings are errors, in build-clang/
	$(cmake) -B $(BUILD)-clang -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug >/dev/null
	ninja -C $(BUILD)-clang -j$(JOBS) --quiet

fuzz: ## libFuzzer on the PTX front end for FUZZ_TIME seconds, in build-fuzz/
	@tools/setup.sh
	$(cmake) -B $(BUILD)-fuzz -DCOLLIDER_FUZZ=ON -DCMAKE_C_COMPILER=clang >/dev/null
	ninja -C $(BUILD)-fuzz -j$(JOBS) --quiet fuzz_ptx
	tools/fuzz.sh $(BUILD)-fuzz $(FUZZ_TIME)

bench: all ## bench/ptx; bench/overhead too where there is a GPU
	tools/bench.sh $(BUILD)

format: ## format the C sources with clang-format 14
	@tools/format.sh --write

format-check: ## the same as a check (another clang-format formats otherwise: then skipped, said)
	@tools/format.sh

install: all ## install below PREFIX (/usr/local)
	cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

clean: ## remove all build folders
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-clang $(BUILD)-fuzz

distclean: clean ## remove .deps/ too
	rm -rf .deps

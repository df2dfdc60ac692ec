# The commands of the project. Each is one line of what it is for; the work is in CMakeLists.txt and tools/.
.PHONY: all release debug asan fuzz tsan demo test check test-slow conformance wheel fuzz-smoke golden format install clean help

PREFIX ?= /usr/local

all: release

help:
	@echo 'make demo        install what is missing, build, show a model go from file to numbers'
	@echo 'make test        install what is missing, build with gcc and with sanitizers, run all tests'
	@echo 'make check       the release build and its shorter tests alone (under two minutes)'
	@echo 'make test-slow   the rest: debug build, thread sanitizer, tests named *_slow, fuzzing'
	@echo 'make conformance the tests of ONNX over the Python package; the score, and why what fails does'
	@echo 'make wheel       the Python packages as files for pip, into build/dist'
	@echo 'make fuzz-smoke  each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make golden      rewrite the generated CHECK lines of golden tests; review the diff'
	@echo 'make format      clang-format the C files, wrap comments that are too long'
	@echo 'make release     build into build/release; also debug, asan, fuzz, tsan'
	@echo 'make install     install the release build into PREFIX (/usr/local)'

release debug asan fuzz tsan:
	@mkdir -p build/$@
	@cmake --preset $@ >build/$@/configure.log 2>&1 || { cat build/$@/configure.log; exit 1; }
	@ln -sf build/$@/compile_commands.json . # for editors: the build that was made last
	@ninja -C build/$@

demo:
	@tools/setup demo
	@mkdir -p build/release
	@cmake --preset release >build/release/configure.log 2>&1 || { cat build/release/configure.log; exit 1; }
	@ninja -C build/release demo
	@tools/demo $(if $(EXPLAIN),--explain)

test:
	@tools/setup test
	@tools/test -LE slow release asan

check:
	@tools/setup test
	@tools/test -LE "slow|long" release

test-slow:
	@tools/setup slow
	@TENON_SLOW=1 tools/test release debug asan tsan
	@$(MAKE) --no-print-directory fuzz-smoke

conformance: release
	@tools/setup conformance
	@tests/conformance/run -o build/conformance.json

wheel:
	@tools/setup wheel
	@tools/wheel

fuzz-smoke:
	@tools/setup test
	@$(MAKE) --no-print-directory fuzz
	@tools/fuzz

golden: release
	@tools/golden

format:
	@tools/wrap
	@tools/lint --format

install: release
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

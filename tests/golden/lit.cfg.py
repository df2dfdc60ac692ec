# Golden texts: every file below this folder with a RUN: line is a test (tests/README.md).
#
#   %tenon     the command built by the preset under test
#   %s %t      the test file, a temporary path
#   %inputs    tests/golden/inputs, small models shared by several tests
#   FileCheck  LLVM's, whatever its name here
#   not        runs its command and wants a non-zero exit that is no crash
#
# Features: asan, ubsan, tsan; llvm where the LLVM code generator is built (REQUIRES: llvm).
import os
import shutil

import lit.formats

build = lit_config.params["build"]
sanitize = lit_config.params.get("sanitize", "")

config.name = "tenon"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".relay", ".tir", ".flat", ".trace", ".test", ".c", ".te", ".txt"]
config.excludes = ["inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "golden")

config.substitutions.append(("%tenon", os.path.join(build, "bin", "tenon")))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "inputs")))
config.substitutions.append((r"\bFileCheck\b", lit_config.params.get("filecheck", "FileCheck-19")))
# LLVM's `not` fails on a crash; lit's own takes a crash for a failure.
failing = shutil.which("not-19") or shutil.which("not", path="/usr/lib/llvm-19/bin")
if failing:
    config.substitutions.append((r"(?<![\w./%-])not(?= )", failing))
# RUN lines may say plain `tenon`, as users do.
config.environment["PATH"] = os.path.join(build, "bin") + os.pathsep + config.environment["PATH"]
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "golden", "cache")
config.environment["TENON_RECORDS"] = "off"
for name in ("TENON_LIBDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "TVM_NUM_THREADS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

for flag, feature in (("address", "asan"), ("undefined", "ubsan"), ("thread", "tsan")):
    if flag in sanitize:
        config.available_features.add(feature)
if os.path.exists(os.path.join(build, "lib", "tenon", "libtenon-llvm.so")):
    config.available_features.add("llvm")

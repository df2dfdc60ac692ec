# ctest entries: one per tests/unit/test_*.c, the golden texts, layers, lint, diagnostics, exported symbols, fuzz seeds.

# The package onnx where tools/setup has put it: the ONNX project's tests, and NumPy
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/conformance/requirements.txt onnx REGEX "^onnx==")
string(REPLACE "==" "-" onnx ${onnx})
set(python_packages ${CMAKE_SOURCE_DIR}/build/conformance/${onnx})

set(test_env
    TENON_ONNX_NODES=${python_packages}/onnx/backend/test/data/node
    TENON_LIBDIR=${CMAKE_BINARY_DIR}/lib/tenon
    TENON_SOURCE_DIR=${CMAKE_SOURCE_DIR}
    XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/cache
    TENON_RECORDS=off)
if(TENON_SANITIZE)
    list(APPEND test_env
        UBSAN_OPTIONS=print_stacktrace=1
        ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
        TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp:allocator_may_return_null=1)
endif()

set(test_seconds 300) # far above what a test takes; builds that are not optimised take longer
if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
    set(test_seconds 900)
endif()

# For tests/faults.h
set(wrap_allocator LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free)

# Tests are compiled once and run for moments: without optimisation that takes a third of the time. Those that compute much
# themselves are optimised as the rest.
function(compile_quickly target)
    if(NOT target MATCHES "functions|lower_intrin|op_precision|rule_contract|tir_run|sched_random")
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# Unit tests
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c)
if(unit_tests AND NOT CMOCKA_FOUND)
    message(WARNING "cmocka is not installed: unit tests are left out (tools/setup test installs it)")
    set(unit_tests "")
endif()
foreach(source IN LISTS unit_tests)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE tn_flags ${TN_LAYERS} PkgConfig::CMOCKA)
    compile_quickly(${name})
    if(TARGET tn_codegen_llvm)
        add_dependencies(${name} tn_codegen_llvm)
    endif()
    if(name STREQUAL "test_diagnostics") # has a function of LLVM's, to fail in it
        target_link_options(${name} PRIVATE LINKER:--export-dynamic-symbol=LLVMOrcLLJITLookup)
    endif()
    if(name MATCHES "faults$")
        target_link_options(${name} PRIVATE ${wrap_allocator})
    endif()
    string(REGEX REPLACE "^test_" "unit." label ${name})
    add_test(NAME ${label} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    set(labels unit)
    set(seconds ${test_seconds})
    if(name MATCHES "_slow$")
        list(APPEND labels slow) # left to `make test-slow`
        math(EXPR seconds "10 * ${test_seconds}")
    elseif(name MATCHES "codegen_(link|equal)$")
        list(APPEND labels long) # left out of `make check`
    endif()
    set_tests_properties(${label} PROPERTIES LABELS "${labels}" TIMEOUT ${seconds} ENVIRONMENT "${test_env}")
endforeach()

# End to end: one executable per tests/e2e/test_*.c; the models are split into entries of less than a minute. What
# would take too long under sanitizers is left out there.
set(e2e_parts models:dense models:mnist memory:examples memory:random)
if(NOT TENON_SANITIZE)
    list(APPEND e2e_parts models:super_resolution.relay models:super_resolution.flat models:super_resolution.packages
        models:super_resolution.static models:face.stages models:face.packages memory:shared)
endif()
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT TENON_SANITIZE)
    list(APPEND e2e_parts functions:functions functions:functions.all)
endif()
if(CMOCKA_FOUND AND TARGET tn_codegen_llvm)
    file(GLOB e2e_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/test_*.c)
    foreach(source IN LISTS e2e_tests)
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" base ${name})
        add_executable(e2e_${base} ${source})
        set_target_properties(e2e_${base} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        target_include_directories(e2e_${base} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
        target_link_libraries(e2e_${base} PRIVATE tn_flags ${TN_LAYERS} PkgConfig::CMOCKA)
        compile_quickly(e2e_${base})
        # a test runs whatever the compiler makes
        target_link_options(e2e_${base} PRIVATE -Wl,-u,tnr_family_frame,-u,tnr_family_host,-u,tnr_family_state,-u,tnr_family_value)
        add_dependencies(e2e_${base} tn_codegen_llvm)
        if(base MATCHES "failures$")
            target_link_options(e2e_${base} PRIVATE ${wrap_allocator})
        endif()
        set(parts ${e2e_parts})
        list(FILTER parts INCLUDE REGEX "^${base}:")
        if(NOT parts)
            set(parts ${base}:)
        endif()
        foreach(part IN LISTS parts)
            string(REGEX REPLACE ".*:" "" part ${part})
            set(label e2e.${base})
            if(base STREQUAL "memory")
                set(label e2e.memory.${part})
            elseif(part)
                set(label e2e.${part})
            endif()
            add_test(NAME ${label} COMMAND e2e_${base} ${part} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
            set(labels e2e)
            if(label MATCHES "super_resolution[.](static|relay)|e2e[.]texts|memory[.]shared")
                list(APPEND labels long)
            endif()
            set_tests_properties(${label} PROPERTIES LABELS "${labels}" TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}")
            if(label STREQUAL "e2e.functions.all")
                set_tests_properties(${label} PROPERTIES LABELS "e2e;slow" TIMEOUT 7200)
            endif()
        endforeach()
    endforeach()
endif()

# Golden texts: lit finds the files, FileCheck reads their CHECK lines.
find_program(TENON_LIT NAMES lit.py lit PATHS /usr/lib/llvm-19/build/utils/lit NO_DEFAULT_PATH)
find_program(TENON_LIT NAMES lit lit.py)
find_program(TENON_FILECHECK NAMES FileCheck-19 FileCheck)
find_program(PYTHON3 NAMES python3)
if(TARGET tenon AND TENON_LIT AND TENON_FILECHECK AND PYTHON3)
    add_test(NAME golden COMMAND ${PYTHON3} ${TENON_LIT} -sv --allow-empty-runs
        --param build=${CMAKE_BINARY_DIR} --param filecheck=${TENON_FILECHECK} --param sanitize=${TENON_SANITIZE}
        ${CMAKE_SOURCE_DIR}/tests/golden)
    set_tests_properties(golden PROPERTIES TIMEOUT 900 ENVIRONMENT "${test_env}")
endif()

# The command line: an entry per file of cases.
if(TARGET tenon AND TARGET tn_codegen_llvm AND PYTHON3)
    file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cli/cases/*.sh)
    foreach(case IN LISTS cases)
        get_filename_component(name ${case} NAME_WE)
        add_test(NAME cli.${name} COMMAND sh ${CMAKE_SOURCE_DIR}/tests/cli/run.sh ${CMAKE_BINARY_DIR}/bin ${name})
        set_tests_properties(cli.${name} PROPERTIES LABELS cli TIMEOUT ${test_seconds}
            ENVIRONMENT "${test_env};PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${python_packages}")
    endforeach()
    if(CMAKE_BUILD_TYPE STREQUAL Release)
        add_test(NAME cli.mapped COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/cli/mapped.py ${CMAKE_BINARY_DIR}/bin)
        set_tests_properties(cli.mapped PROPERTIES LABELS cli TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}")
        add_test(NAME cli.large COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/cli/large.py ${CMAKE_BINARY_DIR}/bin)
        set_tests_properties(cli.large PROPERTIES LABELS slow TIMEOUT 600 RUN_SERIAL ON SKIP_RETURN_CODE 77
            ENVIRONMENT "${test_env}")
    endif()
endif()

# Examples that use the compiler as a library: they check their own numbers.
foreach(name IN ITEMS build_relay schedule_te tune_template)
    if(TARGET ${name} AND TARGET tn_codegen_llvm)
        add_test(NAME example.${name} COMMAND ${name})
        set_tests_properties(example.${name} PROPERTIES TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}"
            PASS_REGULAR_EXPRESSION "right")
    endif()
endforeach()

# The tutorial, done as its pages say. Programs of its readers are not instrumented.
if(TARGET tenon AND TARGET tn_codegen_llvm AND PYTHON3 AND NOT TENON_SANITIZE)
    add_test(NAME tutorial COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/pages/tutorial.py ${CMAKE_BINARY_DIR})
    set_tests_properties(tutorial PROPERTIES TIMEOUT ${test_seconds}
        ENVIRONMENT "${test_env};PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${python_packages}")
endif()

# The pages on adding things: their files compile; with --build, what they say is done in a copy of the tree.
if(PYTHON3 AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT TENON_SANITIZE)
    add_test(NAME pages COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/pages/adding.py)
    add_test(NAME pages.build
        COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/pages/adding.py --build ${CMAKE_BINARY_DIR}/pages)
    set_tests_properties(pages PROPERTIES TIMEOUT ${test_seconds})
    set_tests_properties(pages.build PROPERTIES LABELS slow TIMEOUT 1800)
endif()

# The Python packages
if(TARGET tenon_python AND TARGET tn_codegen_llvm)
    add_test(NAME python COMMAND ${Python3_EXECUTABLE} -m unittest discover -q -s ${CMAKE_SOURCE_DIR}/tests/python)
    set_tests_properties(python PROPERTIES TIMEOUT ${test_seconds}
        ENVIRONMENT "${test_env};PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${CMAKE_BINARY_DIR}/python:${CMAKE_SOURCE_DIR}/bindings/python-tvm:${python_packages}")
endif()

# The tests of the ONNX project over the package: one in ten, and all; skipped where onnx is not installed.
if(TARGET tenon_python AND TARGET tn_codegen_llvm AND CMAKE_BUILD_TYPE STREQUAL Release)
    foreach(part IN ITEMS slice all)
        add_test(NAME conformance.${part} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/conformance/run --${part})
        set_tests_properties(conformance.${part} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77
            ENVIRONMENT "${test_env};PYTHONPATH=${CMAKE_BINARY_DIR}/python")
    endforeach()
    set_tests_properties(conformance.all PROPERTIES LABELS slow)
endif()

# The texts of tools/gdb. Without optimisation gdb shows the same; sanitizers do not go with it.
if(CMOCKA_FOUND AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT TENON_SANITIZE)
    add_test(NAME gdb COMMAND ${CMAKE_SOURCE_DIR}/tests/gdb/run ${CMAKE_BINARY_DIR})
    set_tests_properties(gdb PROPERTIES TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77 ENVIRONMENT "${test_env}")
endif()

# Tools for who works on Tenon: tools/replay, tools/reduce.
if(TARGET tenon AND TARGET tn_codegen_llvm AND PYTHON3 AND NOT TENON_SANITIZE)
    add_test(NAME tools COMMAND sh ${CMAKE_SOURCE_DIR}/tests/tools/run.sh ${CMAKE_BINARY_DIR}/bin)
    set_tests_properties(tools PROPERTIES TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}")
endif()

# The rule of each kernel: of the models of the tree, and of shared ones where they are.
if(TARGET tenon AND PYTHON3 AND NOT TENON_SANITIZE)
    add_test(NAME rules COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/models/rules)
    add_test(NAME rules.shared COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/models/rules --shared)
    set_tests_properties(rules rules.shared PROPERTIES TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77
        ENVIRONMENT "${test_env};TENON_BIN=${CMAKE_BINARY_DIR}/bin")
endif()

# Files that promise more than they hold. Sanitizers need memory of their own.
if(TARGET tenon AND TARGET tn_codegen_llvm AND PYTHON3 AND NOT TENON_SANITIZE)
    add_test(NAME hostile COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/fuzz/hostile --bin ${CMAKE_BINARY_DIR}/bin)
    set_tests_properties(hostile PROPERTIES TIMEOUT 600 ENVIRONMENT "${test_env}")
    add_test(NAME broken COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/fuzz/broken --bin ${CMAKE_BINARY_DIR}/bin
        --keep ${CMAKE_BINARY_DIR}/broken --count 8)
    set_tests_properties(broken PROPERTIES TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}")
endif()

# Random graphs against ONNX Runtime and the interpreter, random programs of Relay against Python, a planted fault made
# small: skipped where it lacks them.
if(TARGET tenon AND TARGET tn_codegen_llvm AND PYTHON3 AND NOT TENON_SANITIZE)
    add_test(NAME fuzz.graphs COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/fuzz/graphs/fuzz.py run
        --package ${CMAKE_BINARY_DIR}/python --judges jit,ort,relay,picks:3 --count 240 --seconds 40)
    add_test(NAME fuzz.texts COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/fuzz/graphs/fuzz.py run
        --package ${CMAKE_BINARY_DIR}/python --texts --judges jit,relay --count 300 --seconds 20)
    add_test(NAME fuzz.shrink COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/fuzz/graphs/test_shrink.py
        ${CMAKE_BINARY_DIR}/python)
    set_tests_properties(fuzz.graphs fuzz.texts fuzz.shrink PROPERTIES TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77
        ENVIRONMENT "${test_env};PYTHONPATH=${python_packages}")
endif()

# The form of the tree: does not depend on the preset, so it runs where no sanitizer does.
if(NOT TENON_SANITIZE)
    foreach(check IN ITEMS layers lint diagnostics features)
        if(EXISTS ${CMAKE_SOURCE_DIR}/tools/${check} AND PYTHON3)
            add_test(NAME ${check} COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/${check}
                WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
            set_tests_properties(${check} PROPERTIES TIMEOUT ${test_seconds})
        endif()
    endforeach()
    if(PYTHON3)
        add_test(NAME rows COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tests/rows.py)
        set_tests_properties(rows PROPERTIES TIMEOUT ${test_seconds})
        add_test(NAME operators COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/operators --check)
        set_tests_properties(operators PROPERTIES TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77)
        add_test(NAME cpus COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/cpus --check)
        set_tests_properties(cpus PROPERTIES TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77 LABELS long)
    endif()
    set(most_bytes "") # of the runtime, where it is optimised
    if(CMAKE_BUILD_TYPE STREQUAL Release)
        set(most_bytes 100000)
    endif()
    add_test(NAME symbols COMMAND ${CMAKE_SOURCE_DIR}/tools/symbols ${CMAKE_BINARY_DIR} ${most_bytes})
endif()

# Fuzz targets: with clang's address sanitizer only. ctest replays their seeds and a few mutations of them; without TENON_FUZZ
# they do not see what is covered, so all seeds are kept.
if(TENON_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID MATCHES Clang)
    file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
    add_custom_target(fuzz)
    foreach(source IN LISTS fuzzers)
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
        target_link_libraries(${name} PRIVATE tn_flags ${TN_LAYERS})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        if(TENON_FUZZ) # mutators are no code to be covered
            target_compile_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
        endif()
        if(name STREQUAL fuzz_picture) # the readers that the command does without
            target_link_libraries(${name} PRIVATE PkgConfig::IMAGES)
        endif()
        add_dependencies(fuzz ${name})
        set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
        if(NOT IS_DIRECTORY ${seeds})
            set(seeds "")
        endif()
        string(REGEX REPLACE "^fuzz_" "fuzz." label ${name})
        add_test(NAME ${label} COMMAND ${CMAKE_COMMAND} -E env ${CMAKE_BINARY_DIR}/fuzz/${name}
            -runs=2000 -seed=1 -keep_seed=1 -rss_limit_mb=4096 -timeout=20 ${CMAKE_BINARY_DIR}/fuzz/${name}.found ${seeds}
            WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/${name}.found)
        set_tests_properties(${label} PROPERTIES LABELS fuzz TIMEOUT ${test_seconds} ENVIRONMENT "${test_env}")
    endforeach()
endif()

# Without the package onnx
foreach(label IN ITEMS unit.onnx_node e2e.nodes)
    if(TEST ${label})
        set_tests_properties(${label} PROPERTIES SKIP_RETURN_CODE 77)
    endif()
endforeach()

# The longest begin first, so that no core waits for one at the end.
foreach(label IN ITEMS unit.codegen_equal unit.codegen_link unit.tir_run e2e.failures e2e.functions e2e.memory.shared
        e2e.nodes e2e.onnx e2e.super_resolution.flat e2e.texts golden python tutorial conformance.slice fuzz.graphs
        cli.bundle cli.compare cli.compile_threads cli.shapes cli.targets cli.threads)
    if(TEST ${label})
        set_tests_properties(${label} PROPERTIES COST 100)
    endif()
endforeach()

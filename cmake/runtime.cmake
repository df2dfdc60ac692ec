# The runtime as users get it: libtenon_runtime.so, exporting tnr_* alone, and libtenon_runtime.a with the same
# objects. What it needs of base is inside; both depend on libc, libm and pthreads only.

if(NOT TN_HAS_runtime)
    return()
endif()

# All but kernels' launch and pool is compiled to be small, because it runs for new shapes or once an instruction; what
# runs when a model is loaded, or something is wrong or looked for, to be smallest.
# The runtime stays below 100 KB (tools/symbols). Nothing unwinds through it in a running program; debuggers have tables of their own (-g).
if(CMAKE_BUILD_TYPE STREQUAL Release)
    include(CheckCCompilerFlag)
    check_c_compiler_flag(-Oz TN_HAS_OZ)
    set(smallest $<IF:$<BOOL:${TN_HAS_OZ}>,-Oz,-Os>)
    # What makes code faster where it runs often, and longer.
    set(longer "$<$<C_COMPILER_ID:GNU>:-fno-move-loop-invariants;-fno-tree-dominator-opts;-fno-tree-pta;-fno-if-conversion2;-fno-tree-sra>")
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/runtime/pool.c APPEND PROPERTY COMPILE_OPTIONS ${longer})
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/runtime/run.c APPEND PROPERTY COMPILE_OPTIONS -Os)
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/base/sha256.c APPEND PROPERTY COMPILE_OPTIONS -Os ${longer})
    foreach(name IN ITEMS runtime/bind runtime/cancel runtime/cpus runtime/debug runtime/device runtime/dtype runtime/error runtime/exe runtime/graph runtime/guard runtime/host
            runtime/imports runtime/instance runtime/invoke
            runtime/library runtime/library_check runtime/module runtime/open runtime/package runtime/params runtime/sort
            runtime/state runtime/tensor runtime/value base/cpu base/cpu_count base/thread base/utf8 base/wire/elf base/wire/json base/wire/sum base/wire/tar)
        set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/${name}.c APPEND PROPERTY COMPILE_OPTIONS ${smallest} ${longer} -fno-jump-tables)
    endforeach()
    file(GLOB small CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/runtime/*.c ${CMAKE_SOURCE_DIR}/src/base/wire/*.c)
    foreach(name IN ITEMS cpu cpu_count sha256 thread utf8)
        list(APPEND small ${CMAKE_SOURCE_DIR}/src/base/${name}.c)
    endforeach()
    set_property(SOURCE ${small} APPEND PROPERTY COMPILE_OPTIONS -fno-asynchronous-unwind-tables -fno-plt
        -include ${CMAKE_SOURCE_DIR}/src/runtime/hidden.h)
endif()

set(objects $<TARGET_OBJECTS:tn_runtime>)
if(TN_HAS_base)
    list(APPEND objects $<TARGET_OBJECTS:tn_base>)
endif()

# What the shared library exports: the functions of its header.
set(header ${CMAKE_SOURCE_DIR}/include/tenon/runtime.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} lines REGEX "^[A-Za-z].*tnr_[a-z0-9_]+\\(")
list(FILTER lines EXCLUDE REGEX "^typedef")
string(REGEX MATCHALL "tnr_[a-z0-9_]+\\(" names "${lines}")
list(REMOVE_DUPLICATES names)
string(REPLACE "(" "" names "${names}")
string(REPLACE ";" "; " names "${names}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/runtime.map CONTENT "{ global: ${names}; local: *; };\n" @ONLY)

add_library(tenon_runtime SHARED ${objects})
add_library(tenon_runtime_static STATIC ${objects})
set_target_properties(tenon_runtime tenon_runtime_static PROPERTIES
    OUTPUT_NAME tenon_runtime LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set_target_properties(tenon_runtime PROPERTIES
    SOVERSION 0 LINK_DEPENDS ${CMAKE_BINARY_DIR}/runtime.map)
target_link_libraries(tenon_runtime PRIVATE tn_flags Threads::Threads m ${CMAKE_DL_LIBS})
target_link_options(tenon_runtime PRIVATE
    -Wl,--gc-sections -Wl,-Bsymbolic-functions -Wl,--version-script,${CMAKE_BINARY_DIR}/runtime.map)
install(TARGETS tenon_runtime tenon_runtime_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)

# libtenon_bundle.a: the same and src/runtime/bundle, which the driver links into self-contained libraries. Never
# instrumented: what it ends up in is the user's.
file(GLOB bundle_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/runtime/*.c ${CMAKE_SOURCE_DIR}/src/runtime/bundle/*.c)
foreach(name IN ITEMS cpu cpu_count sha256 thread utf8 wire/elf wire/json wire/sum wire/tar)
    list(APPEND bundle_sources ${CMAKE_SOURCE_DIR}/src/base/${name}.c)
endforeach()
add_library(tenon_bundle STATIC ${bundle_sources})
set_target_properties(tenon_bundle PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tenon)
target_link_libraries(tenon_bundle PRIVATE tn_flags)
target_compile_options(tenon_bundle PRIVATE -fvisibility=hidden -g0)
if(TENON_SANITIZE) # a list with commas, which no generator expression takes
    target_compile_options(tenon_bundle PRIVATE -fno-sanitize=all)
endif()
install(TARGETS tenon_bundle ARCHIVE DESTINATION lib/tenon)

# The Python package (bindings/python): the extension tenon._core over the public headers, in build/<preset>/python/tenon
# beside links to the package's modules, so that PYTHONPATH=build/release/python imports it. One extension serves all
# versions from 3.9 on (limited API). Without Python's headers the build goes on without it. Sanitizers would have to be in
# the interpreter.
if(TENON_SANITIZE OR NOT TARGET tenon_compiler)
    return()
endif()
find_package(Python3 3.9 COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND)
    message(STATUS "Python's headers are not installed: the package tenon is left out (tools/setup test installs python3-dev)")
    return()
endif()

set(python_source ${CMAKE_SOURCE_DIR}/bindings/python)
set(python_package ${CMAKE_BINARY_DIR}/python/tenon)
file(GLOB sources CONFIGURE_DEPENDS ${python_source}/src/*.c)
add_library(tenon_python MODULE ${sources})
set_target_properties(tenon_python PROPERTIES
    OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${python_package} INSTALL_RPATH "$ORIGIN/lib")
target_include_directories(tenon_python PRIVATE ${CMAKE_SOURCE_DIR}/include) # public headers alone
target_include_directories(tenon_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_compile_options(tenon_python PRIVATE $<TARGET_PROPERTY:tn_flags,INTERFACE_COMPILE_OPTIONS> -fvisibility=hidden)
target_compile_definitions(tenon_python PRIVATE $<TARGET_PROPERTY:tn_flags,INTERFACE_COMPILE_DEFINITIONS>)
target_link_libraries(tenon_python PRIVATE tenon_compiler tenon_host tenon_runtime Threads::Threads)
if(TARGET tn_codegen_llvm)
    add_dependencies(tenon_python tn_codegen_llvm)
endif()

file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE ${python_source}/tenon
     ${python_source}/tenon/*.py ${python_source}/tenon/*.pyi ${python_source}/tenon/py.typed)
foreach(module IN LISTS modules)
    get_filename_component(folder ${python_package}/${module} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${python_source}/tenon/${module} ${python_package}/${module} SYMBOLIC)
endforeach()

# What `pip install` takes: the extension and, beside it, libraries in the folders where they look for each other.
install(TARGETS tenon_python LIBRARY DESTINATION tenon COMPONENT python)
install(TARGETS tenon_compiler tenon_runtime tenon_host LIBRARY DESTINATION tenon/lib COMPONENT python NAMELINK_SKIP)
if(TENON_WHEEL)
    tn_carry(tenon_compiler tenon/lib) # SQLite
endif()
install(TARGETS tenon_image LIBRARY DESTINATION tenon/lib/tenon COMPONENT python)
install(TARGETS tenon_bundle ARCHIVE DESTINATION tenon/lib/tenon COMPONENT python)
if(TARGET tn_codegen_llvm)
    install(TARGETS tn_codegen_llvm LIBRARY DESTINATION tenon/lib/tenon COMPONENT python)
endif()

# Makes one library tn_<folder> of each src/<folder>, linked as tools/layers.txt says.
#
# A folder without C files becomes an interface library, so that the tree builds while parts of it are not there.
# codegen/llvm is left out of tn_codegen: it is a shared object of its own (cmake/llvm.cmake); so is runtime/bundle, which
# is linked into what users compile (cmake/runtime.cmake).

set(TN_STRICT_CONVERSION base ir arith runtime host)

function(tn_add_layer name deps)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    list(FILTER sources EXCLUDE REGEX "/src/(codegen/llvm|runtime/bundle)/")
    set(target tn_${name})
    if(name STREQUAL cli)
        # main.c belongs to the executable alone, so that unit tests can link the rest.
        list(FILTER sources EXCLUDE REGEX "/src/cli/main\\.c$")
    endif()
    if(sources)
        add_library(${target} STATIC ${sources})
        set(scope PUBLIC)
        target_link_libraries(${target} PRIVATE tn_flags)
        if(name IN_LIST TN_STRICT_CONVERSION)
            target_compile_options(${target} PRIVATE -Wconversion)
        endif()
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    foreach(dep IN LISTS deps)
        target_link_libraries(${target} ${scope} tn_${dep})
    endforeach()
    set(TN_HAS_${name} ${sources} PARENT_SCOPE)
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/layers.txt)
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/layers.txt rows REGEX "^[a-z]+:")
set(TN_LAYERS "")
foreach(row IN LISTS rows)
    string(REGEX REPLACE ":.*" "" name "${row}")
    string(REGEX REPLACE "^[a-z]+:" "" deps "${row}")
    string(REGEX MATCHALL "[^ ]+" deps "${deps}")
    list(FILTER deps EXCLUDE REGEX "/")
    if(name STREQUAL cli)
        set(deps driver) # it includes the public headers alone, but links what implements them
    endif()
    tn_add_layer(${name} "${deps}")
    list(PREPEND TN_LAYERS tn_${name})
endforeach()
# TN_LAYERS: all libraries, top layer first.

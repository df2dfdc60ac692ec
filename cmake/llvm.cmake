# libtenon-llvm.so: the LLVM code generator, opened on first use by the driver.
#
# It carries its own hidden copies of the layers it stands on (codegen and what it includes) and exports
# tenon_llvm alone. It is found in ../lib/tenon beside the executable's folder, or in $TENON_LIBDIR.

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/codegen/llvm/*.c)
if(NOT sources)
    return()
endif()

find_program(LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
function(llvm_config out)
    execute_process(COMMAND ${LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ERROR_IS_FATAL ANY)
    set(${out} "${text}" PARENT_SCOPE)
endfunction()
llvm_config(llvm_include --includedir)
llvm_config(llvm_lib --libdir)

add_library(tn_codegen_llvm MODULE ${sources})
set_target_properties(tn_codegen_llvm PROPERTIES
    OUTPUT_NAME tenon-llvm
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tenon
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/llvm.map)
target_include_directories(tn_codegen_llvm SYSTEM PRIVATE ${llvm_include})
target_link_directories(tn_codegen_llvm PRIVATE ${llvm_lib})
if(TENON_WHEEL) # what is initialised as "all" targets is what LLVM's .def files list: ours stand before LLVM's
    set(targets X86 AArch64)
    foreach(name IN ITEMS Target AsmPrinter AsmParser Disassembler)
        list(TRANSFORM targets REPLACE "(.+)" "LLVM_${name}(\\1)" OUTPUT_VARIABLE rows)
        string(TOUPPER ${name} upper)
        string(REPLACE "ASMP" "ASM_P" upper ${upper})
        string(REPLACE "LLVM_${name}" "LLVM_${upper}" rows "${rows}")
        string(REPLACE ";" "\n" rows "${rows}")
        file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/llvm/llvm/Config/${name}s.def CONTENT "${rows}\n#undef LLVM_${upper}\n")
    endforeach()
    target_include_directories(tn_codegen_llvm BEFORE PRIVATE ${CMAKE_BINARY_DIR}/llvm)
    llvm_config(llvm_static --link-static --libs x86 aarch64 orcjit passes)
    string(REPLACE " " ";" llvm_static "${llvm_static}")
    target_link_libraries(tn_codegen_llvm PRIVATE tn_flags tn_codegen ${llvm_static}
        -Wl,-Bstatic -lzstd -lz -lstdc++ -Wl,-Bdynamic -static-libgcc -lm)
else()
    target_link_libraries(tn_codegen_llvm PRIVATE tn_flags tn_codegen LLVM-19)
endif()
target_link_options(tn_codegen_llvm PRIVATE
    -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--version-script,${CMAKE_SOURCE_DIR}/cmake/llvm.map)
if(NOT TENON_SANITIZE)
    target_link_options(tn_codegen_llvm PRIVATE -Wl,-z,defs)
endif()
install(TARGETS tn_codegen_llvm LIBRARY DESTINATION lib/tenon)

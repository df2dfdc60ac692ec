# The host functions as users get them: libtenon_host.so, exporting the functions of include/tenon/host.h alone, over
# libtenon_runtime.so; and libtenon_host.a with the same objects. What it needs of base is inside.
target_link_libraries(tn_host PUBLIC tn_runtime)

set(objects $<TARGET_OBJECTS:tn_host> $<TARGET_OBJECTS:tn_base>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/host.map
    CONTENT "{ global: tnr_host_register_all; tnr_instance_host_register_all; local: *; };\n" @ONLY)
add_library(tenon_host SHARED ${objects})
add_library(tenon_host_static STATIC ${objects})
set_target_properties(tenon_host tenon_host_static PROPERTIES
    OUTPUT_NAME tenon_host LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set_target_properties(tenon_host PROPERTIES
    SOVERSION 0 INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${CMAKE_BINARY_DIR}/host.map)
target_link_libraries(tenon_host PUBLIC tenon_runtime PRIVATE tn_flags Threads::Threads m ${CMAKE_DL_LIBS})
target_link_options(tenon_host PRIVATE
    -Wl,--gc-sections -Wl,-Bsymbolic-functions -Wl,--version-script,${CMAKE_BINARY_DIR}/host.map)

# For wheels: what a library needs of the system is carried beside it, because Debian's static libraries are not made for
# shared objects.
function(tn_carry target folder)
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:${target}>
        -DFOLDER=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}
        -P ${CMAKE_SOURCE_DIR}/cmake/carry.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python)
endfunction()

# libtenon-image.so: decoders of pictures and the libraries that they need, opened by models that decode some.
add_library(tenon_image MODULE $<TARGET_OBJECTS:tn_picture>)
set_target_properties(tenon_image PROPERTIES
    OUTPUT_NAME tenon-image LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tenon)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/image.map CONTENT "{ global: tenon_image; local: *; };\n" @ONLY)
target_link_libraries(tenon_image PRIVATE tn_flags PkgConfig::PICTURES PkgConfig::IMAGES m)
if(TENON_WHEEL)
    set_target_properties(tenon_image PROPERTIES INSTALL_RPATH "$ORIGIN")
    tn_carry(tenon_image tenon/lib/tenon)
endif()
target_link_options(tenon_image PRIVATE
    -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--version-script,${CMAKE_BINARY_DIR}/image.map)
add_dependencies(tenon_host tenon_image)
install(TARGETS tenon_image LIBRARY DESTINATION lib/tenon)
install(TARGETS tenon_host tenon_host_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)

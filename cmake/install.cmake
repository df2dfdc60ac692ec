# What `cmake --install` brings besides the command and the runtime: the compiler as a library, completion scripts, manual
# pages, pkg-config and CMake package files. Texts are printed by the command itself, from the tables it parses with.
include(GNUInstallDirs)

# libtenon.so: the compiler as a library. It exports the tenon_* functions of its headers. What it runs, it runs by
# libtenon_runtime.so and libtenon_host.so beside it, as its users do: there is one pool of threads.
set(objects "")
foreach(layer IN LISTS TN_LAYERS)
    string(REPLACE "tn_" "" name ${layer})
    if(TN_HAS_${name} AND NOT name MATCHES "^(cli|runtime|host|picture)$")
        list(APPEND objects $<TARGET_OBJECTS:${layer}>)
    endif()
endforeach()
add_library(tenon_compiler SHARED ${objects})
set_target_properties(tenon_compiler PROPERTIES
    OUTPUT_NAME tenon LINKER_LANGUAGE C SOVERSION 0 INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/tenon.map)
target_link_libraries(tenon_compiler PUBLIC tenon_runtime tenon_host PRIVATE tn_flags PkgConfig::ZLIB PkgConfig::SQLITE Threads::Threads m ${CMAKE_DL_LIBS})
target_link_options(tenon_compiler PRIVATE
    -Wl,--gc-sections -Wl,--version-script,${CMAKE_SOURCE_DIR}/cmake/tenon.map)
install(TARGETS tenon_compiler LIBRARY DESTINATION lib)

# Completion and manual pages
set(share ${CMAKE_BINARY_DIR}/share)
set(texts "")
function(tn_text path)
    get_filename_component(folder ${share}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${share}/${path} DEPENDS tenon
        COMMAND ${CMAKE_BINARY_DIR}/bin/tenon ${ARGN} >${share}/${path})
    set(texts ${texts} ${share}/${path} PARENT_SCOPE)
endfunction()
tn_text(bash-completion/completions/tenon --completion bash)
tn_text(bash-completion/completions/tvmc --completion bash)
tn_text(zsh/site-functions/_tenon --completion zsh)
tn_text(man/man1/tenon.1 --manual tenon)
tn_text(man/man1/tvmc.1 --manual tvmc)
foreach(command IN ITEMS compile run dump view opt interpret compare check tune records verify image top version)
    tn_text(man/man1/tenon-${command}.1 --manual ${command})
endforeach()
add_custom_target(texts ALL DEPENDS ${texts})
install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})

# What `make demo` builds: what the demonstration runs, and all that is installed, so that `cmake --install` works after it.
add_custom_target(demo DEPENDS upscale tenon tenon_bundle tenon_compiler tenon_runtime tenon_runtime_static
    tenon_host tenon_host_static tenon_image texts)

# pkg-config and CMake package
foreach(name IN ITEMS tenon tenon_runtime tenon_host)
    configure_file(${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/lib/pkgconfig/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/${name}.pc DESTINATION lib/pkgconfig)
endforeach()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/cmake/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_SOURCE_DIR}/cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/lib/cmake/TenonConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/lib/cmake/TenonConfig.cmake ${CMAKE_BINARY_DIR}/lib/cmake/TenonConfigVersion.cmake
    DESTINATION lib/cmake/Tenon)

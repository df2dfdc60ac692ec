# Example programs over the public headers alone, linked as a user would.
if(TARGET tenon_runtime_static)
    add_executable(upscale ${CMAKE_SOURCE_DIR}/examples/upscale.c)
    target_include_directories(upscale PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(upscale PRIVATE tenon_runtime_static Threads::Threads m ${CMAKE_DL_LIBS})
endif()

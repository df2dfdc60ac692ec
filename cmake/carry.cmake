# For wheels: copies the libraries that FILE needs, and those that they need, beside it into FOLDER, but for those that every
# manylinux system has and those of Tenon. FILE finds them there by its DT_RPATH, which holds for what they need too.
#
#   cmake -DFILE=... -DFOLDER=... -P carry.cmake
file(GET_RUNTIME_DEPENDENCIES MODULES ${FILE} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^(libc|libm|libdl|librt|libpthread|ld-linux.*|libz|libgcc_s|libtenon_.*)\\.so")
if(missing)
    message(FATAL_ERROR "${FILE} needs ${missing}, which are not installed")
endif()
file(MAKE_DIRECTORY ${FOLDER})
foreach(path IN LISTS found)
    get_filename_component(name ${path} NAME)
    file(REAL_PATH ${path} real)
    file(COPY_FILE ${real} ${FOLDER}/${name})
endforeach()

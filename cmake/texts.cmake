# Writes texts as one array of C: cmake -DTEXTS=a;b -DNAME=variable -DOUT=file.c -P texts.cmake
set(bytes "")
foreach(text IN LISTS TEXTS)
    file(READ ${text} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND bytes "${hex}\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/texts.cmake. */
#include <stddef.h>
extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_bytes;
const unsigned char ${NAME}[] = {
${bytes}0};
const size_t ${NAME}_bytes = sizeof ${NAME} - 1;
")

# embed.cmake - a text file in, a C string out; HEADER declares it:
#   cmake -DIN=f -DOUT=f.c -DNAME=symbol -DHEADER=room/header.h -P embed.cmake
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made from ${IN}. */
#include \"${HEADER}\"

const char ${NAME}[] = {
${bytes}0};
")

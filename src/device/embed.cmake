# embed.cmake - PTX text in, C array out: cmake -DIN=report.ptx -DOUT=report_ptx.c -P embed.cmake
#
# nvcc prints the function .visible although it was declared weak; objects that
# are linked together (-rdc) each bring it, so it becomes .weak here.
file(READ ${IN} text)
string(FIND "${text}" ".visible .func __collider_report(" strong)
string(FIND "${text}" ".weak .func __collider_report(" weak)
if(strong EQUAL -1 AND weak EQUAL -1)
  message(FATAL_ERROR "${IN}: found no .func __collider_report")
endif()
string(REPLACE ".visible .func __collider_report(" ".weak .func __collider_report(" text "${text}")
file(WRITE ${OUT}.ptx "${text}")
file(READ ${OUT}.ptx hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made from report.cu by embed.cmake. */
#include \"device/device.h\"

const char race_device_ptx[] = {
${bytes}0};
const size_t race_device_ptx_size = sizeof(race_device_ptx) - 1;
")

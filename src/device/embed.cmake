# embed.cmake - PTX text in, C array out: cmake -DIN=report.ptx -DOUT=report_ptx.c -P embed.cmake
#
# nvcc prints the functions .visible although they were declared weak; objects that
# are linked together (-rdc) each bring them, so they become .weak here.
file(READ ${IN} text)
foreach(f __collider_changed __collider_warp)
  string(FIND "${text}" ".visible .func ${f}(" strong)
  string(FIND "${text}" ".weak .func ${f}(" weak)
  if(strong EQUAL -1 AND weak EQUAL -1)
    message(FATAL_ERROR "${IN}: found no .func ${f}")
  endif()
  string(REPLACE ".visible .func ${f}(" ".weak .func ${f}(" text "${text}")
endforeach()
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

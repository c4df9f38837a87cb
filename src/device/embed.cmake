# embed.cmake - PTX text in, C array race_device_NAME out:
#   cmake -DIN=report.ptx -DOUT=report_ptx.c -DNAME=report "-DFUNCTIONS=f g" -P embed.cmake
#
# nvcc prints the functions .visible although they were declared weak; objects that
# are linked together (-rdc) each bring them, so they become .weak here.
file(READ ${IN} text)
separate_arguments(FUNCTIONS)
if(NOT FUNCTIONS) # local to each module
  string(REPLACE ".visible .func" ".func" text "${text}")
  string(REPLACE ".visible .global" ".weak .global" text "${text}")
endif()
foreach(f ${FUNCTIONS})
  string(REGEX MATCH "\\.(visible|weak) \\.func [^{;]*${f}\\(" found "${text}")
  if(NOT found)
    message(FATAL_ERROR "${IN}: found no .func ${f}")
  endif()
  string(REPLACE ".visible" ".weak" weak "${found}")
  string(REPLACE "${found}" "${weak}" text "${text}")
endforeach()
# On the CPU device a signed addition of ours counts a check (collide.ptxt).
if(NAME MATCHES "^(check|hirace|iguard)")
  string(REPLACE "add.s32" "add.u32" text "${text}")
endif()
file(WRITE ${OUT}.ptx "${text}") # tests read it
# As text: a compiler takes twenty times as long for a list of numbers.
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE ${OUT} "/* Made from ${NAME}.cu by embed.cmake. */
#include \"device/device.h\"

const char race_device_${NAME}[] =
\"${text}\";
const size_t race_device_${NAME}_size = sizeof(race_device_${NAME}) - 1;
")

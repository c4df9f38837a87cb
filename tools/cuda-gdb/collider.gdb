# collider.gdb - commands for cuda-gdb on programs built with `collider nvcc --trap`.
#
#   cuda-gdb -x tools/cuda-gdb/collider.gdb --args ./app ARGS
#   (cuda-gdb) run                  runs until a race, then
#   (cuda-gdb) collider-race        shows where: who, the call chain, the source
#   (cuda-gdb) continue             to the next one
#
# docs/cuda-gdb.md explains the rest. Plain gdb loads it too (tests/toolchain/gdb_script.sh).
set pagination off

define collider-race
  echo \n== the thread that saw the race ==\n
  cuda kernel block thread
  echo \n== how it came there: frame 1 is the access (frame 0 in call-free code) ==\n
  backtrace
  echo \n== the source, where it is known ==\n
  frame apply 2 -s list *$pc
end
document collider-race
Shows the thread that stopped in Collider's report function, its call chain and source.
end

# The knobs are 32-bit words of the constant __collider_knobs (src/race/record.h): 4 is the sampling
# (1: every check), 6 the flags (1: stop at a race).
define collider-on
  set {@constant unsigned int} ((unsigned long)&__collider_knobs + 16) = 1
  set {@constant unsigned int} ((unsigned long)&__collider_knobs + 24) = 1
end
document collider-on
Switches checks and stops on in a module that was built without --trap. While a kernel is stopped.
end

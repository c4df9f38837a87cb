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
  echo \n== where: frame 0 is the access ==\n
  backtrace
  echo \n== the source ==\n
  list *$pc
end
document collider-race
Shows the thread that stopped at a race, its call chain and the source around the access.
end

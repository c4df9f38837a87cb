# programs.cmake - what nvcc makes for the tests, apart from `all`: who compiles Collider with another
# compiler, or under the sanitizers, needs none of it. Two targets: `inputs` are the files that unit
# tests read (seconds), `programs` what runs on the CPU device (minutes); it takes the inputs along.
# `soak_programs` is what only `make soak` runs.
add_custom_target(inputs)
add_custom_target(programs)
add_dependencies(programs inputs)
add_custom_target(soak_programs)

# made(inputs|programs|soak_programs NAME FILES...): the target NAME makes FILES and is a part of the first one.
function(made kind name)
  add_custom_target(${name} DEPENDS ${ARGN})
  add_dependencies(${kind} ${name})
endfunction()

# by_script(FILE SCRIPT ARGUMENTS... ENV NAME=VALUE... DEPENDS FILES...): FILE is made by a test's own
# script, which knows how; it finds FILE up to date later, when it runs as the test. The toolkit is on the
# script's PATH, as it is on a test's. nvcc warns where a program asks for another -std=; that says nothing.
function(by_script file script)
  cmake_parse_arguments(B "" "" "ENV;DEPENDS" ${ARGN})
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${file}
    COMMAND ${CMAKE_COMMAND} -E env NVCC=${COLLIDER_NVCC} CUDA_HOME=${COLLIDER_CUDA}
            NVCC_PREPEND_FLAGS=${COLLIDER_TEST_FLAGS} ${B_ENV}
            bash -c "PATH=\$0:\$PATH exec bash \"\$@\" 2> >(grep -v \"redefinition for option 'std'\" >&2)"
            ${COLLIDER_CUDA_BIN} ${script} ${B_UNPARSED_ARGUMENTS}
    DEPENDS ${script} ${B_DEPENDS}
    VERBATIM)
endfunction()

# For the CPU device alone: PTX and no machine code, so ptxas never runs and nothing must fit.
set(CPU_ARCH compute_90)

# ColliderConfig.cmake - find_package(Collider): the program, the headers, and tests that fail where kernels race.
#
#   Collider_EXECUTABLE     the program; the target Collider::collider is the same
#   Collider::annotations   include/collider, for collider_assume and its like
#   Collider::ptx           the C library, docs/library.md
#
#   collider_add_checked_test(NAME name COMMAND program [argument...]
#                             [DEVICE cpu|gpu|auto] [OPTIONS option...] [ALLOW_PARTIAL])
#
# adds a test that runs `program` (a target or a file) under `collider run`. It fails if the program fails, if its
# kernels race (exit code 99) or, without ALLOW_PARTIAL, if not all of the run was checked (74, 73). DEVICE is cpu
# unless it is given: such a test needs no GPU. A program needs no special build for the CPU device, -lineinfo gives
# findings their lines.
get_filename_component(Collider_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Collider_EXECUTABLE "${Collider_PREFIX}/bin/collider")
if(NOT EXISTS "${Collider_EXECUTABLE}")
  set(Collider_FOUND FALSE)
  set(Collider_NOT_FOUND_MESSAGE "${Collider_EXECUTABLE} is missing")
  return()
endif()
if(NOT TARGET Collider::collider)
  add_executable(Collider::collider IMPORTED)
  set_target_properties(Collider::collider PROPERTIES IMPORTED_LOCATION "${Collider_EXECUTABLE}")
  add_library(Collider::annotations INTERFACE IMPORTED)
  set_target_properties(Collider::annotations PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Collider_PREFIX}/include")
  add_library(Collider::ptx SHARED IMPORTED)
  set_target_properties(Collider::ptx PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Collider_PREFIX}/include"
                        IMPORTED_LOCATION "${Collider_PREFIX}/lib/libcollider-ptx.so.1"
                        IMPORTED_SONAME libcollider-ptx.so.1)
endif()

function(collider_add_checked_test)
  cmake_parse_arguments(T "ALLOW_PARTIAL" "NAME;DEVICE" "COMMAND;OPTIONS" ${ARGN})
  if(NOT T_NAME OR NOT T_COMMAND)
    message(FATAL_ERROR "collider_add_checked_test needs NAME and COMMAND")
  elseif(T_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "collider_add_checked_test: unknown: ${T_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT T_DEVICE)
    set(T_DEVICE cpu)
  endif()
  if(NOT T_ALLOW_PARTIAL)
    list(PREPEND T_OPTIONS --fail-partial)
  endif()
  list(GET T_COMMAND 0 program)
  if(TARGET ${program})
    list(REMOVE_AT T_COMMAND 0)
    list(PREPEND T_COMMAND $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${T_NAME} COMMAND Collider::collider run --device=${T_DEVICE} --error-exitcode=99 ${T_OPTIONS} --
                                  ${T_COMMAND})
endfunction()

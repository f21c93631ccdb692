# SPDX-License-Identifier: BSD-2-Clause
# The CHECK step of fastsdt_target(): runs fastsdt-check on FILE and, if there are findings, says which of the OBJECTS
# the probes come from: the linker merged the notes, so the file itself cannot tell.
# In: CHECK (the program), LEVEL, KERNELS, FILE, OBJECTS.
cmake_minimum_required(VERSION 3.20)
set(options --fail-on ${LEVEL})
if(KERNELS)
  list(APPEND options --kernel ${KERNELS})
endif()
execute_process(COMMAND "${CHECK}" ${options} --only ${LEVEL} "${FILE}"
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  return()
endif()
string(STRIP "${output}" output)
message("${output}")
if(NOT status EQUAL 1)
  message(FATAL_ERROR "fastsdt: ${FILE} could not be checked")
endif()

# The probes of a file that have findings ("any": all its probes), as "provider:name".
function(probes_of file which result)
  set(${result} "" PARENT_SCOPE)
  execute_process(COMMAND "${CHECK}" ${options} --no-lines --json "${file}" OUTPUT_VARIABLE json ERROR_QUIET)
  string(JSON count ERROR_VARIABLE error LENGTH "${json}" files 0 probes)
  if(error OR count EQUAL 0) # an LTO object, for one
    return()
  endif()
  set(names "")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON findings LENGTH "${json}" files 0 probes ${i} findings)
    if(findings OR which STREQUAL "any")
      string(JSON provider GET "${json}" files 0 probes ${i} provider)
      string(JSON name GET "${json}" files 0 probes ${i} name)
      list(APPEND names "${provider}:${name}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

probes_of("${FILE}" findings bad)
foreach(object IN LISTS OBJECTS)
  probes_of("${object}" any names)
  foreach(name IN LISTS bad)
    if(name IN_LIST names)
      message("  ${name} is in section .note.stapsdt of ${object}")
    endif()
  endforeach()
  # What is wrong in the object already was not done by the linker.
  execute_process(COMMAND "${CHECK}" ${options} --only ${LEVEL} --no-lines "${object}"
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_QUIET)
  if(status EQUAL 1)
    string(STRIP "${output}" output)
    message("${output}")
  endif()
endforeach()
message(FATAL_ERROR "fastsdt: ${FILE} has findings of level ${LEVEL} or worse; fastsdt-check --list-findings explains")

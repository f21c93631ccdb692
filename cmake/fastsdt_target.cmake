# SPDX-License-Identifier: BSD-2-Clause
#
#   fastsdt_target(<target> [LAYOUT <layout>]
#                  [ENTRY <mode> [KERNELS <range>] [PLUGIN_ARGS <key[=value]>...]]
#                  [INDEX] [CHECK [info|warning|error] [CHECK_KERNELS <list>]])
#
# Turns on what fastsdt has for one target: always the headers, sys/sdt.h and usdt.h among them, and what its linker needs
# for semaphores to count, and
#
#   LAYOUT       the layout of all its probe sites (FASTSDT_LAYOUT in fastsdt.h): nop1_nop10, nop1, ...
#   ENTRY        the compiler plugin fastprobe with entry=<mode>: auto, auto-frame, frame, nop, nop10, none; in the link
#                too where LTO needs it. KERNELS is its kernels=, PLUGIN_ARGS its other arguments: exclude=^main$
#   INDEX        fastsdt-index after each link
#   CHECK        fastsdt-check after each link (and after INDEX); findings of that level or worse fail the build.
#                The default is error. CHECK_KERNELS is its --kernel, e.g. 6.1-7.2
#
# Some flags depend on the linker; the function asks it, so call it after target_link_options(<target> ... -fuse-ld=...).
# What is not available stops the configuration with the reason.
#
# FASTSDT_PLUGIN_DIR, FASTSDT_INDEX and FASTSDT_CHECK name others than those of this installation.

function(fastsdt_target target)
  # CHECK's level may be left out.
  set(words "")
  set(check "")
  set(after_check FALSE)
  foreach(word IN LISTS ARGN)
    if(word STREQUAL "CHECK")
      set(check error)
      set(after_check TRUE)
      continue()
    endif()
    if(after_check AND word MATCHES "^(info|warning|error)$")
      set(check ${word})
    else()
      list(APPEND words "${word}")
    endif()
    set(after_check FALSE)
  endforeach()
  cmake_parse_arguments(arg "INDEX" "LAYOUT;ENTRY;KERNELS;CHECK_KERNELS" "PLUGIN_ARGS" ${words})
  set(me "fastsdt_target(${target})")
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${me}: there is no such target")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${me}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${me}: values are missing after: ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_ENTRY AND (arg_KERNELS OR arg_PLUGIN_ARGS))
    message(FATAL_ERROR "${me}: KERNELS and PLUGIN_ARGS are for the compiler plugin: say ENTRY too")
  endif()
  if(NOT check AND arg_CHECK_KERNELS)
    message(FATAL_ERROR "${me}: CHECK_KERNELS without CHECK")
  endif()

  # Not target_link_libraries: CMake forbids mixing calls with and without PRIVATE for one target.
  # Before all others: the target asked for our sites, so sys/sdt.h and usdt.h are ours.
  target_include_directories(${target} BEFORE PRIVATE
    $<TARGET_PROPERTY:fastsdt::compat,INTERFACE_INCLUDE_DIRECTORIES>)
  if(arg_LAYOUT)
    target_compile_definitions(${target} PRIVATE FASTSDT_LAYOUT=${arg_LAYOUT})
  endif()
  if(arg_ENTRY)
    set(plugin_args "entry=${arg_ENTRY}")
    if(arg_KERNELS)
      list(APPEND plugin_args "kernels=${arg_KERNELS}")
    endif()
    _fastsdt_plugin(${target} ${plugin_args} ${arg_PLUGIN_ARGS})
  endif()

  get_target_property(type ${target} TYPE)
  set(linked "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
  if(type MATCHES "${linked}")
    _fastsdt_semaphores(${target})
  endif()
  set(steps "")
  if(arg_INDEX)
    if(NOT type MATCHES "${linked}")
      message(FATAL_ERROR "${me}: INDEX is for the result of a link, and this is a ${type}: "
                          "say INDEX for the executables and shared libraries that use it")
    endif()
    _fastsdt_program(${target} fastsdt-index FASTSDT_INDEX program)
    list(APPEND steps COMMAND "${program}" --quiet "$<TARGET_FILE:${target}>")
  endif()
  if(check)
    if(NOT type MATCHES "${linked}|^STATIC_LIBRARY$")
      message(FATAL_ERROR "${me}: CHECK needs a file, and this is a ${type}")
    endif()
    _fastsdt_program(${target} fastsdt-check FASTSDT_CHECK program)
    list(APPEND steps COMMAND "${CMAKE_COMMAND}" "-DCHECK=${program}" -DLEVEL=${check} "-DKERNELS=${arg_CHECK_KERNELS}"
         "-DFILE=$<TARGET_FILE:${target}>" "-DOBJECTS=$<TARGET_OBJECTS:${target}>"
         -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fastsdt_check_step.cmake")
  endif()
  if(steps)
    add_custom_command(TARGET ${target} POST_BUILD ${steps} VERBATIM)
  endif()
endfunction()

# The path of one of our programs: as set, or as installed, or as this build makes it.
function(_fastsdt_program target name setting result)
  if(${setting})
    set(${result} "${${setting}}" PARENT_SCOPE)
  elseif(TARGET fastsdt::${name})
    set(${result} "$<TARGET_FILE:fastsdt::${name}>" PARENT_SCOPE)
    get_target_property(imported fastsdt::${name} IMPORTED)
    if(NOT imported)
      add_dependencies(${target} fastsdt::${name})
    endif()
  else()
    message(FATAL_ERROR "fastsdt_target(${target}): there is no ${name}: name the program in ${setting}, or, with "
                        "add_subdirectory, set FASTSDT_TOOLS to ON")
  endif()
endfunction()

function(_fastsdt_plugin target)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(any FALSE)
  foreach(language C CXX)
    if(NOT language IN_LIST enabled)
      continue()
    endif()
    set(any TRUE)
    set(id "${CMAKE_${language}_COMPILER_ID}")
    string(REGEX MATCH "^[0-9]+" major "${CMAKE_${language}_COMPILER_VERSION}")
    if(id STREQUAL "GNU")
      set(name gcc-${major})
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
        string(APPEND name -aarch64)
      endif()
      set(plugin_target fastprobe-${name})
    elseif(id STREQUAL "Clang")
      set(name llvm-${major})
      set(plugin_target fastprobe_llvm_${major})
    else()
      message(FATAL_ERROR "fastsdt_target(${target}): ENTRY needs GCC or Clang, and the ${language} compiler is ${id}")
    endif()
    set(plugin "${FASTSDT_PLUGIN_DIR}/${name}/fastprobe.so")
    if(TARGET ${plugin_target})
      add_dependencies(${target} ${plugin_target})
    elseif(NOT EXISTS "${plugin}")
      file(GLOB have RELATIVE "${FASTSDT_PLUGIN_DIR}" "${FASTSDT_PLUGIN_DIR}/*/fastprobe.so")
      list(TRANSFORM have REPLACE "/fastprobe.so" "")
      list(JOIN have ", " have)
      message(FATAL_ERROR "fastsdt_target(${target}): no fastprobe for ${CMAKE_${language}_COMPILER} (${id} ${major}): "
                          "there is no ${plugin}. Found: ${have}. Build fastsdt where this compiler and its plugin headers "
                          "are installed, or name the plugins' directory in FASTSDT_PLUGIN_DIR; with add_subdirectory, set "
                          "FASTSDT_PLUGINS to ON")
    endif()
    set(flags "-fplugin=${plugin}")
    foreach(argument IN LISTS ARGN)
      list(APPEND flags "-fplugin-arg-fastprobe-${argument}")
    endforeach()
    foreach(flag IN LISTS flags)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${flag}>")
      if(id STREQUAL "GNU") # for lto1, which compiles in the link; the driver ignores it in other links
        target_link_options(${target} PRIVATE "$<$<LINK_LANGUAGE:${language}>:${flag}>")
      endif()
    endforeach()
    if(id STREQUAL "Clang")
      _fastsdt_clang_lto(${target} ${language} ${name})
    endif()
  endforeach()
  if(NOT any)
    message(FATAL_ERROR "fastsdt_target(${target}): ENTRY needs the language C or CXX")
  endif()
endfunction()

# Clang: the selection travels in the bitcode, and the linker has to load the pass that carries it out.
function(_fastsdt_clang_lto target language name)
  _fastsdt_uses_lto(${target} ${language} lto)
  if(NOT lto)
    return()
  endif()
  _fastsdt_linker(${target} ${language} linker version)
  if(linker STREQUAL "lld") # generates the code itself, so the pass has to fit lld, not clang
    set(pass "${FASTSDT_PLUGIN_DIR}/llvm-${version}/fastprobe-pass.so")
    if(NOT EXISTS "${pass}" AND NOT TARGET fastprobe_llvm_${version}_pass)
      message(FATAL_ERROR "fastsdt_target(${target}): ENTRY with LTO and lld ${version}: there is no ${pass}")
    endif()
    set(flag "LINKER:-mllvm,-load=${pass}") # lld 14 has no --load-pass-plugin
  elseif(linker)
    # A second plugin beside LLVMgold.so, or, for mold, instead of it.
    set(flag "LINKER:-plugin,${FASTSDT_PLUGIN_DIR}/${name}/fastprobe-pass.so")
  else()
    message(FATAL_ERROR "fastsdt_target(${target}): ENTRY with LTO: which linker ${CMAKE_${language}_COMPILER} uses "
                        "could not be found out; lld, mold, gold and GNU ld are known")
  endif()
  target_link_options(${target} PRIVATE "$<$<LINK_LANGUAGE:${language}>:${flag}>")
endfunction()

# By default lld and mold let RELRO share a page of the file with .probes. The kernel then finds two mappings of a
# semaphore and counts in the one that the program does not read.
function(_fastsdt_semaphores target)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language C CXX)
    if(language IN_LIST enabled)
      _fastsdt_linker(${target} ${language} linker version)
      if(linker MATCHES "lld|mold")
        target_link_options(${target} PRIVATE
          "$<$<LINK_LANGUAGE:${language}>:LINKER:-z,separate-loadable-segments>")
      endif()
    endif()
  endforeach()
endfunction()

function(_fastsdt_uses_lto target language result)
  set(words "${CMAKE_${language}_FLAGS}")
  foreach(property COMPILE_OPTIONS LINK_OPTIONS)
    get_target_property(value ${target} ${property})
    list(APPEND words ${value})
  endforeach()
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(value ${target} INTERPROCEDURAL_OPTIMIZATION)
  if(value OR "${words}" MATCHES "-flto($|[= ;>])")
    set(${result} TRUE PARENT_SCOPE)
  endif()
  foreach(config IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
    string(TOUPPER "${config}" config)
    get_target_property(value ${target} INTERPROCEDURAL_OPTIMIZATION_${config})
    if(value OR "${CMAKE_${language}_FLAGS_${config}}" MATCHES "-flto($|[= ])")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# lld, mold, gold, bfd or empty: the linker that the target's flags choose, and its major version.
function(_fastsdt_linker target language result result_version)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_${language}_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}")
  get_target_property(options ${target} LINK_OPTIONS)
  foreach(option IN LISTS options)
    if(option MATCHES "^(-fuse-ld=|--ld-path=|-B)")
      list(APPEND flags "${option}")
    endif()
  endforeach()
  if(CMAKE_${language}_COMPILER_TARGET)
    list(APPEND flags "--target=${CMAKE_${language}_COMPILER_TARGET}")
  endif()
  get_target_property(chosen ${target} LINKER_TYPE) # CMake 3.29
  if(NOT chosen)
    set(chosen "${CMAKE_LINKER_TYPE}")
  endif()
  if(chosen)
    string(TOLOWER "${chosen}" chosen)
    list(APPEND flags "-fuse-ld=${chosen}")
  endif()
  execute_process(COMMAND "${CMAKE_${language}_COMPILER}" ${flags} -Wl,--version
                  OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(text MATCHES "LLD ")
    set(linker lld)
  elseif(text MATCHES "mold ") # says "compatible with GNU ld" too
    set(linker mold)
  elseif(text MATCHES "GNU gold ")
    set(linker gold)
  elseif(text MATCHES "GNU ld ")
    set(linker bfd)
  else()
    set(linker "")
  endif()
  string(REGEX MATCH "(LLD|mold|GNU [a-z]+) [^0-9]*([0-9]+)" unused "${text}")
  set(${result} "${linker}" PARENT_SCOPE)
  set(${result_version} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# Debian packages, by scripts/package.sh: FASTSDT_PACKAGES=ON and cpack. Each COMPONENT of an install rule is a package.
# Dates are those of SOURCE_DATE_EPOCH, so that the same sources give the same bytes.
set(FASTSDT_MAINTAINER "fastsdt maintainers <maintainers@fastsdt.invalid>" CACHE STRING "Maintainer of the packages: whoever publishes them")
set(FASTSDT_PACKAGE_VERSION "${PROJECT_VERSION}" CACHE STRING "Version of the packages")
mark_as_advanced(FASTSDT_MAINTAINER FASTSDT_PACKAGE_VERSION)

# fastsdt-sdt-dev: sys/sdt.h and dtrace where systemtap-sdt-dev has them.
foreach(header sdt.h sdt-config.h)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/sys/${header}
    "/* SPDX-License-Identifier: BSD-2-Clause */\n#include <fastsdt/compat/sys/${header}>\n")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sys/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${CMAKE_LIBRARY_ARCHITECTURE}/sys COMPONENT fastsdt-sdt-dev)
endforeach()
if(FASTSDT_HAVE_TOOLS)
  file(CREATE_LINK fastsdt-dtrace ${CMAKE_CURRENT_BINARY_DIR}/sys/dtrace SYMBOLIC)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sys/dtrace DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT fastsdt-sdt-dev)
  if(FASTSDT_HAVE_MAN)
    file(CREATE_LINK fastsdt-dtrace.1.gz ${CMAKE_CURRENT_BINARY_DIR}/sys/dtrace.1.gz SYMBOLIC)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sys/dtrace.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT fastsdt-sdt-dev)
  endif()
endif()

# "PACKAGE (= VERSION)" of the package that a file belongs to; empty if there is none.
function(exact_dependency file result)
  set(${result} "" PARENT_SCOPE)
  file(REAL_PATH "${file}" file)
  execute_process(COMMAND dpkg-query -S "${file}" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    string(REGEX REPLACE "[:,].*" "" owner "${owner}")
    execute_process(COMMAND dpkg-query -W -f "\${Version}" ${owner} OUTPUT_VARIABLE version)
    set(${result} "${owner} (= ${version})" PARENT_SCOPE)
  endif()
endfunction()

# fastsdt_package(NAME SECTION "short description" "long description" [DEPENDS ...])
function(fastsdt_package name section short long)
  string(TOUPPER ${name} upper)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${short}\n${long}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${short}\n${long}" PARENT_SCOPE)
  list(JOIN ARGN ", " depends)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  # What Debian's policy wants in each package.
  set(doc ${CMAKE_CURRENT_BINARY_DIR}/doc/${name})
  set(licenses ${PROJECT_SOURCE_DIR}/LICENSE)
  if(name MATCHES "^fastprobe-gcc-")
    set(licenses ${PROJECT_SOURCE_DIR}/cmake/copyright-gcc)
  endif()
  file(MAKE_DIRECTORY ${doc})
  configure_file(${licenses} ${doc}/copyright COPYONLY)
  file(WRITE ${doc}/changelog "fastsdt (${FASTSDT_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md of the sources says what is new.\n\n -- ${FASTSDT_MAINTAINER}  ${date}\n")
  execute_process(COMMAND gzip -9nf ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${doc}/copyright ${doc}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${name})
endfunction()

set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(same "(= ${FASTSDT_PACKAGE_VERSION})")
set(CPACK_COMPONENTS_ALL "")
fastsdt_package(libfastsdt-dev libdevel "USDT probe sites that Linux can trace cheaply"
  "The header fastsdt.h, drop-ins for systemtap's sys/sdt.h and libbpf's usdt.h\nin a directory of their own, and what CMake, pkg-config and make need.")
fastsdt_package(fastsdt-tools devel "verifies, indexes and traces USDT probe sites"
  "fastsdt-check says what each kernel does at the probes of a file or process,\nfastsdt-index makes their notes fast to search, fastsdt-probe attaches and\ncounts, fastsdt-trace runs scripts without the kernel, fastsdt-dtrace makes\nheaders and objects of provider files.")
fastsdt_package(libfastsdt-trace0 libs "traces USDT probe sites from within a program"
  "The library of fastsdt/trace.h: a program traces its own probe sites, or those\nof another process, without the kernel and without root.")
# Debian wants the trigger; CPack's scripts call ldconfig in spite of it.
set(trace ${CMAKE_CURRENT_BINARY_DIR}/doc/libfastsdt-trace0)
file(WRITE ${trace}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBFASTSDT-TRACE0_PACKAGE_CONTROL_EXTRA ${trace}/triggers)
file(WRITE ${trace}/overrides "# By CPack, beside the trigger.\nlibfastsdt-trace0: maintscript-calls-ldconfig\n")
install(FILES ${trace}/overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME libfastsdt-trace0 COMPONENT libfastsdt-trace0)
fastsdt_package(libfastsdt-trace-dev libdevel "traces USDT probe sites from within a program (development)"
  "The header fastsdt/trace.h, its manual, and what CMake and pkg-config need." "libfastsdt-trace0 ${same}" "libfastsdt-dev ${same}")
fastsdt_package(fastsdt-sdt-dev devel "sys/sdt.h and dtrace by fastsdt"
  "Puts fastsdt's sys/sdt.h and dtrace where builds look for those of systemtap." "libfastsdt-dev ${same}" "fastsdt-tools ${same}")
foreach(relation PROVIDES CONFLICTS REPLACES)
  set(CPACK_DEBIAN_FASTSDT-SDT-DEV_PACKAGE_${relation} systemtap-sdt-dev)
endforeach()
# A plugin depends on the compiler's internals: it loads only into the build that it was compiled for.
get_property(plugins GLOBAL PROPERTY FASTSDT_GCC_PLUGINS)
foreach(plugin IN LISTS plugins)
  get_property(with GLOBAL PROPERTY FASTSDT_${plugin})
  list(GET with 2 gcc)
  exact_dependency(${gcc} depends)
  fastsdt_package(fastprobe-${plugin} devel "makes function entries cheap to probe (${plugin})"
    "A plugin for GCC: function entries that the kernel emulates or optimizes\ninstead of single-stepping, with a record of each." ${depends})
endforeach()
get_property(plugins GLOBAL PROPERTY FASTSDT_LLVM_VERSIONS)
foreach(plugin IN LISTS plugins)
  get_property(bindir GLOBAL PROPERTY FASTSDT_LLVM_${plugin}_BINDIR)
  exact_dependency(${bindir}/clang depends)
  fastsdt_package(fastprobe-llvm-${plugin} devel "makes function entries cheap to probe (LLVM ${plugin})"
    "A plugin for clang, opt, llc and lld: function entries that the kernel emulates\nor optimizes instead of single-stepping, with a record of each." ${depends})
  # The libraries it is linked to are in a directory of their own version.
  set(overrides ${CMAKE_CURRENT_BINARY_DIR}/doc/fastprobe-llvm-${plugin}/overrides)
  file(WRITE ${overrides} "# LLVM's libraries are in a directory of their version.\nfastprobe-llvm-${plugin}: custom-library-search-path\n")
  install(FILES ${overrides} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME fastprobe-llvm-${plugin} COMPONENT fastprobe-llvm-${plugin})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fastsdt)
set(CPACK_PACKAGE_VERSION ${FASTSDT_PACKAGE_VERSION})
set(CPACK_PACKAGE_CONTACT "${FASTSDT_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_man.cmake)
include(CPack)

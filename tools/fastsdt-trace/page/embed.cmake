# SPDX-License-Identifier: BSD-2-Clause
# cmake -DFROM=tools/fastsdt-trace/page -DTO=page.cpp -DHTML=page.html -P embed.cmake: the page of `fastsdt-trace report` as C++, and as it is,
# with @DATA@ where data go: the Python package's flame graph.
cmake_minimum_required(VERSION 3.25)

# base64 of a SHA-256 as a Content-Security-Policy wants it: three hexadecimal digits are two of its characters.
function(hash_of text result)
  set(characters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hash "${text}")
  set(found "")
  foreach(at RANGE 0 62 3)
    string(SUBSTRING "${hash}" ${at} 3 digits)
    math(EXPR high "0x${digits} / 64")
    math(EXPR low "0x${digits} % 64")
    string(SUBSTRING "${characters}" ${high} 1 high)
    string(SUBSTRING "${characters}" ${low} 1 low)
    string(APPEND found "${high}${low}")
  endforeach()
  string(SUBSTRING "${hash}" 63 1 digit) # four bits are left
  math(EXPR last "0x${digit} * 4")
  string(SUBSTRING "${characters}" ${last} 1 last)
  set(${result} "${found}${last}=" PARENT_SCOPE)
endfunction()

foreach(part page.html page.css page.js parts/parts.css parts/parts.js parts/LICENSES.txt)
  file(READ ${FROM}/${part} ${part})
endforeach()
# The licences go with every page, as they ask for.
set(SCRIPT "/*\n${parts/LICENSES.txt}*/\n${parts/parts.js}\n${page.js}")
set(STYLE "${parts/parts.css}\n${page.css}")
foreach(part SCRIPT STYLE)
  if("${${part}}" MATCHES "</[sS]|<!--|\\)page\"|@DATA@")
    message(FATAL_ERROR "the page's ${part} has ${CMAKE_MATCH_0}, which would end it")
  endif()
  hash_of("${${part}}" ${part}_HASH)
endforeach()
foreach(part SCRIPT_HASH STYLE_HASH STYLE SCRIPT)
  string(REPLACE "@${part}@" "${${part}}" page.html "${page.html}")
endforeach()
file(WRITE ${HTML} "${page.html}")
string(FIND "${page.html}" "@DATA@" data)
string(SUBSTRING "${page.html}" 0 ${data} begin)
math(EXPR data "${data} + 6")
string(SUBSTRING "${page.html}" ${data} -1 end)
file(WRITE ${TO} "// Made by page/embed.cmake.\n#include \"page.h\"\n\nnamespace fastsdt::trace_tool {\n
const std::string_view page_begin = R\"page(${begin})page\";\nconst std::string_view page_end = R\"page(${end})page\";\n
} // namespace fastsdt::trace_tool\n")

# Debian's man pages are compressed, without a date: gzip would store the build's.
file(GLOB pages "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man?/*.[1-9]")
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()

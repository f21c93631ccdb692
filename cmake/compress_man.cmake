# Debian's man pages are compressed; the date of a gzip file would be the build's.
file(GLOB pages "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man?/*.[1-9]")
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()

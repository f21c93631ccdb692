# SPDX-License-Identifier: BSD-2-Clause
# Made by tools/completions/write.py of what the tools print for --help.
complete -c fastsdt-dtrace -s h -d 'make the header: for each probe PROVIDER_NAME(...) and PROVIDER_NAME_ENABLED()'
complete -c fastsdt-dtrace -s G -d 'make the object: it defines the semaphores'
complete -c fastsdt-dtrace -s s -r -F -d 'the provider file'
complete -c fastsdt-dtrace -s o -r -F -d 'the output (default: the provider file\'s name with the suffix .h or .o, in the current directory)'
complete -c fastsdt-dtrace -s C -d 'run the preprocessor on the provider file first: CPP, or CC -E'
complete -c fastsdt-dtrace -s I -x -d '-D NAME[=VALUE], -U NAME'
complete -c fastsdt-dtrace -s x -d 'cpppath=COMMAND'
complete -c fastsdt-dtrace -s k -d 'keep the temporary files and say where'
complete -c fastsdt-dtrace -l help -d 'this text'
complete -c fastsdt-dtrace -s V -l version -d 'the version'

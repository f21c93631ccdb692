# SPDX-License-Identifier: BSD-2-Clause
# Made by scripts/completions.py of what the tools print for --help.
complete -c fastsdt-trace -s h -l help -d 'Print this help message and exit'
complete -c fastsdt-trace -s V -l version -d 'Display program version information and exit'
complete -c fastsdt-trace -s e -l execute -x -d 'The script itself'
complete -c fastsdt-trace -s p -l pid -x -a '(__fish_complete_pids)' -d 'Attach to a running process'
complete -c fastsdt-trace -l engine -x -a 'auto user kernel' -d 'user: sites are patched to count in the process; kernel: bpftrace runs the script; auto: user where every site can be armed, else kernel if bpftrace can be run'
complete -c fastsdt-trace -s t -l duration -x -d 'End after this time'
complete -c fastsdt-trace -s i -l interval -x -d 'Print all maps at this interval'
complete -c fastsdt-trace -s d -l dry-run -d 'Only show the sites, the instructions that would count there, and why a site cannot be armed; a COMMAND is not run'
complete -c fastsdt-trace -l read-memory -d 'Read strings and arguments in the heap of a program that may set a seccomp filter, which could then kill it'
complete -c fastsdt-trace -s j -l json -d 'Print as bpftrace -f json does'

# SPDX-License-Identifier: BSD-2-Clause
# Made by tools/completions/write.py of what the tools print for --help.
complete -c fastsdt-index -s h -l help -d 'Print this help message and exit'
complete -c fastsdt-index -s V -l version -d 'Display program version information and exit'
complete -c fastsdt-index -s o -l output -r -F -d 'Write the result here (one FILE only)'
complete -c fastsdt-index -s n -l dry-run -d 'Say what would change and write nothing'
complete -c fastsdt-index -s q -l quiet -d 'Print nothing but errors'
complete -c fastsdt-index -s v -l verbose -d 'Name every removed note'
complete -c fastsdt-index -s j -l json -d 'Report as JSON'
complete -c fastsdt-index -l toolexec -d 'For go build -toolexec: run the command that follows; index what go\'s linker writes'

# SPDX-License-Identifier: BSD-2-Clause
# Made by tools/completions/write.py of what the tools print for --help.
_fastsdt() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options='' values='' file='' word
    # In --name=value bash makes three words of it.
    [ "$cur" != = ] || cur=''
    [ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
    COMPREPLY=()
    case ${COMP_WORDS[0]##*/} in
    fastsdt-check)
        options='-h --help -V --version -k --kernel -P --probe --probes --only -f --functions -s --summary -v --verbose -p --pid --plan --armable --diff -j --json -o --output --sarif -J --jobs --outside --no-lines --debug-dir --debuginfo --debuginfod --fail-on --color --list-findings'
        case $prev in
        -k | --kernel) return ;;
        -P | --probe | --probes) return ;;
        --only) values='info warning error' ;;
        -p | --pid) values=$(cd /proc && echo [0-9]*) ;;
        -o | --output) file=1 ;;
        -J | --jobs) return ;;
        --debug-dir | --debuginfo) file=1 ;;
        --fail-on) values='info warning error never' ;;
        --color) values='auto always never' ;;
        esac
        ;;
    fastsdt-index)
        options='-h --help -V --version -o --output -n --dry-run -q --quiet -v --verbose -j --json --toolexec'
        case $prev in
        -o | --output) file=1 ;;
        esac
        ;;
    fastsdt-probe)
        options='-h --help -V --version -P --probe --probes -e --entry -x --exit -s --symbol -a --address -o --offset -r --return -n --at-note -d --dry-run -f --force -p --pid -l --live -c --children --follow -t --seconds --duration --time -j --json --output'
        case $prev in
        -P | --probe | --probes) return ;;
        -e | --entry) return ;;
        -x | --exit) return ;;
        -s | --symbol) return ;;
        -a | --address) return ;;
        -o | --offset) return ;;
        -p | --pid) values=$(cd /proc && echo [0-9]*) ;;
        -t | --seconds | --duration) return ;;
        --time) return ;;
        --output) file=1 ;;
        esac
        ;;
    fastsdt-dtrace | dtrace)
        options='-h -G -s -o -C -I -x -k --help -V --version'
        case $prev in
        -s) file=1 ;;
        -o) file=1 ;;
        -I) return ;;
        esac
        ;;
    fastsdt-trace)
        options='-h --help -V --version -e --execute -c --cmd -p --pid --exe --comm --cgroup --container --user --engine -t --duration --seconds -i --interval -d --stage --dry-run -f --follow --children --no-follow --no-move --move-faulting --read-memory --buffer --flight --unordered -o --output -j --json --like --no-warnings --include -I --probe-filter --unsafe --uretprobe --folded --pprof --exit-status --debug-dir --debuginfo --debuginfod --no-demangle -l --list --config --listen --otlp --functions --probes --probe --samples --sort --rows'
        case $prev in
        -e | --execute) return ;;
        -c | --cmd) return ;;
        -p | --pid) values=$(cd /proc && echo [0-9]*) ;;
        --exe) file=1 ;;
        --comm) return ;;
        --cgroup) return ;;
        --container) return ;;
        --user) return ;;
        --engine) values='auto user kernel bpftrace' ;;
        -t | --duration | --seconds) return ;;
        -i | --interval) return ;;
        -d | --stage) values='ast ir code' ;;
        --buffer) return ;;
        -o | --output) file=1 ;;
        --like) return ;;
        --include) file=1 ;;
        -I) file=1 ;;
        --probe-filter) return ;;
        --pprof) file=1 ;;
        --debug-dir | --debuginfo) file=1 ;;
        -l | --list) return ;;
        --config) file=1 ;;
        --listen) return ;;
        --otlp) return ;;
        --functions) return ;;
        --probes | --probe) return ;;
        --samples) return ;;
        --sort) return ;;
        --rows) return ;;
        esac
        ;;
    esac
    if [ -z "$values" ] && [ -z "$file" ] && [[ $cur = -* ]]; then values=$options; fi
    if [ -n "$values" ]; then
        while read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$values" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        while read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
    fi
}
complete -F _fastsdt fastsdt-check fastsdt-index fastsdt-probe fastsdt-dtrace fastsdt-trace

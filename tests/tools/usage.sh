#!/bin/bash
# Versions, usage errors, missing files and colour are the same in all programs.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"/\1/p' "$INCLUDE/fastsdt.h")
run() { local s=0; "$@" >out 2>err </dev/null || s=$?; echo $s; }
cp -f "$(command -v fastsdt-dtrace)" dtrace
for tool in fastsdt-check fastsdt-index fastsdt-probe fastsdt-trace ./dtrace; do
    name=${tool#./}
    for option in -V --version; do
        expect "$tool $option" "$(run $tool $option) $(cat out err)" "0 $([ $name = dtrace ] && echo 'dtrace (fastsdt)' || echo $name) $version"
    done
    for option in --help; do
        expect "$tool $option" "$(run $tool $option) $(wc -l <err)" "0 0"
        grep -q "Exit status: 0" out || fail "$tool --help names no exit status"
        # CLI11 2.6 leaves "Usage:" out where there is a name.
        grep -qiE "^(usage: )?$name " out || fail "$tool --help names itself otherwise: $(grep -i "$name" out)"
    done
    expect "$tool: an unknown option" "$(run $tool --no-such-option)" 2
    grep -q "^$name: " err || fail "$tool: a usage error without its name: $(cat err)"
    [ ! -s out ] || fail "$tool: a usage error on standard output"
    expect "$tool without arguments" "$(run $tool)" 2
    grep -q "^$name: " err || fail "$tool: a usage error without its name: $(cat err)"
done
for command in "fastsdt-check absent" "fastsdt-index absent" "fastsdt-probe --dry-run absent" "fastsdt-trace -p 1 absent" "./dtrace -h -s absent"; do
    name=${command%% *} name=${name#./}
    status=$(run $command)
    if [ "$name" = fastsdt-probe ] && ! grep -q absent err; then continue; fi # it may not attach here at all
    expect "$command" "$status" $([ $name = dtrace ] && echo 1 || echo 2)
    grep -q "^$name: .*absent.*No such file" err || fail "$command: $(cat err)"
done
for tool in fastsdt-check fastsdt-index fastsdt-probe fastsdt-trace; do
    $tool --help | matches -E '^ +-j, *--json' || fail "$tool has no -j"
done

# Each option of a tool and of its commands stands in the manual page.
for tool in fastsdt-check fastsdt-index fastsdt-probe fastsdt-trace ./dtrace; do
    page=$FASTSDT_SOURCE/docs/man/fastsdt-${tool##*[-/]}.1.scd
    {
        $tool --help
        for command in $([ $tool != fastsdt-trace ] || echo serve latency record functions top export report); do $tool $command --help; done
    } | grep -oE '^ {2,10}-[-A-Za-z0-9]+(, *-[-A-Za-z0-9]+)*' | tr -d ' ' | tr , '\n' | sort -u >options
    [ "$(wc -l <options)" -ge 5 ] || fail "$tool: few options: $(xargs <options)"
    while read -r option; do
        grep -qE -- "(^|[^-A-Za-z0-9])$option([^-A-Za-z0-9]|\$)" "$page" || fail "$page has no $option"
    done <options
done

# A command inside a tool has a usage of its own, and the tool names it.
fastsdt-trace --help | matches -E '^  serve  ' || fail "fastsdt-trace --help does not name serve"
for command in latency record functions top export report; do
    fastsdt-trace --help | matches -E "^  $command  " || fail "fastsdt-trace --help does not name $command"
    fastsdt-trace $command --help | matches -E "^(Usage:|      ) fastsdt-trace $command " || fail "fastsdt-trace $command --help has no usage"
done
fastsdt-trace serve --help >serve.help
expect "usage of serve" "$(grep -E '^(Usage:|      ) ' serve.help | sed -E 's/^(Usage:|      ) //' | cut -d' ' -f1-2 | sort | uniq -c | tr -s ' ')" \
    " 3 fastsdt-trace serve"
expect "examples of serve" "$(grep -c '^  fastsdt-trace serve ' serve.help)" 2

# What means the same has the same names.
same() { # TOOL OPTION OPTION...
    local option
    for option in "${@:3}"; do
        $1 --help | matches -E "^ .*(^|[ ,])$2,.*$option|^ .*$option,.*$2([ ,]|\$)" || fail "$1 does not take $option for $2"
    done
}
for tool in fastsdt-trace fastsdt-probe; do
    same $tool --duration --seconds
    same $tool --follow --children
done
for tool in fastsdt-probe fastsdt-check "fastsdt-trace top" "fastsdt-trace record"; do same "$tool" --probe --probes; done
for tool in fastsdt-check fastsdt-probe fastsdt-trace fastsdt-index; do $tool --help | matches -E -- '--output' || fail "$tool has no --output"; done

# Plurals.
printf '#include <fastsdt.h>\nint main(void) { FASTSDT(p, n); return 0; }\n' >one.c
gcc -I"$INCLUDE" one.c -o one
fastsdt-index -n one | matches -E ': 1 site and 0 entries' || fail "$(fastsdt-index -n one)"
fastsdt-check one | matches -E ', 1 site$' || fail "$(fastsdt-check one)"

# A report in a file is the one that is printed.
fastsdt-check one >printed
fastsdt-check --output written one >out || fail "--output: status $?"
cmp printed written
[ ! -s out ] || fail "--output: printed too: $(cat out)"

# Colour on request only: here is no terminal.
for command in "fastsdt-check one" "fastsdt-check --plan one"; do
    ! $command | matches $'\e' || fail "$command: colour without a terminal"
    $command --color always | matches $'\e' || fail "$command: no colour when asked for"
done

# What dtrace shows of a wrong line is visible and short.
{ printf 'provider p { probe n(int %s' "$(printf 'a%.0s' $(seq 5000))"; printf '\001\377\033[31m ! ); };\n'; } >long.d
expect "a long line" "$(run ./dtrace -h -s long.d)" 1
[ "$(wc -c <err)" -lt 600 ] || fail "the whole line is shown: $(wc -c <err) bytes"
! grep -q $'[\e\001\377]' err || fail "bytes of the file reach the terminal"

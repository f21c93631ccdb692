#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs from Debian's unchanged sources, configured with their dtrace switch, built three times: with systemtap's header
# and dtrace, with ours, and with ours and fastprobe.
#
#     tests/long/real-programs.sh [-b] [-k] [-t] [--again] [-c COMPILER]... [-v VARIANT]... NAME...
#
# NAME: tcl cpython postgresql perl php memcached ruby, each described in tests/long/real-programs/NAME.sh. COMPILER: gcc, clang-19, ... (default:
# gcc). VARIANT: systemtap, fastsdt, fastprobe (default: all; the other two need systemtap's to compare with). For each program and compiler:
#   - it builds, and its own tests give what they give with systemtap's header;
#   - every probe in it is one of its provider file, with as many arguments; it has systemtap's probes, with arguments of the same
#     sizes and signs; fastsdt-check reports no error;
#   - as root, on a kernel with uprobes: bpftrace, fastsdt-trace's user engine and gdb count as many hits as the program says it made;
#   - with fastprobe, no kernel single-steps or refuses a selected entry, but for those that the report lists as missed.
# What passed is recorded in build/real-programs/results and not done again while all that it depends on is the same: compiler,
# sources, headers, tools, recipe. A build whose test failed is taken up again. --again: all anew. The rows of all records that hold
# replace those in docs/recorded/real-programs.md; its other rows stay while the program's version and tests are the same. -k keeps the build
# folders. -t: no compile times; where the folders were kept, a later run on a quiet machine takes them. -b: builds only, in
# build/real-programs/NAME-COMPILER-VARIANT, for other scripts. After a build of fastsdt (build/default). With ccache, what is the same with both
# headers is compiled once. FASTSDT_JOBS: for make, default 2. FASTSDT_REAL_PROGRAMS: a folder instead of build/real-programs; docs stay as they
# are.
set -euo pipefail
usage() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/../.."
top=$PWD
build_of_fastsdt=${FASTSDT_BUILD:-$top/build/default}
checker=$build_of_fastsdt/bin/fastsdt-check
work=${FASTSDT_REAL_PROGRAMS:-$top/build/real-programs}
results=$work/results
jobs=${FASTSDT_JOBS:-2}
all_programs="tcl cpython postgresql perl php memcached ruby"
programs=() compilers=() variants=() build_only= keep= again= timed=1
while [ $# -gt 0 ]; do
    case $1 in
    -c) compilers+=("${2:?-c wants a compiler}"); shift 2 ;;
    -b) build_only=1; shift ;;
    -k) keep=1; shift ;;
    -t) timed=; shift ;;
    -v) variants+=("${2:?-v wants a variant}"); shift 2 ;;
    --again) again=1; shift ;;
    *) [[ " $all_programs " = *" $1 "* ]] || usage; programs+=("$1"); shift ;;
    esac
done
[ ${#programs[@]} -gt 0 ] || usage
[ ${#compilers[@]} -gt 0 ] || compilers=(gcc)
[ ${#variants[@]} -gt 0 ] || variants=(systemtap fastsdt fastprobe)
say() { printf '[%3d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
fail() { say "FAIL: $*" >&2; exit 1; }
for tool in fastsdt-check fastsdt-dtrace fastsdt-trace; do
    [ -x "$build_of_fastsdt/bin/$tool" ] || fail "build fastsdt first: $build_of_fastsdt/bin/$tool is missing"
done
for compiler in "${compilers[@]}"; do command -v "$compiler" >/dev/null || fail "no compiler $compiler"; done
clean_path=$PATH
systemtap_dtrace=$(command -v dtrace) && [[ $(sed -n 1p "$systemtap_dtrace") = *python* ]] ||
    fail "systemtap's dtrace is not on the PATH (systemtap-sdt-dev)"
mkdir -p "$results" "$work/sources" "$work/bin"
ln -sf "$build_of_fastsdt/bin/fastsdt-dtrace" "$work/bin/dtrace" # what builds call
can_trace=
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || can_trace=1

# ---- A recipe: package, Debian's source package; provider, the file of it that describes the probes; file, what is built and has them;
# in_tree, if it builds in its sources only; tests_are, what is run of its tests. Its functions run in the build folder, with CC, CFLAGS,
# CPPFLAGS and PATH in the environment: configure; build; recompile OBJECT..., from here; own_tests prints results that do not depend on
# time and order; live_setup sets what the live test needs: see live().
recipe() { # NAME
    program=$1 in_tree=
    # shellcheck source=real-programs/tcl.sh
    . "$top/tests/long/real-programs/$program.sh"
    source=$work/sources/$package
}

# The upstream sources with Debian's patches, unpacked in $source.
fetch() {
    [ ! -e "$source" ] || return 0
    say "$package: fetching the source package"
    local files
    rm -rf "$source.part"
    files=$("$top/scripts/common/debian-source.sh" "$package") && dpkg-source --no-copy -x "$files"/*.dsc "$source.part" >"$work/fetch.log" 2>&1 ||
        fail "cannot fetch $package: $(tail -n 1 "$work/fetch.log" 2>/dev/null)"
    cp "$files"/*.dsc "$source.part/.dsc" # which version this is
    mv "$source.part" "$source"
}

plugin_of() { # COMPILER
    case $1 in
    clang-*) echo "$build_of_fastsdt/llvm-${1#clang-}/fastprobe.so" ;;
    *) echo "$build_of_fastsdt/gcc-$("$1" -dumpversion | cut -d. -f1)/fastprobe.so" ;;
    esac
}

# use COMPILER VARIANT: the names of this build, and its environment.
use() {
    compiler=$1 variant=$2
    where="$program, $compiler, $variant"
    result=$results/$program-$compiler-$variant peer=$results/$program-$compiler-systemtap
    dir=$work/$program-$compiler-$variant
    plugin=
    export CC=$compiler CFLAGS=-O2 CPPFLAGS="" PATH=$clean_path
    unset CCACHE_DISABLE
    [ "$variant" = systemtap ] || CPPFLAGS="-I$top/include" PATH=$work/bin:$clean_path
    if command -v ccache >/dev/null; then
        mkdir -p "$work/ccache/$compiler"
        ln -sf "$(command -v ccache)" "$work/ccache/$compiler/$compiler"
        export CCACHE_BASEDIR=$dir CCACHE_NOHASHDIR=1
        [ "$variant" != fastprobe ] || export CCACHE_DISABLE=1 # an object from the cache is in no report
        PATH=$work/ccache/$compiler:$PATH
    fi
    if [ "$variant" = fastprobe ]; then
        plugin=$(plugin_of "$compiler")
        [ -e "$plugin" ] || fail "$plugin is not built"
        CFLAGS="$CFLAGS -fplugin=$plugin -fplugin-arg-fastprobe-report=$dir/report.json"
    fi
}

# ---- All inputs of a result, as one word.
digest() { sha256sum | cut -c1-32; }
build_inputs() {
    {
        declare -f configure build
        echo "$package $in_tree"
        cat "$source/.dsc"
        PATH=$clean_path "$CC" -v 2>&1
        echo '#include <sys/sdt.h>' | PATH=$clean_path "$CC" $CPPFLAGS -E -dD -P -
        if [ "$variant" = systemtap ]; then cat "$systemtap_dtrace"; else cat "$build_of_fastsdt/bin/fastsdt-dtrace"; fi
        [ -z "$plugin" ] || cat "$plugin"
    } | digest
}
tests_inputs() { { build_inputs; declare -f own_tests as_user; } | digest; }
judge_inputs() {
    {
        tests_inputs
        declare -f judge probes_of described live same_statistics live_under live_setup as_user
        echo "$provider $file $can_trace"
        [ "$variant" = systemtap ] ||
            cat "$peer.probes" "$peer.tests" "$checker" "$build_of_fastsdt/bin/fastsdt-trace" "$top/tests/long/check-entries.py" 2>&1
    } | digest
}
holds() { [ -e "$1" ] && [ "$(cat "$1")" = "$2" ]; } # FILE INPUTS: it has the record of these inputs

# ---- What is asked of all of them
as_user() { # COMMAND...: as nobody, who gets this folder
    if [ "$(id -u)" = 0 ]; then
        chown -R nobody "$dir"
        setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$dir" "$@"
    else
        "$@"
    fi
}

# PROVIDER:NAME and sizes and signs of the arguments, as readelf prints them.
probes_of() {
    readelf -nW "$1" | awk '/Provider: / { provider = $NF } /^ *Name: / { name = $2 }
        /^ *Arguments:/ { sub(/^ *Arguments: */, ""); gsub(/f?@[^ ]*/, ""); print provider ":" name " " $0 }' | sort -u
}
# PROVIDER:NAME and the number of arguments of each probe in the provider file, as systemtap's dtrace understands it.
described() {
    "$systemtap_dtrace" -h -s "$source/$provider" -o "$dir/described.h" >/dev/null # it warns there
    sed -n 's/^DTRACE_PROBE\([0-9]*\) (\([^,)]*\), \([^,)]*\).*/\2:\3 \1/p' "$dir/described.h" | awk '{ print $1, $2 + 0 }' | sort -u
}

# live_under TRACER...: starts live_command, which waits for a line on its standard input; attaches, and sends the line when the tracer
# says "attached". trace.out has what it said.
live_under() {
    local pid tracer
    rm -f live.in trace.out
    mkfifo live.in
    "${user[@]}" "${live_command[@]}" <live.in >live.out 2>&1 &
    pid=$!
    exec 7>live.in
    # env and setpriv execute other programs: wait until the program's own file is mapped.
    until grep -q "$(basename "$file")" "/proc/$pid/maps" 2>/dev/null; do
        kill -0 $pid || fail "$where: the program for the live test ended: $(tail -n 3 live.out)"
    done
    "$@" -p $pid >trace.out 2>&1 7>&- & # a tracer that waits for the end of the program must not keep its input open
    tracer=$!
    until grep -qE '^(attached$|\{"type": "printf")' trace.out 2>/dev/null; do
        kill -0 $tracer 2>/dev/null || { kill $pid; fail "$where: $1: $(tail -n 3 trace.out)"; }
    done
    live_input >&7
    exec 7>&-
    wait $pid || true
    wait $tracer || true
}

same_statistics() {
    [ -n "$(declare -F live_statistics)" ] || return 0
    [ "$(live_statistics)" = "$live_count $live_more_count" ] ||
        fail "$where: its own statistics say $(live_statistics), and not $live_count $live_more_count"
}

# live: runs live_command under bpftrace, under fastsdt-trace's user engine and in gdb, and compares the hits of live_probe
# whose live_argument is the string live_value with live_count. A program that counts itself has live_statistics, which prints both numbers.
# live_options: for fastsdt-trace.
live() {
    local count what hits more user=()
    live_more_probe='' live_more_count='' live_as_user='' live_options=()
    live_input() { echo; }
    live_setup
    [ -z "$live_as_user" ] || [ "$(id -u)" != 0 ] || user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    hits="usdt:$PWD/$file:$live_probe"
    more=${live_more_probe:+"usdt:$PWD/$file:$live_more_probe { @more = count(); }"}
    # Attached when it says so: BEGIN runs when all probes are in place.
    BPFTRACE_STRLEN=32 live_under bpftrace \
        -e "BEGIN { printf(\"attached\\n\"); } $hits /str($live_argument) == \"$live_value\"/ { @hits = count(); } $more"
    count=$(sed -n 's/^@hits: //p' trace.out)
    [ "$count" = "$live_count" ] || fail "$where: bpftrace counts '$count' of $live_probe, the program does $live_count: $(tail -n 5 trace.out)"
    if [ -n "$live_more_probe" ]; then
        count=$(sed -n 's/^@more: //p' trace.out)
        [ "$count" = "$live_more_count" ] || fail "$where: bpftrace counts '$count' of $live_more_probe, the program does $live_more_count"
    fi
    same_statistics
    # fastsdt-trace's filters compare no strings, so the string is a key.
    live_under "${user[@]}" "$build_of_fastsdt/bin/fastsdt-trace" --engine user --json "${live_options[@]}" \
        -e "interval:ms:10 { printf(\"attached\\n\"); } $hits { @hits[str($live_argument)] = count(); } $more"
    count=$(LIVE_VALUE=$live_value python3 -c '
import json, os, sys
maps = {}
for line in sys.stdin:
    if line.startswith("{\"type\": \"map\""):
        maps |= json.loads(line)["data"]
print(maps["@hits"][os.environ["LIVE_VALUE"].replace("\\n", "\n")], maps.get("@more", ""))' <trace.out) || true
    [ "$count" = "$live_count $live_more_count" ] ||
        fail "$where: fastsdt-trace counts '$count', the program does '$live_count $live_more_count': $(tail -n 5 trace.out)"
    same_statistics
    live_input >live.txt
    local words=("${live_command[@]}") setenv=()
    if [ "${words[0]}" = env ]; then
        words=("${words[@]:1}")
        while [[ ${words[0]} = *=* ]]; do setenv+=("${words[0]}") words=("${words[@]:1}"); done
    fi
    {
        for what in "${setenv[@]}"; do echo "set environment ${what/=/ }"; done
        printf 'set pagination off\nhandle SIGUSR1 SIGCHLD nostop noprint\nbreak main\n'
        echo "run$(printf ' %q' "${words[@]:1}") <live.txt >gdb.out"
        # In gdb 13 a condition behind the probe's name is lost, and one that waits for the library too.
        printf 'delete\nbreak -probe-stap %s\ncondition 2 %s\nignore 2 1000000\ncontinue\ninfo breakpoints\n' "$live_probe" \
            "\$_streq((char*)\$_probe_$live_argument, \"$live_value\")"
    } >gdb.commands
    "${user[@]}" gdb -nx -batch -x gdb.commands --args "${words[@]}" >gdb.log 2>&1 </dev/null || true
    count=$(sed -n 's/.*breakpoint already hit \([0-9]*\) times*/\1/p' gdb.log | sed -n 1p)
    [ "$count" = "$live_count" ] || fail "$where: gdb counts '$count' of $live_probe, the program does $live_count: $(tail -n 5 gdb.log)"
    same_statistics
}

make_it() { # in the build folder
    say "$where: building"
    rm -rf "$dir"
    mkdir "$dir"
    cd "$dir"
    [ -z "$in_tree" ] || cp -a "$source/." .
    # The results of configure with systemtap's header, except the environment and everything about probes.
    [ "$variant" = systemtap ] || [ ! -e "$peer.cache" ] || grep -Evi '^ac_cv_env|dtrace|sdt' "$peer.cache" >config.cache
    configure >configure.log 2>&1 || fail "$where: configure: $(tail -n 3 configure.log)"
    [ "$variant" != systemtap ] || [ ! -e config.cache ] || cp config.cache "$peer.cache"
    rm -f report.json # of what configure compiled
    build >make.log 2>&1 || fail "$where: make: $(tail -n 5 make.log)"
}

commit() { # of fastsdt. A change of the documentation is none
    git -C "$top" rev-parse --short HEAD 2>/dev/null || { echo "no commit"; return; }
    git -C "$top" diff --quiet HEAD -- . ':!docs' || echo "with changes"
}

judge() { # in the build folder: prints the row of the table
    local sites text used layouts=nop1 entries=- traced=no
    probes_of "$file" >"$result.probes"
    described >"$results/$program.described"
    awk 'NR == FNR { count[$1] = $2; next } !($1 in count) || count[$1] != NF - 1' "$results/$program.described" "$result.probes" >difference
    [ ! -s difference ] || fail "$where: probes that are not what $provider says: $(head -n 5 difference)"
    sites=$(readelf -nW "$file" | grep -c 'Provider: ') || fail "$where: no probe in $file"
    text=$(size -A "$file" | awk '$1 == ".text" {print $2}')
    if [ "$variant" != systemtap ]; then
        diff "$peer.probes" "$result.probes" >difference || fail "$where: other probes than with systemtap's header: $(head -n 5 difference)"
        diff "$peer.tests" "$result.tests" >difference || fail "$where: its tests give other results: $(head -n 5 difference)"
        "$checker" --no-lines "$file" >check.log 2>&1 || fail "$where: fastsdt-check $file: $(tail -n 5 check.log)"
        layouts=$("$checker" --json --no-lines "$file" |
            grep -E '^ "layout": ' | cut -d'"' -f4 | sort | uniq -c | awk '{ printf "%s%d %s", (NR > 1 ? ", " : ""), $1, $2 }')
    fi
    if [ "$variant" = fastprobe ]; then
        "$checker" --functions --json --no-lines "$file" >functions.json || fail "$where: fastsdt-check --functions $file"
        entries=$("$top/tests/long/check-entries.py" functions.json report.json) || fail "$where: entries of $file: $entries"
    fi
    if [ -n "$can_trace" ] && [ "$variant" != systemtap ]; then
        say "$where: live" >&2
        live >&2
        traced="$live_count of ${live_probe#*:}${live_more_count:+, $live_more_count of ${live_more_probe#*:}}"
    fi
    used=$(cut -d' ' -f1 "$result.probes" | sort -u | wc -l)
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$program" "$compiler $("$compiler" -dumpfullversion -dumpversion)" "$variant" \
        "$used of $(wc -l <"$results/$program.described")" "$sites" "$layouts" "$text" "$entries" "$(wc -l <"$result.tests")" "$traced" \
        "$(date +%F), $(commit | paste -sd" ")"
}

built() { # makes what `use` names, unless its folder has it
    local inputs
    inputs=$(build_inputs)
    ! holds "$dir/built" "$inputs" || return 0
    (make_it)
    echo "$inputs" >"$dir/built"
    rm -f "$result.seconds"
}

one() { # of the build that `use` names: its row goes to results
    local inputs begun=$SECONDS
    [ -z "$again" ] || rm -rf "$result".* "$dir"
    [ "$variant" = systemtap ] || [ -e "$peer.row" ] || fail "$where: there is no result of systemtap's header to compare with"
    if holds "$result.judged" "$(judge_inputs)"; then
        say "$where: as recorded: $(tr '\t' '|' <"$result.row")"
        return
    fi
    rm -f "$result.row" "$result.judged"
    built
    cd "$dir"
    inputs=$(tests_inputs)
    if ! holds "$result.tested" "$inputs"; then
        say "$where: its own tests"
        rm -f "$result.tested"
        (own_tests) >"$result.tests" 2>&1 || true
        [ -s "$result.tests" ] || fail "$where: its tests print nothing"
        echo "$inputs" >"$result.tested"
    fi
    judge >row
    mv row "$result.row"
    judge_inputs >"$result.judged"
    say "$where: ok after $((SECONDS - begun)) s: $(tr '\t' '|' <"$result.row")"
}

# CPU seconds that it takes to compile the objects with sites, for each variant whose folder is there: the least of five
# rounds. Each round compiles all variants, so that other load on the machine affects all of them.
compile_times() { # VARIANT...
    local round objects cpu least
    for round in 1 2 3 4 5; do
        for variant in "$@"; do
            (
                use "$compiler" "$variant"
                cd "$dir"
                export CCACHE_DISABLE=1
                mapfile -t objects < <(find . -name '*.o' -size +0 -exec grep -l stapsdt {} + | sed 's|^\./||' | sort)
                rm -f "${objects[@]}"
                TIMEFORMAT='%U %S'
                cpu=$({ time recompile "${objects[@]}" >recompile.log 2>&1; } 2>&1) || fail "$where: $(tail -n 3 recompile.log)"
                least=$(cat "$result.seconds" 2>/dev/null || echo 1e9)
                [ "$round" != 1 ] || least=1e9
                awk -v least="$least" '{ now = $1 + $2; print now < least ? now : least }' <<<"$cpu" >"$result.seconds"
            )
        done
    done
}

group() { # COMPILER: all variants of the program
    local variant present=()
    for variant in "${variants[@]}"; do
        use "$1" "$variant"
        if [ -n "$build_only" ]; then
            (built)
            continue
        fi
        (one)
        [ ! -e "$dir" ] || present+=("$variant")
    done
    if [ ${#present[@]} -gt 0 ]; then
        if [ -n "$timed" ]; then
            say "$program, $compiler: compile times"
            compile_times "${present[@]}"
        fi
        [ -n "$keep" ] || for variant in "${present[@]}"; do rm -rf "$work/$program-$compiler-$variant"; done
    fi
}

# ---- docs/recorded/real-programs.md: the records that hold, and what it says already
records() { # the files of the records, without suffix; systemtap's first
    local name compiler variant
    for name in $all_programs; do
        for compiler in $(cd "$results" && ls "$name"-*.judged 2>/dev/null | sed "s/^$name-//; s/-[a-z]*\.judged\$//" | sort -u); do
            for variant in systemtap fastsdt fastprobe; do
                (
                    recipe "$name"
                    use "$compiler" "$variant"
                    ! holds "$result.judged" "$(judge_inputs)" || echo "$result"
                ) 2>/dev/null || true
            done
        done
    done
}
# about NAME: its version, and what is run of its tests; as the document has it, where the sources are not here.
about() {
    (recipe "$1" && [ -e "$source/.dsc" ] && echo "- $1 ($(sed -n 's/^Version: //p' "$source/.dsc" | sed -n 1p)): $tests_are") ||
        grep "^- $1 (" "$document" || true
}
# without_site NAME RECORD...: which probes of its provider file no build has.
without_site() {
    local name=$1 record
    shift
    for record in "$@"; do
        case $record in
        */"$name"-*-fastsdt)
            comm -13 <(cut -d' ' -f1 "$record.probes" | sort -u) <(cut -d' ' -f1 "$results/$name.described" | sort -u) | sed 's/^[^:]*://' |
                paste -sd, |
                sed -n "s/,/, /g; s/..*/The sources of $name have no site of &: no build has them./p"
            return
            ;;
        esac
    done
    grep "^The sources of $name have no site" "$document" || true
}
# table RECORD...: their rows, and the document's where no record replaces them and about() is the same.
table() {
    local record name
    {
        for record in "$@"; do
            awk -F'\t' -v seconds="$(cat "$record.seconds" 2>/dev/null || echo 0)" '{ print $0 "\t" seconds }' "$record.row"
        done | awk -F'\t' '
            function over(now, before, unit) { return now && before ? sprintf("%+.2f %%", 100 * (now / before - 1)) : "-" }
            $3 == "systemtap" { text[$1, $2] = $7; seconds[$1, $2] = $12 }
            { base = $3 == "systemtap"
              printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $9, $4, $5, $6,
                base ? $7 " bytes" : sprintf("%+d (%s)", $7 - text[$1, $2], over($7, text[$1, $2])),
                base ? ($12 ? sprintf("%.2f s", $12) : "-") : over($12, seconds[$1, $2]), $8, $10, $11 }'
        for name in $all_programs; do
            ! grep -qxFe "$(about "$name")" "$document" || sed -n "/^## Services under load\$/q; /^| $name | /p" "$document"
        done
    } | awk -F' [|] ' -v programs="$all_programs" '
        BEGIN {
            for (n = split(programs, names, " "); n; n--) place["| " names[n]] = n
            for (n = split("systemtap fastsdt fastprobe", names, " "); n; n--) place[names[n]] = n
        }
        !seen[$1, $2, $3]++ { print place[$1] "\t" $2 "\t" place[$3] "\t" $0 }' | sort -t $'\t' -k1,1n -k2,2 -k3,3n | cut -f4
}
document() {
    local found rows name document=$top/docs/recorded/real-programs.md
    mapfile -t found < <(records)
    rows=$(table "${found[@]}")
    {
        cat <<EOF
# Real programs, measured

Which programs were built, and what came of each build? Written by \`tests/long/real-programs.sh $all_programs\`, and with \`-c clang-19\`, as root after a build of fastsdt: Debian 12's
unchanged sources, configured with their dtrace switch, -O2. Each row is a build that passed: the program's own tests give the same results
as with systemtap's header; every probe is one of the provider file, with as many arguments; the program has the same probes with the same
sizes and signs of arguments, fastsdt-check reports no error, and bpftrace, fastsdt-trace's user engine and gdb count what the program did.
With fastprobe, every selected entry is cheap on all kernels that fastsdt-check knows, or reported as missed.
The rows of systemtap's header are there to compare with: they are neither checked nor traced.

What is run of the programs' own tests, each with the dtrace of the build on the PATH:

EOF
        for name in $all_programs; do if grep -q "^| $name " <<<"$rows"; then about "$name"; fi; done
        echo
        for name in $all_programs; do without_site "$name" "${found[@]}" | sed G; done
        cat <<EOF
The column "hits, live" has the hits of the live test. The recipe (\`live_setup\` in \`tests/long/real-programs/\`) fixes their number: at the first probe only the
hits of one function or statement are counted, at the second all hits. bpftrace and fastsdt-trace have to count both numbers, and gdb the first.
What memcached and Ruby count themselves has to be the same (\`live_statistics\`). \`tests/long/real-servers.sh\` does that with nginx and Redis, whose sources have no probes,
by fastprobe's entries: 502 requests of nginx 1.22 and 500 gets of Redis 7.0, in all three counts.

A function that is inlined has its site in each copy. With our header gcc reckons a site as short (\`asm inline\`), so it inlines more functions.
Where a row has no compile time, none was measured (\`-t\`). It is the CPU time for the files that have sites, the least of five rounds; two such figures of the same build
differ by up to a tenth. The last column says when a row was measured, and at which commit of fastsdt.

| program | compiler | built with | results of its tests | probes used | sites | layouts | .text over systemtap's | compile time over systemtap's | fastprobe's entries | hits, live | measured |
|---|---|---|---|---|---|---|---|---|---|---|---|
$rows
EOF
        sed -n '/^## Services under load$/,$p' "$document" | sed "1i\\\\" # what tests/long/services.sh has recorded
    } >"$work/real-programs.md"
    mv "$work/real-programs.md" "$document"
}

failed=()
for name in "${programs[@]}"; do
    for compiler in "${compilers[@]}"; do
        # Not in a condition: there, set -e has no effect.
        set +e
        (
            set -e
            recipe "$name"
            fetch
            group "$compiler"
        )
        status=$?
        set -e
        [ $status = 0 ] || failed+=("$name, $compiler")
    done
done
[ ${#failed[@]} = 0 ] || fail "$(printf '%s; ' "${failed[@]}")see above"
if [ -n "$build_only" ]; then
    say "built"
elif [ -n "${FASTSDT_REAL_PROGRAMS:-}" ]; then
    say "all passed"
else
    document
    say "all passed: docs/recorded/real-programs.md"
fi

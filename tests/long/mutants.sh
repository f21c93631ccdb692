#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Takes something out of the engine that keeps it safe, and looks whether the tests notice; one change after the other, in a copy of the
# tree (build/mutants). `mutants.sh [PATTERN]`: those whose names have it. A mutant that survives, or a change that no longer
# applies, fails the run. A test that a mutant makes wait for ever has failed when its time is over: the same test passes without a mutant first.
# `mutants.sh --applies`: whether each change applies, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
only_applies=
[ "${1:-}" != --applies ] || { only_applies=yes && shift; }
copy=build/mutants
[ -z "$only_applies" ] || { copy=$(mktemp -d) && trap 'rm -rf "$copy"' EXIT; }
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null | tar -x -m -C "$copy"
cd "$copy"
if [ -z "$only_applies" ]; then
    launcher=()
    ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake --preset default "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" -DFASTSDT_PLUGINS=OFF "${launcher[@]}" >/dev/null
fi
targets=(fastsdt-trace fastsdt-check fastsdt_trace_api engine_self_test engine_life_test engine_sequence_test engine_target engine_module
    engine_sequence
    engine_clauses_test engine_meaning_test engine_tracers_test engine_hurry_test)
build() { cmake --build --preset default --target "${targets[@]}" >build.log 2>&1; }
tests() { ctest --preset default --timeout 300 -R "^($1)\$" >test.log 2>&1; }
[ -n "$only_applies" ] || build || { tail -n 30 build.log; exit 1; }

lived=0 died=0 unchanged=0 applied=0
declare -A passes # tests without a mutant
# mutant NAME FILE SED TESTS: with the change that SED makes to FILE, TESTS (of ctest) have to fail.
mutant() {
    local name=$1 file=$2 change=$3 what=$4
    case $name in *"$wanted"*) ;; *) return 0 ;; esac
    if [ -z "$only_applies" ] && [ -z "${passes[$what]:-}" ]; then
        if ! build || ! tests "$what"; then
            echo "fails without a mutant: $what"
            tail -n 20 test.log
            unchanged=$((unchanged + 1))
            return 0
        fi
        passes[$what]=yes
    fi
    [ -e "$file" ] || { echo "does not apply: $name (no $file)" && unchanged=$((unchanged + 1)) && return 0; }
    cp "$file" original
    sed -i -E "$change" "$file"
    if cmp -s original "$file"; then
        echo "does not apply: $name ($file)"
        unchanged=$((unchanged + 1))
    elif [ -n "$only_applies" ]; then
        applied=$((applied + 1))
    elif ! build; then
        echo "does not compile: $name"
        tail -n 20 build.log
        unchanged=$((unchanged + 1))
    elif tests "$what"; then
        echo "LIVES: $name"
        lived=$((lived + 1))
    else
        echo "caught: $name, by $(sed -nE 's/^\s*[0-9]+ - (\S+) (\((Timeout)\))?.*/\1 \3/p' test.log | xargs)"
        died=$((died + 1))
    fi
    cp original "$file"
}
wanted=${1:-}

self=engine/process/self.cpp ptrace=engine/process/ptrace.cpp
mutant "no barrier between the steps of a change" $self '/const auto step = /,/^        \};/ s/^( *)if \(some\)$/\1if (some \&\& changes.empty())/' \
    'engine\.self'
mutant "a barrier only behind the last step" $self 's/^( *)if \(some\)$/\1if (some \&\& to == \&Change::to)/' 'engine\.self'
mutant "the end is not written first" $self 's/^( *)if \(way == Way::end_first\) \{$/\1if (false) {/' 'engine\.self'
mutant "modules may go during a change" $self 's/with_modules_held\(\[&\] \{ (change\(patches, back, outcomes\);) \}\);/\1/' 'engine\.self'
mutant "threads in a restartable sequence are borrowed" engine/process/inject.cpp 's/if \(in_restartable_sequence\(.*\)\)$/if (false)/' \
    'engine\.sequence'
mutant "a child of this stop may share memory" $ptrace 's/^( *)sharer_ = number;$/\1;/' 'engine\.(life|middle)'
mutant "memory may be shared at the stop" $ptrace '/^void Tracees::stop_all/,/^\}/ s/refuse_sharer\(pid_\);//' 'engine\.(life|middle)'
mutant "no process shares memory" $ptrace 's/^            return other;$/            continue;/' 'engine\.(life|middle)'
mutant "another site at the same place is the same" engine/arming/arm.cpp 's/std::any_of\(first, last, same\)/first != last/' 'engine\.modules'
mutant "no site is the same as before" engine/arming/arm.cpp 's/if \(place_of\(site\) && std::any_of\(first, last, same\)\)/if (false)/' \
    'engine\.(life|modules)'
mutant "another file at the same place is the same" engine/arming/states.cpp 's/^( *)if \(site\.inode && mapping->inode && .*/\1if (false)/' \
    'engine\.modules'
mutant "clear() hides the map" engine/session.cpp 's/^( *)subtract\(script_, map, now, .*/\1now.maps[map].clear();/' 'engine\.clear'
mutant "clear() subtracts what was not printed" engine/session.cpp 's/if \(as_read && /if (false \&\& /' 'engine\.clear'
mutant "clear() writes no table" engine/session.cpp \
    '/^ChangeData Session::changer/,/^\}/ s/return target_\.change_data\(offset, from, to\);/return offset + from + to == 0;/' 'engine\.clear'
mutant "clear() subtracts nothing" engine/session.cpp 's/^( *)subtract\(script_, map, now, .*/\1;/' 'engine\.clear'
mutant "a value may be larger than its slot" engine/ir/lower.cpp 's/^( *)if \(size > to\.size\) \{.*/\1if (false) {/' 'engine\.(clauses|meaning)'
mutant "a variable is read later than the script says" engine/code/plan.cpp 's/place \&\& place->slot == load\.from\.slot/place \&\& false/' \
    'engine\.meaning'
mutant "values share a word of the frame" engine/code/plan.cpp 's/return each\.end < interval\.start;/return each.end < interval.start + 2;/' \
    'engine\.meaning'
mutant "a comparison is not mirrored with its operands" engine/code/operations.cpp 's/other_way \? mirrored\(op\.op\) : op\.op/op.op/' \
    'engine\.meaning'
mutant "a text is longer by a byte" engine/code/operations.cpp 's/^( *)compute\(Operator::shift_right, 3\);/\1compute(Operator::shift_right, 2);/' \
    'engine\.meaning'
mutant "return probes are bpftrace's unasked" tools/fastsdt-trace/bpftrace.cpp \
    's/^( *)if \(why\.empty\(\) && !options\.return_probes\)$/\1if (false)/' 'engine\.returns'
mutant "return probes of bpftrace end programs that throw" tools/fastsdt-trace/bpftrace.cpp 's/^( *)return why\.empty\(\) \? why : .*/\1return {};/' \
    'engine\.returns'
mutant "return probes are the kernel's unasked" engine/bpf/kernel.cpp 's/^( *)\} else if \(!options_\.return_probes\) \{$/\1} else if (false) {/' \
    'engine\.(returns|in_kernel)'
mutant "return probes end programs that throw" engine/bpf/kernel.cpp 's/(= why_no_return_probe\(pid, mappings\); )!why\.empty\(\)/\1false/' \
    'engine\.(returns|in_kernel)'
mutant "contexts behind a GiB are not looked for" engine/process/frames.cpp \
    's/^( *)most -= used\.size;$/\1most -= used.size; if (most < most_searched - (uint64_t{1} << 30)) return true;/' 'engine\.contexts'
mutant "shared memory has no stacks" engine/process/frames.cpp 's/if \(!m\.writable \|\| is_no_stack\(m\)\)/if (!m.writable || m.shared)/' \
    'engine\.contexts'
mutant "who handles no signal has no frames" engine/process/whereabouts.cpp \
    '/void Whereabouts::look_for_frames/,/^\}/ s/^( *)const auto begin = /\1if (view_.handled_signals() == 0) { places_.emplace(); return; }\n&/' \
    'engine\.contexts'
mutant "goroutines stand nowhere" engine/process/whereabouts.cpp 's/if \(goroutines\(\)->has\(word\)\)/if (false)/' 'engine\.go_user'
mutant "goroutines that wait stand in the runtime" engine/process/goroutines.cpp 's/^( *)scan\(one\.sp, std::min\(.*/\1;/' 'engine\.go_user'
mutant "an unknown runtime is as the last one" lib/movable/go_runtime.cpp 's/minor < oldest \|\| minor > newest/minor < oldest/' 'engine\.go_user'
mutant "functions of Go need no check of the stack" lib/movable/go_windows.cpp 's/return Obstacle::unchecked;/;/' 'engine\.go_user'
mutant "divisions are moved" engine/process/match.cpp 's/return uint8_t\(fault_division \| /return uint8_t(/' 'engine\.signals'
mutant "a handler of SIGFPE is not looked for" engine/process/match.cpp 's/\(catches\(SIGFPE\) \? fault_floating : 0\)/0/' 'engine\.signals'
mutant "the guard is left to others" engine/arming/states.cpp 's/if \(patch\.moves\(\) \&\& may_hold\(view\.target, patch\)\)/if (patch.moves())/' \
    'engine\.tracers'
mutant "constants are read in place" engine/process/lasting.cpp 's/static_cast<int64_t>\(again\.at - part\.start\)/0/' 'engine\.constants'
mutant "what was mapped once more stays" engine/process/outside_memory.cpp \
    's/^( *)for \(const Range& range : mapped_again\(data\.start\)\)$/\1for (const Range\& range : std::vector<Range>())/' 'engine\.constants'
mutant "tables are in core dumps" engine/process/outside_memory.cpp 's/MADV_DONTDUMP/MADV_NORMAL/' 'engine\.core'
mutant "files of one inode number are one" engine/process/symbols.cpp \
    's/fmt::format\("\{\} \{\}", mapping\.device, mapping\.inode\)/fmt::format("{}", mapping.inode)/' 'engine\.same_inode'
mutant "a thread gets a short try" engine/process/inject.cpp 's/\{50ms, 300ms, 2000ms\}/{50ms}/' 'engine\.hurry'
mutant "filters are not asked" engine/process/filters.cpp 's/^( *)refuse_filter\(view_\.pid\(\), task\.number, calls, "to stubs"\);$/\1;/' \
    'engine\.filtered'
[ -z "$only_applies" ] || echo "$applied mutants apply"
[ -n "$only_applies" ] || echo "$died mutants were caught, $lived live, $unchanged could not be tried"
[ $lived = 0 ] && [ $unchanged = 0 ]

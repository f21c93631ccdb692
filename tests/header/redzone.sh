#!/bin/bash
# Sites of the nop5 kind keep their function out of the red zone: overwritten for real, at every site, by a call.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the red zone is x86-64's"

corrupted=0 runs=0
run() { # run LAYOUT PATCH-OFFSET COMPILER OPTIONS...: builds, patches, and leaves the names of wrong functions in `wrong`
    local layout=$1 offset=$2
    shift 2
    "$@" $optin -DLAYOUT=$layout -DLAYOUT_IS_NOP10=$([ $layout = nop1_nop10 ] && echo 1 || echo 0) -no-pie -fno-pie \
        -I"$INCLUDE" -o leaf || fail "$*"
    notes leaf '{pc} {flags}' > sites
    status=0; ./leaf $(awk -v o=$offset '{print $1 + o}' sites) > wrong || status=$?
    [ $status -le 1 ] || fail "$layout, $*: status $status"
    runs=$((runs + 1))
}
for c in $(have_of gcc-11 gcc-12 clang-14 clang-16 clang-19); do
    for level in -O0 -O1 -O2 -O3 -Os "-O2 -fomit-frame-pointer" "-O2 -fno-omit-frame-pointer"; do
        for lang in c c++; do
            compiler=$c
            [ $lang = c ] || compiler=$(cxx_of $c)
            have $compiler || continue
            case $c:$level in gcc-11:-O[13s] | clang-16:-O[13s]) continue ;; esac
            for layout in nop5 nop1_nop5; do
                # The two differ in the first byte only.
                [ $layout = nop5 ] || [ "$level" = -O2 ] || continue
                run $layout $([ $layout = nop5 ] && echo 0 || echo 1) $compiler -x $lang $level "$here/redzone.c"
                [ ! -s wrong ] || fail "$compiler $level $layout: the red zone was in use in: $(xargs < wrong)"
                expect "$compiler $level $layout: flags" "$(cut -d' ' -f2 sites | sort -u | xargs)" $((3 | $(ungrouped $c)))
            done
        done
    done
    # The same with a layout that makes no such promise: the test has to notice.
    run nop1_nop10 1 $c -O2 "$here/redzone.c"
    [ ! -s wrong ] || corrupted=$((corrupted + 1))
    expect "$c nop1_nop10: flags" "$(cut -d' ' -f2 sites | sort -u | xargs)" $((1 | $(ungrouped $c)))
done
[ $corrupted -gt 0 ] || fail "overwriting the red zone of other layouts goes unnoticed: this test sees nothing"
echo "$runs programs, control corrupted with $corrupted compilers"

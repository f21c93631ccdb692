#!/bin/bash
# Programs that were built for a sanitizer, which keeps most addresses for itself, run as if they were not traced: from their start, and
# attached. Their own output says how many hits there were.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need setpriv
need_attachable
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void* work(void* unused)
{
    for (int i = 0; i < 1000; ++i) {
        FASTSDT(san, hit, i % 64);
        free(malloc(100));
    }
    return unused;
}
int main(int argc, char** argv) /* one round, or one for each line */
{
    (void)argv;
    for (char line[8]; argc < 2 || fgets(line, sizeof line, stdin);) {
        pthread_t threads[4];
        for (int i = 0; i < 4; ++i)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 4; ++i)
            pthread_join(threads[i], NULL);
        puts("4000");
        fflush(stdout);
        if (argc < 2)
            break;
    }
    return 0;
}
END
script() { printf 'usdt:./%s:san:hit { @[arg0] = count(); @h[arg0] = hist(arg0); @n = count(); }' "$1"; }
programs=''
for build in gcc-thread gcc-address clang-19-thread clang-19-memory clang-19-address; do
    if "${build%-*}" -g -O1 "-fsanitize=${build##*-}" -I"$INCLUDE" app.c -o "$build" -lpthread 2>err && ./"$build" >ran 2>&1; then
        programs="$programs $build"
    else
        echo "not built, or does not run here: $build: $(sed -n 1p err ran | cut -c1-200)" # no such compiler or library, or the kernel's addresses
    fi
done
[ -n "$programs" ] || skip "no compiler has a sanitizer"
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report
for program in $programs; do
    "${as_user[@]}" fastsdt-trace --engine user -e "$(script "$program")" -- ./"$program" >started 2>err || fail "$program: $(cat err started)"
    expect "$program: started" "$(grep -cx 4000 started) $(grep -E '^(@n|sites)' started)" "1 @n: 4000
sites 1 of 1 armed; dropped 0"

    "${as_user[@]}" ./"$program" lines <in >out 2>errors &
    pid=$!
    exec 3>in 4<out
    pass() { echo >&3; read -r line <&4 && [ "$line" = 4000 ] || fail "$program: $line $(cat errors)"; }
    pass # it runs, and is mapped
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" -e "interval:ms:10 { printf(\"armed\n\"); } $(script "$program")"
    pass
    pass
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    wait $tracer || fail "$program, attached: $(cat maps err)"
    expect "$program: attached" "$(grep -E '^(@n|sites)' maps)" "@n: 8000
sites 1 of 1 armed; dropped 0"
    pass
    exec 3>&- 4<&- 5<&-
    wait $pid || fail "$program ended with $?: $(cat errors)"
done

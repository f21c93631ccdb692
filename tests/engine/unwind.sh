#!/bin/bash
# Exceptions, longjmp, backtrace() and gdb's bt pass functions whose entries and exits are armed: they arrive. A function that is left
# in another way than by its exits is not counted at them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/scripts/common/versions.sh"
plugin=$(plugin gcc)
[ -n "$plugin" ] || skip "fastprobe was not built for GCC"
compiler=${plugin/gcc/g++}
need "$compiler" setpriv
need_attachable
user_folder
cat >ways.cpp <<'END'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#define KEEP extern "C" __attribute__((noinline))
static jmp_buf before;
static int cleaned;
struct Guard { ~Guard() { ++cleaned; } };
KEEP int thrower(int n)
{
    if (n % 3 == 0)
        throw n;
    return n + 1;
}
KEEP int through(int n) /* an exception that passes runs its cleanup */
{
    Guard guard;
    return thrower(n) + 1;
}
KEEP int jumper(int n)
{
    if (n % 4 == 0)
        std::longjmp(before, 1);
    return n + 1;
}
KEEP int around(int n)
{
    return jumper(n) + 1;
}
KEEP int deep(int n) /* how often its own name is in the stack, if main is below that; or says that it waits for a line */
{
    if (n > 0)
        return deep(n - 1) + 1;
    if (n < 0) {
        std::puts("waiting");
        std::fflush(stdout);
        return std::getchar() == '\n' ? 0 : -1000;
    }
    void* frames[64];
    const int count = backtrace(frames, 64);
    char** const names = backtrace_symbols(frames, count);
    int found = 0, end = 0;
    for (int i = 0; i < count; ++i) {
        found += std::strstr(names[i], "(deep+") && !end;
        end += std::strstr(names[i], "(main+") != nullptr;
    }
    std::free(names);
    return end == 1 ? found : -1000;
}
KEEP int waits(int n)
{
    return deep(-n) + 1;
}
int main()
{
    static int caught, jumped, right; /* longjmp() leaves locals in registers undefined */
    if (waits(1) != 1)
        return 1;
    for (volatile int n = 0; n < 1200; n = n + 1) {
        try {
            right += through(n) == n + 2;
        } catch (int thrown) {
            caught += thrown == n;
        }
        if (setjmp(before))
            jumped += n % 4 == 0;
        else
            right += around(n) == n + 2;
    }
    for (int n = 0; n < 10; ++n)
        right += deep(n) == 2 * n + 1;
    std::printf("%d %d %d %d\n", caught, cleaned, jumped, right);
    std::fflush(stdout);
    return waits(1) != 1;
}
END
"$compiler" -O1 -fno-optimize-sibling-calls -rdynamic -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 \
    -fplugin-arg-fastprobe-exit=nop10 \
    -fplugin-arg-fastprobe-include='^(thrower|through|jumper|around|deep|waits)$' ways.cpp -o ways
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report
"${as_user[@]}" ./ways <in >out 2>ways.err &
pid=$!
exec 3>in 4<out
read -r line <&4
start_tracer "${as_user[@]}" fastsdt-trace --engine user --no-move -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } uprobe:./ways:* { @in[probe] = count(); } uretprobe:./ways:* { @out[probe] = count(); @sum[probe] = sum(retval & 0xffffffff); }'
# A debugger, while all is armed and deep() waits in waits() for its line.
if have gdb; then
    "${as_user[@]}" gdb -nx -q -batch -p "$pid" -ex bt >bt 2>&1 3>&- 4<&- 5<&- || fail "gdb: $(cat bt)"
    expect "gdb's bt" "$(sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?(deep|waits|main) .*/\2/p' bt | xargs)" "deep waits main"
fi
echo >&3
read -r line <&4
# Of 0 to 1199 a third throws and a quarter jumps; 10 depths.
expect "the program: caught, cleaned, jumped, right" "$line" "400 1200 300 $((800 + 900 + 10))"
read -r line <&4 # the second wait, so deep() and waits() are entered again before the tracer ends
kill -INT $tracer
grep -v '^armed$' <&5 >maps || true
wait $tracer || fail "the status: $(cat maps err)"
grep -qxE 'sites ([0-9]+) of \1 armed; dropped 0' maps || fail "sites: $(cat maps)"
counts() { sed -n "s/^@$1\[[a-z]*:[^:]*:\(.*\)\]: /\1 /p" maps | sort | xargs; }
# waits() was called twice: the first time it was entered before the tracer came, the second time it is left after the tracer goes.
expect "entries" "$(counts in)" "around 1200 deep 56 jumper 1200 through 1200 thrower 1200 waits 1"
expect "exits" "$(counts out)" "around 900 deep 56 jumper 900 through 800 thrower 800 waits 1"
echo >&3
wait "$pid" || fail "the program ended with $?: $(cat ways.err)"

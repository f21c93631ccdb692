#!/bin/bash
# Functions that fastprobe recorded: their calls, arguments and results, by the arithmetic of examples/entry.c, on both engines.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/scripts/common/versions.sh"
plugin=$(plugin gcc)
[ -n "$plugin" ] || skip "fastprobe was not built for GCC"
need "$plugin" python3
compile() { # OUTPUT OPTIONS...: all entries that can be armed
    local output=$1
    shift
    "$plugin" -O2 -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 "$@" "$FASTSDT_SOURCE/examples/entry.c" \
        -o "$output"
}
compile e -fplugin-arg-fastprobe-exit=nop10

# The upper half of a register with a 32-bit value may hold anything.
script='uprobe:./e:request { @calls = count(); @ids = sum(arg0 & 0xffffffff); } uretprobe:./e:chain { @results = sum(retval & 0xffffffff); }
    uprobe:./e:mix, uretprobe:./e:mix { @by[probe] = sum(1); }'
wanted=$(python3 - <<'END'
def chain(x):
    total = 0
    for _ in range(3):
        x = (x ^ (x >> 15)) * 0x2c1b3c6d & 0xffffffff
        total = total + x & 0xffffffff
    return total
ids = range(2, 1002) # argc is 2
print(f"@by[uprobe:./e:mix]: 3000\n@by[uretprobe:./e:mix]: 3000\n@calls: 1000\n@ids: {sum(ids)}\n@results: {sum(map(chain, ids))}")
END
)
for engine in $(engines); do
    fastsdt-trace --engine $engine --uretprobe -e "$script" -- ./e 1000 >out 2>err || fail "--engine $engine: $(cat err out)"
    expect "--engine $engine" "$(grep '^@' out | sort)" "$wanted"
done
fastsdt-trace latency --engine user ./e:request -- ./e 1000 >out 2>err || fail "latency: $(cat err out)"
grep -q '^@total: count 1000, ' out || fail "latency: $(cat out)"

# request() ends in a jump to chain(), which makes the result: at the jump there is none yet.
status=0
fastsdt-trace --engine user -e 'uretprobe:./e:request { @results = sum(retval); } uretprobe:./e:request { @calls = count(); }' \
    -- ./e 1000 >out 2>err || status=$?
expect "a tail call: status" "$status" 1
grep -qx 'sites 0 of 1 armed (1 has no result yet, being a tail call); dropped 0' out || fail "a tail call: $(cat out)"
fastsdt-trace --engine user -e 'uretprobe:./e:request { @calls = count(); }' -- ./e 1000 >out 2>err || fail "a tail call: $(cat err)"
grep -qx '@calls: 1000' out || fail "a tail call: $(cat out)"

# Entries without exits: the report says what is missing, and names the command that can trace it.
compile entries
status=0
fastsdt-trace --engine user --uretprobe -e 'uprobe:./entries:request { @calls = count(); } uretprobe:./entries:request { @results = count(); }' \
    -- ./entries 1000 >out 2>err || status=$?
expect "no exits: status" "$status" 1
expect "no exits" "$(grep -E '^(@|sites)' out)" "@calls: 1000
@results: 0
sites 1 of 2 armed (1 has no exit sites); dropped 0"
grep -qx 'fastsdt-trace: --engine kernel may do all of it, as root' err || fail "no exits: $(cat err)"

# Arguments on the stack, as many as the entry's record says. For a function with a variable number of arguments it says nothing.
cat >stack.c <<'END'
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
KEEP long eight(long a, long b, long c, long d, long e, long f, long g, const char* h)
{
    __asm__ volatile("");
    return a + b + c + d + e + f + g + *h;
}
KEEP long many(int n, ...)
{
    va_list list;
    va_start(list, n);
    long sum = 0;
    for (int i = 0; i < n; ++i)
        sum += va_arg(list, long);
    va_end(list);
    return sum;
}
static const char* volatile names[] = {"often", "rarely"};
int main(void)
{
    long sum = *names[0] + *names[1]; /* BPF cannot read memory that was not touched */
    for (long i = 0; i < 1000; ++i)
        sum += eight(1, 2, 3, 4, 5, 6, i * 0x100000000, names[i % 4 == 0]) + many(8, i, i, i, i, i, i, i, i);
    return sum == 0;
}
END
"$plugin" -O2 -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 stack.c -o stack
for engine in $(engines); do
    fastsdt-trace --engine $engine -e 'uprobe:./stack:eight { @sum = sum(sarg0); @by[str(sarg1), arg5] = count(); }' -- ./stack >out 2>err ||
        fail "--engine $engine: $(cat err out)"
    expect "--engine $engine: on the stack" "$(grep '^@' out | sort)" "@by[often, 6]: 750
@by[rarely, 6]: 250
@sum: $((999 * 1000 / 2 * 0x100000000))"
done
fastsdt-trace --engine user -e 'uprobe:./stack:eight { @ = sum(sarg2); } uprobe:./stack:many { @n = sum(sarg0); } uprobe:./stack:main { @main = count(); }' -- ./stack >out 2>err || true
expect "not on the stack" "$(grep '^@n' out; tail -1 out)" "@n: $((999 * 1000 / 2))
sites 2 of 3 armed (1 has no sarg2); dropped 0"

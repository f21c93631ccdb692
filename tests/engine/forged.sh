#!/bin/bash
# A process that writes what it likes into the tables: the tracer prints it, or something else, and goes on.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int main(void) /* forges sums of this number, and says how many it found */
{
    const uint64_t number = 0x5eed5eed5eed;
    int found = 0;
    FASTSDT(t, hit, number);
    FILE* const maps = fopen("/proc/self/maps", "r");
    for (char line[512]; maps && fgets(line, sizeof line, maps);) {
        unsigned long start, end;
        if (!strstr(line, "memfd:fastsdt") || sscanf(line, "%lx-%lx rw", &start, &end) != 2)
            continue;
        for (uint64_t* word = (uint64_t*)start; word + 1 < (uint64_t*)end; ++word)
            if (word[0] == 1 && word[1] == number) {
                word[0] = UINT64_MAX;
                word[1] = UINT64_C(1) << 63;
                ++found;
            }
    }
    printf("forged %d\n", found);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" app.c -o app
chown -R 65534:65534 . 2>/dev/null || true
# bpftrace's division: INT64_MIN by -1. The script's numbers are signed, so that the averages are.
script='usdt:./app:t:hit { @avg = avg(arg0); @stats = stats(arg0); } END { print(@avg, 0, 2147483647); }'
for options in "" --json; do
    "${as_user[@]}" fastsdt-trace $options --engine user -e "$script" -- ./app >out 2>err || fail "$options: status $?: $(cat err out)"
    grep -qx 'forged 2' out || fail "$options: nothing was forged: $(cat out)"
done
grep -qx '{"type": "stats", "data": {"@avg": -9223372036854775808}}' out || fail "$(cat out)"
grep -qx '{"type": "stats", "data": {"@stats": {"count": 18446744073709551615, "average": -9223372036854775808, "total": -9223372036854775808}}}' \
    out || fail "$(cat out)"

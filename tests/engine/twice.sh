#!/bin/bash
# A library that a process has twice, by dlmopen(): the sites of both are armed, each with its own addresses.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >library.c <<'END'
#include <fastsdt.h>
static int calls, active; /* each copy has its own, and its own semaphore */
int work(void)
{
    FASTSDT_WITH(default, implicit, lib, work, ++calls, &calls);
    return active += FASTSDT_IS_ACTIVE(lib, work);
}
END
cat >main.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void) /* a line for each round of 100 calls of one copy and 1000 of the other; tells how many were traced so far */
{
    void* const copies[] = {dlopen("./library.so", RTLD_NOW), dlmopen(LM_ID_NEWLM, "./library.so", RTLD_NOW)};
    int (*work[2])(void);
    for (int i = 0; i < 2; ++i)
        if (!copies[i] || !(work[i] = (int (*)(void))dlsym(copies[i], "work")))
            return 1;
    if (work[0] == work[1])
        return 2;
    puts("ready");
    fflush(stdout);
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        int active[2] = {0, 0};
        for (int i = 0; i < 2; ++i)
            for (int k = 0; k < (i ? 1000 : 100); ++k)
                active[i] = work[i]();
        printf("%d %d\n", active[0], active[1]);
        fflush(stdout);
    }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 main.c -o main -ldl
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report
"${as_user[@]}" ./main <in >out &
pid=$!
exec 3>in 4<out
read -r line <&4 || fail "the program has not got the library twice"
expect "the program" "$line" ready
round() { echo >&3; read -r line <&4; }
jumps() {
    fastsdt-check --pid "$pid" --json >check.json 2>check.err || true # findings do not matter here
    python3 -c 'import json; print(*[s["change"] for f in json.load(open("check.json"))["process"]["files"] for s in f["sites"] if s["name"] == "work"])'
}
expect "before" "$(jumps)" "untouched untouched"
for traced in 1 2; do
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
        -e 'interval:ms:10 { printf("armed\n"); } usdt:./library.so:lib:work { @calls[arg1] = count(); @last[arg1] = max(arg0); }'
    expect "armed" "$(jumps)" "jump jump"
    round
    expect "semaphores, run $traced" "$line" "$((100 * traced)) $((1000 * traced))"
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    wait $tracer || fail "the status: $(cat maps err)"
    grep -qx 'sites 2 of 2 armed; dropped 0' maps || fail "sites: $(cat maps)"
    # The key is the address of the copy's own variable, which only the copy's site passes.
    expect "calls, run $traced" "$(sed -n 's/^@calls\[.*\]: //p' maps | xargs)" "100 1000"
    expect "arguments, run $traced" "$(sed -n 's/^@last\[.*\]: //p' maps | xargs)" "$((200 * traced - 100)) $((2000 * traced - 1000))"
    # Nobody traces now, and the sites have the file's bytes.
    expect "between" "$(jumps)" "untouched untouched"
    round
    expect "semaphores, after run $traced" "$line" "$((100 * traced)) $((1000 * traced))"
done
exec 3>&-
wait "$pid" || fail "the program ended with $?"

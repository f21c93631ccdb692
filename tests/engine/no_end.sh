#!/bin/bash
# Functions whose exits cannot be armed: nobody tells when their calls end. They are counted, and no time is made up for them or for others.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3 setpriv
need_attachable
user_folder
cat >no_end.c <<'END_OF_C'
#include <time.h>
/* leaf() has a return that is jumped to, with too few bytes before it. */
long leaf(long);
__asm__(".globl leaf\n.type leaf, @function\nleaf: .cfi_startproc\n"
        "lea 1(%rdi), %rax\n cmp $5, %rdi\n jg 1f\n imul $3, %rax, %rax\n add $7, %rax\n sub $2, %rax\n ret\n1: ret\n"
        ".cfi_endproc\n.size leaf, .-leaf\n");
__attribute__((noinline)) void pauses(void)
{
    struct timespec t = {0, 20000000};
    nanosleep(&t, 0);
    __asm__ volatile("" ::: "memory");
}
int main(void)
{
    for (long i = 0; i < 20; ++i) {
        leaf(i);
        pauses();
    }
    return 0;
}
END_OF_C
gcc -O1 no_end.c -o no_end
functions='main,leaf,pauses'
fastsdt-trace functions --functions "$functions" -o trace -- ./no_end >out 2>err || [ $? = 1 ] || fail "$(cat out err)"
expect "a call without an end" "$(grep ' leaf$' out | xargs)" "20 - - - - - leaf"
expect "it comes last" "$(grep -c . <(sed -n '/ leaf$/,$p' out | grep -E ' (main|pauses)$'))" 0
grep -q '^ *1 .* main$' out && grep -q '^ *20 .* pauses$' out || fail "$(cat out)"
fastsdt-trace functions --json --functions "$functions" -- ./no_end >json 2>err || [ $? = 1 ] || fail "--json: $(cat json err)"
fastsdt-trace export trace -o trace.json 2>err || fail "export: $(cat err)"
python3 - <<'END_OF_PYTHON' || fail "$(cat json)"
import collections, json
rows = [json.loads(line) for line in open("json") if line.startswith("{")]
of = {row["data"]["function"]: row["data"] for row in rows if row["type"] == "function"}
assert of["leaf"]["calls"] == 20 and all(of["leaf"][k] is None for k in ("total_ns", "self_ns", "min_ns", "mean_ns", "max_ns")), of["leaf"]
# The program's own clock: 20 pauses of 20 ms, and main() is nearly nothing but them.
assert of["pauses"]["total_ns"] >= 20 * 20e6 and of["pauses"]["min_ns"] >= 20e6
assert of["main"]["total_ns"] >= of["pauses"]["total_ns"]
assert abs(of["main"]["self_ns"] + of["pauses"]["total_ns"] - of["main"]["total_ns"]) < 2
events = json.load(open("trace.json"))["traceEvents"]
phases = collections.Counter(e["ph"] for e in events if e["ph"] != "M")
assert phases["B"] == phases["E"] == 21 and phases["i"] == 20, phases
END_OF_PYTHON

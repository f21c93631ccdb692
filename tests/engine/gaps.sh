#!/bin/bash
# Where a thread's events were lost, calls that were open end: what comes later was not called by them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
user_folder

cat >app.c <<'END'
#include <stdio.h>
__attribute__((noinline)) long inner(volatile long* n)
{
    return ++*n;
}
__attribute__((noinline)) long outer(volatile long* n)
{
    for (int i = 0; i < 20000; ++i)
        inner(n);
    return *n;
}
__attribute__((noinline)) long other(volatile long* n)
{
    return inner(n) + 1;
}
int main(void)
{
    volatile long n = 0;
    for (char line[16]; fgets(line, sizeof line, stdin);) {
        if (line[0] == 'o')
            other(&n);
        else
            outer(&n);
        puts("did");
        fflush(stdout);
    }
    return n == 1;
}
END
gcc -O2 app.c -o app

# calls_of FILE: for each function, from which others it was called, in Chrome's format.
calls_of() { python3 - "$1" <<'END'
import collections, json, sys
stack, calls = [], collections.defaultdict(set)
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "B":
        calls[e["name"]].add(stack[-1] if stack else "-")
        stack.append(e["name"])
    elif e["ph"] == "E":
        assert stack.pop() == e["name"]
print(*(f"{name} by {','.join(sorted(by))}" for name, by in sorted(calls.items())), sep="; ")
END
}
chmod 777 .
driven ./app
start_tracer "${as_user[@]}" fastsdt-trace record -o trace --buffer 64K -p "$pid" -e 'interval:ms:10 { printf("armed\n"); }
    uprobe:./app:outer, uprobe:./app:inner, uprobe:./app:other, uretprobe:./app:outer, uretprobe:./app:inner, uretprobe:./app:other { print(0); }'
# While the tracer stands still, outer() fills the buffer: its end is lost.
kill -STOP $tracer
until grep -q '^State:.*T' /proc/$tracer/status; do :; done
did
while read -r -t 0 <&5; do read -r _ <&5; done # what it has printed before
kill -CONT $tracer
armed # it has read them by then, or is about to: it reads what there is, then performs the intervals
armed
for _ in 1 2 3; do
    echo other >&3 && read -r line <&4 && expect "the program" "$line" did
done
exec 3>&- 4<&-
report
expect "lost: status ($(cat err maps))" "$status" 1
wait "$pid"
status=0
fastsdt-trace export trace -o trace.json 2>err || status=$?
expect "export: status ($(cat err))" "$status" 1
expect "who called whom ($(cat err))" "$(calls_of trace.json)" "inner by other,outer; other by -; outer by -"

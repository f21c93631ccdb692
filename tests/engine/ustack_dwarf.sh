#!/bin/bash
# ustack(dwarf): stacks of code without frame pointers, as it is installed. What they are follows from the program, and gdb is asked too.
# ustack_dwarf_in_kernel.sh runs this for the other engine.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/tests/engine/unwound.sh"
need gcc gdb python3 setarch
engine=${engine:-user}
if [ $engine = user ]; then
    need_attachable
    armed="sites 1 of 1 armed"
else
    need_uprobes
    as_user=()
    armed="sites 1 of 1 armed (1 by the kernel)"
fi
user_folder
[ "$(uname -m)" = x86_64 ] || skip "stubs unwind on x86-64 only"
cp "$FASTSDT_SOURCE/tests/engine/unwound.c" app.c
OPTIONS=$UNWOUND_OPTIONS
HIT=usdt:./app:app:hit
trace() {
    status=0
    "${as_user[@]}" fastsdt-trace --engine $engine "$@" >out 2>err </dev/null || status=$?
}
# The frames that gdb finds where it stops, in the file `theirs`, and a comparison with those that were printed into `ours`.
cat >frames.py <<'END_OF_PYTHON'
import re
import gdb
gdb.execute("set breakpoint pending on")
gdb.execute("handle SIGUSR1 nostop noprint pass")
gdb.execute("set backtrace past-main on")
gdb.execute("break leaf")
gdb.execute("run")
frame = gdb.newest_frame()
with open("theirs", "w") as to:
    while frame:
        said = gdb.execute(f"info symbol {frame.pc()}", to_string=True)
        offset = re.search(r" \+ (\d+) in section", said)
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): # which gdb has from debug information
            print(hex(frame.pc()), offset[1] if offset else 0, file=to)
        frame = frame.older()
END_OF_PYTHON
cat >same.py <<'END_OF_PYTHON'
ours = [line.strip() for line in open("ours") if line.startswith("   ") and "(inlined)" not in line]
theirs = [line.split() for line in open("theirs")]
assert len(ours) > 5 and len(ours) == len(theirs), (ours, theirs)
for mine, (pc, offset) in list(zip(ours, theirs))[1:]: # gdb is behind the first instructions of the innermost one
    assert mine.endswith(f"+{offset}") or mine == pc, (mine, pc, offset)
END_OF_PYTHON

for compiler in gcc clang; do
    have $compiler || continue
    $compiler $OPTIONS -I"$INCLUDE" app.c -ldl -o app
    chown -R 65534:65534 . 2>/dev/null || true
    trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app
    expect "$compiler" "$status $(cat err) $(folded)" "0  $(each main 1)"
    expect "$compiler: the last line" "$(tail -n 1 out)" "$armed; dropped 0"
    trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app threads 300
    expect "$compiler: threads" "$status $(cat err) $(folded)" "0  $(each once 300)"
    trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app fork 20
    expect "$compiler: children" "$status $(cat err) $(folded)" "0  $(each main 20)"

    # As gdb unwinds: the same program counters, through the C library and its start. What has a symbol has its name.
    for mode in sort raise "deep 20"; do
        setarch -R fastsdt-trace --engine $engine -e "$HIT { printf(\"%s\", ustack(dwarf)); exit(); }" -- ./app $mode >ours 2>err
        gdb -batch -nx -x frames.py --args ./app $mode >said 2>&1 || fail "gdb: $(tail -n 3 said)"
        python3 same.py || fail "$compiler: $mode: not as gdb has it"
    done
done

# Every frame up to as many as there may be; the others are left out without a word, as by bpftrace.
trace -e "$HIT { @[ustack(dwarf)] = count(); @two[ustack(dwarf, 2)] = count(); }" -- ./app deep 1000
expect "deep" "$status $(cat err) $(grep -c '^    deep+' out)" "0  125"
expect "two frames" "$(sed -n '/^@two/,/^]/p' out | sed 's/+[0-9]*$//')" "@two[
    leaf
    plain
]: 1"

# Both kinds in one script, and the same as each other where there are frame pointers.
gcc ${OPTIONS/-fomit/-fno-omit} -mno-omit-leaf-frame-pointer -I"$INCLUDE" app.c -ldl -o framed
trace --folded -e 'usdt:./framed:app:hit { @[ustack] = count(); @[ustack(dwarf)] = count(); }' -- ./framed deep 5
expect "both" "$status $(cat err) $(sed -n 's/^.*;main;/main;/p' out | awk '{ all[$1] += $2 } END { for (stack in all) print stack, all[stack] }')" \
    "0  main;deep;deep;deep;deep;deep;deep;plain;leaf 2"

# Entries and exits of functions, as they are installed: where a function begins, and where it returns to.
cat >calls.c <<'END_OF_C'
#define OWN __attribute__((noinline, noclone))
OWN int inner(int i) { __asm__ volatile(""); return i * 12345 + 67890; }
OWN int outer(int i) { return inner(i) * 2 + inner(i + 1); }
int main(void) { int sum = 0; for (int i = 0; i < 10; ++i) sum += outer(i); return sum == 0; }
END_OF_C
gcc $OPTIONS calls.c -o calls
for probe in uprobe uretprobe; do
    trace --folded -e "$probe:./calls:inner { @[ustack(dwarf)] = count(); }" -- ./calls
    expect "$probe" "$status $(cat err) $(sed -n 's/^.*;main;/main;/p' out)" "0  main;outer$([ $probe = uretprobe ] || echo ';inner') 20"
done

# Libraries come and go, and another comes to the place of one that went: its own rows count.
for kind in even odd; do
    echo "__attribute__((noinline)) void in_$kind(void (*leaf)(int)) { $([ $kind = even ] && echo 'char own[400]; __asm__ volatile("" : : "r"(own));') leaf(0); __asm__ volatile(\"\" ::: \"memory\"); }
        void call(void (*leaf)(int)) { in_$kind(leaf); __asm__ volatile(\"\"); }" >$kind.c
    gcc $OPTIONS -shared -fPIC $kind.c -o lib$kind.so
done
if [ $engine = user ]; then
    trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app library 200
    expect "libraries" "$status $(cat err) $(sed -n 's/^.*;main;library;/main;library;/p' out)" "0  main;library;call;in_even;leaf 100
main;library;call;in_odd;leaf 100"
else # the tool has to look first
    mkfifo in report
    ./app stay <in &
    pid=$!
    exec 3>in
    timeout 60 fastsdt-trace --engine kernel -p $pid -e "$HIT { printf(\"%s\", ustack(dwarf)); }" >report 2>err 3>&- &
    tracer=$!
    exec 5<report
    while read -r line <&5 && [[ $line != main+* ]]; do :; done
    [[ $line = main+* ]] || fail "a library that comes later: $line $(cat err)"
    kill -INT $tracer
    cat <&5 >out
    wait $tracer || fail "a library that comes later: $? $(cat err)"
    exec 3>&- 5<&-
    wait "$pid"
    # One in the place of another, too fast for the tool: cut, and never unwound by the other's rows. Names may be the other's.
    trace --folded -e "$HIT { @[ustack(dwarf)] = count(); @n = count(); }" -- ./app library 2000
    python3 - <<'END_OF_PYTHON' || fail "libraries in one place: $(cat out)"
import re
text = open("out").read()
whole = cut = 0
for stack, count in re.findall(r"^([^@ ]+) (\d+)$", text, re.M):
    calls = stack.split(";")
    if "main" in calls:
        below = calls[calls.index("main") + 1:]
        assert len(below) == 4 and below[0] == "library" and below[-1] == "leaf", stack
        whole += int(count)
    else:
        assert len(calls) in (2, 3) and calls[-1] == "leaf", stack # 3: the tool looked just then
        cut += int(count)
told = re.search(r"; cut (\d+)", text)
assert whole + cut == 2000 and "@n: 2000" in text and cut == int(told[1] if told else 0), (whole, cut, told)
END_OF_PYTHON
    # Programs that others execute: what was not seen in time is cut, and nothing is taken for the program before.
    trace --follow --folded -e "$HIT { @[ustack(dwarf)] = count(); @n = count(); }" -- ./app execute 20
    python3 - <<'END_OF_PYTHON' || fail "programs that are executed: $(cat out)"
import re
text = open("out").read()
whole = cut = 0
for stack, count in re.findall(r"^([^@ ]+) (\d+)$", text, re.M):
    calls = stack.split(";")
    assert len(calls) == 1 or calls[-2:] == ["plain", "leaf"], stack
    if calls[0] == "_start":
        whole += int(count)
    else: # of a program that was seen before its C library was, some frames are there
        cut += int(count)
told = re.search(r"; cut (\d+)", text)
assert whole + cut == 140 and "@n: 140" in text and cut == int(told[1] if told else 0), (whole, cut, told)
END_OF_PYTHON
fi

# Where nothing says how to go on, the report tells. A handler on a stack of its own is read to the end of the page.
trace --folded -e "$HIT { @[ustack(dwarf)] = count(); @n = count(); }" -- ./app thread-altstack 10
expect "handlers of threads" \
    "$status $(grep '^@n' out) $(sed -nE 's/^(.*;)?(plain;leaf) ([0-9]+)$/\2 \3/p' out | awk '{ all += $2 } END { print $1, all }')" \
    "0 @n: 10 plain;leaf 10"
[ $engine = user ] || expect "handlers of threads: to the end" "$(folded)" "on_own_stack;raises;handler;plain;leaf 10"
trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app made
expect "code of no file" "$status $(sed 's/0x[0-9a-f]*/ADDRESS/' out)" "0 ADDRESS;leaf 1
$armed; dropped 0; cut 1"
grep -q '^fastsdt-trace: 1 stack was cut: ' err || fail "cut: $(cat err)"

# Static programs.
gcc $OPTIONS -static -I"$INCLUDE" app.c -ldl -o app 2>warnings
trace --folded -e "$HIT { @[ustack(dwarf)] = count(); }" -- ./app
expect "static" "$status $(cat err) $(folded)" "0  $(each main 1)"

# A program as Debian has it, and its C library: as gdb unwinds it.
python=$(readlink -f /usr/bin/python3 2>/dev/null || true)
libc=$(ldd "$python" 2>/dev/null | sed -n 's/.*libc\.so\.6 => \(\S*\).*/\1/p')
if [ -n "$libc" ]; then
    setarch -R fastsdt-trace --engine $engine -e "uprobe:$libc:getppid { printf(\"%s\", ustack(dwarf)); }" -- "$python" \
        -ISc 'import os; os.getppid()' >ours 2>err
    sed -i 's/^gdb.execute("break leaf")/gdb.execute("break *getppid")/' frames.py
    gdb -batch -nx -x frames.py --args "$python" -ISc 'import os; os.getppid()' >said 2>&1 || fail "gdb: $(tail -n 3 said)"
    python3 same.py || fail "python: not as gdb has it: $(cat err)"
fi

for script in "@[ustack(dwarf, 0)] = count();" "@[ustack(dwarf, 128)] = count();" "@[ustack(dwarf 3)] = count();" "@ = sum(ustack(dwarf));"; do
    trace -e "$HIT { $script }" -- ./app
    expect "$script: status" "$status $(grep -c ' error: ' err)" "2 1"
done

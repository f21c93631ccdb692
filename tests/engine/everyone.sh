#!/bin/bash
# Scripts without a process: the kernel counts the hits of all that execute or load the files of the probes, exactly, and whoever hits is not touched.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
need_uprobes
user_folder

cat >library.c <<'END'
__attribute__((noinline)) long tripled(long x)
{
    return 3 * x;
}
END
cat >app.c <<'END'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
long tripled(long x);
__attribute__((noinline)) long doubled(long x)
{
    return 2 * x;
}
__attribute__((noinline)) static void work(long n)
{
    volatile long sum = 0;
    for (long i = 0; i < n; ++i) {
        sum += doubled(i) + tripled(i);
        if (FASTSDT_IS_ACTIVE(all, hit))
            FASTSDT_WITH(default, implicit, all, hit, i, "text");
    }
}
int main(int argc, char** argv)
{
    for (char line[16]; argc == 1 && fgets(line, sizeof line, stdin);) {
        work(100);
        puts("did");
        fflush(stdout);
    }
    if (argc > 1)
        work(atol(argv[1]));
    return 0;
}
END
gcc -O2 -shared -fPIC library.c -o libtripled.so
gcc -O2 -I"$INCLUDE" app.c -o app ./libtripled.so
cp app other

# One that runs already, and others that come, as other users too. Not the same program at another place.
driven ./app
start_tracer fastsdt-trace -e 'interval:ms:10 { printf("armed\n"); }
    usdt:./app:all:hit { @hits[comm] = count(); @texts[str(arg1)] = sum(arg0); } uprobe:./app:doubled { @in = sum(arg0); }
    uretprobe:./app:doubled { @out = sum(retval); } uprobe:./libtripled.so:tripled { @of_library[comm] = count(); }'
did
./app 1000
"${as_user[@]}" ./app 10
./other 7
! grep -q memfd: "/proc/$pid/maps" || fail "the process has memory of ours: $(cat /proc/"$pid"/maps)"
expect "its tracer" "$(grep TracerPid: "/proc/$pid/status" | cut -f 2)" 0
kill -INT $tracer
report
expect "everyone: $(cat err)" "$status $(grep . maps | sort)" "0 $(sort <<END
@hits[app]: 1110
@in: $((99 * 100 / 2 + 999 * 1000 / 2 + 9 * 10 / 2))
@of_library[app]: 1110
@of_library[other]: 7
@out: $((99 * 100 + 999 * 1000 + 9 * 10))
@texts[text]: $((99 * 100 / 2 + 999 * 1000 / 2 + 9 * 10 / 2))
sites 4 of 4 armed (4 by the kernel); dropped 0
END
)"
expect "it says so" "$(cat err)" "fastsdt-trace: engine kernel: no process is named, so the hits of all count"
did
exec 3>&- 4<&- 5<&-
wait "$pid"

# A library's name, and a function that nobody else calls. One that nobody has is an error, as is what is not in the file.
rm -f in answers report
ln -s /bin/bash shell
driven ./shell -c 'while read -r line; do umask 022; echo did; done'
start_tracer fastsdt-trace -e 'interval:ms:10 { printf("armed\n"); } uprobe:libc.so.6:umask /pid == '"$pid"'/ { @ = count(); exit(); }'
did
report
grep -q '^@: [1-9]' maps && [ "$status" = 0 ] || fail "libc: $(cat maps err)"
exec 3>&- 4<&- 5<&-
wait "$pid"

# A program of a container: another root, and a mount of its own. Here there is another program of that name.
gcc -O2 -I"$INCLUDE" -static -x c - -o contained <<'END'
#include <fastsdt.h>
#include <stdio.h>
__attribute__((noinline)) void contained(long n)
{
    FASTSDT(c, hit, n);
}
int main(void)
{
    for (char line[16]; fgets(line, sizeof line, stdin);) {
        contained(3);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END
mkdir jail
cp app jail/program
for how in "chroot jail /program" "unshare -m sh -c 'mount -t tmpfs none jail && cp contained jail/program && exec jail/program'"; do
    rm -f in answers report
    mkfifo in answers report
    [ "$how" != "chroot jail /program" ] || cp contained jail/program
    case $how in
    chroot*) root=/program ;;
    *) root=$PWD/jail/program && cp app jail/program ;;
    esac
    eval "$how" <in >answers &
    exec 3>in 4<answers
    did
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/fd/0" "$process/exe" 2>/dev/null)" in "$PWD/in"*/program) pid=${process#/proc/} ;; esac
    done
    start_tracer fastsdt-trace -e "interval:ms:10 { printf(\"armed\\n\"); } uprobe:/proc/$pid/root$root:contained { @in = sum(arg0); }
        usdt:/proc/$pid/root$root:c:hit { @hit = sum(arg0); }"
    did
    kill -INT $tracer
    report
    expect "$how: $(cat err)" "$status $(grep . maps)" "0 @hit: 3
@in: 3
sites 2 of 2 armed (2 by the kernel); dropped 0"
    exec 3>&- 4<&- 5<&-
    wait
done

# refused TEXT OPTIONS...
refused() {
    local text=$1 status=0
    shift
    timeout 20 "$@" >out 2>err </dev/null || status=$?
    expect "$*: status" "$status" 2
    grep -qF "fastsdt-trace: $text" err || fail "$*: $(cat err), and not $text"
}
refused 'nothing matches uprobe:./app:quadrupled: ' fastsdt-trace -e 'uprobe:./app:quadrupled { @ = count(); }'
refused 'nothing matches uprobe:./gone:f: there is no file ./gone' fastsdt-trace -e 'uprobe:./gone:f { @ = count(); }'
refused 'nothing matches uprobe:./app.c:f: ./app.c: not an ELF file' fastsdt-trace -e 'uprobe:./app.c:f { @ = count(); }'
refused 'nothing matches uprobe:libnone:f: there is no program and no library libnone' fastsdt-trace -e 'uprobe:libnone:f { @ = count(); }'
refused 'name a process with --pid' fastsdt-trace -e 'usdt:*:all:hit { @ = count(); }'
refused 'name a process with --pid' fastsdt-trace --engine user -e 'usdt:./app:all:hit { @ = count(); }'
alone='name a process with --pid, all that have a file with --exe, or a command after --'
[ ${#as_user[@]} = 0 ] || refused \
    "no process is named, and only the kernel can count in all of them: not allowed to attach uprobes (Permission denied): run as root" \
    "${as_user[@]}" fastsdt-trace -e 'usdt:./app:all:hit { @ = count(); }'
# A return probe would replace return addresses of processes that nobody has looked at.
cat >loop.s <<'END'
.text
.globl jumps
.type jumps,@function
jumps:
    lea table(%rip), %rax
    jmp *(%rax)
.size jumps,.-jumps
.data
table: .quad 0
END
gcc -shared -o libjumps.so loop.s
status=0
timeout 20 fastsdt-trace -t 0.1 --uretprobe -e 'uretprobe:./libjumps.so:jumps { @ = count(); }' >out 2>err </dev/null || status=$?
expect "a return probe: $(cat err)" "$status $(grep ^sites out)" \
    "1 sites 0 of 1 armed (1 cannot be had in the kernel: a uretprobe could end a process that nobody has looked at); dropped 0"
# Probes that may be missing.
fastsdt-trace -t 0.1 -e 'config = { missing_probes = "ignore" } uprobe:./app:quadrupled, uprobe:./app:doubled { @ = count(); }' \
    >out 2>err </dev/null || fail "missing: $(cat err out)"

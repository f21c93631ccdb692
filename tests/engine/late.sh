#!/bin/bash
# A library that is loaded while the tracer does not answer: what it counts there is said to be incomplete, and since when it is counted. A tracer
# that only gets no processor is waited for longer, but not for ever.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >library.c <<'END_OF_C'
#include <fastsdt.h>
void work(int n) { FASTSDT(lib, work, n); }
END_OF_C
cat >main.c <<'END_OF_C'
#include <dlfcn.h>
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    void (*work)(int) = NULL;
    FASTSDT(app, start);
    while (fgets(line, sizeof line, stdin)) {
        void* library = work ? NULL : dlopen("./library.so", RTLD_NOW);
        if (library)
            work = (void (*)(int))dlsym(library, "work");
        if (line[0] != 'b' && work)
            work(1);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" main.c -o main -ldl
# begin PROGRAM...: traces it, as soon as its own site is armed.
begin() {
    rm -f in answers report err && : >out # another tracer's last line is not this one's
    LD_AUDIT=${audit:-} driven "$@"
    "${as_user[@]}" fastsdt-trace --engine user --interval 0.02 \
        -e 'usdt:*:lib:work { @n = count(); } usdt:*/main:app:start { @start = count(); }' -p $pid >out 2>err 3>&- 4<&- &
    tracer=$!
    until grep -q '^sites 1 of 1 armed' out; do kill -0 $tracer || fail "$(cat err)"; done
}
# end WHAT STATUS LINE: the tracer's, when it has counted a hit of the library; and the program's.
end() {
    until grep -q '^@n: [1-9]' out; do did; done
    kill -INT $tracer
    status=0
    wait $tracer || status=$?
    expect "$1: status, $(cat err)" "$status" "$2"
    tail -1 out | matches -Ex "$3" || fail "$1: $(tail -3 out)"
    exec 3>&-
    wait $pid || fail "$1: the program failed"
}
late='sites 2 of 2 armed \(1 only since [0-9.]+ s after the start\); dropped 0'
begin ./main
kill -STOP $tracer
did # it loads the library, and waits for the tracer a second at most
kill -CONT $tracer
end "a tracer that is stopped" 1 "$late"
grep -q 'the process loaded libraries while this tool did not answer' err || fail "$(cat err)"

# The thread that answers is held, and the others are not: as if it got no processor.
cat >hold.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
int main(int argc, char** argv)
{
    const int thread = atoi(argv[argc - 1]);
    if (ptrace(PTRACE_SEIZE, thread, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, thread, 0, 0) < 0 || waitpid(thread, 0, __WALL) < 0)
        return 1;
    puts("held");
    fflush(stdout);
    return getchar() == EOF; /* the kernel lets it go */
}
END_OF_C
gcc -O2 hold.c -o hold
hold() {
    rm -f let held
    mkfifo let held
    ./hold $tracer <let >held 3>&- 4<&- &
    holder=$!
    exec 6>let 7<held
    read -r line <&7 && expect "the thread that answers" "$line" held
}
let_go() { echo >&6 && exec 6>&- 7<&- && wait $holder; }
begin ./main
hold
echo >&3
if read -r -t 2.5 line <&4; then fail "it does not wait for a tracer that gets no processor: $line"; fi
let_go
read -r line <&4 && expect "the program" "$line" did
end "a tracer that gets no processor for a while" 0 'sites 2 of 2 armed; dropped 0'
begin ./main
hold
did # it waits ten seconds
let_go
end "a tracer that gets no processor" 1 "$late"

# The tracer sees what is mapped before the dynamic linker asks. The library has executed nothing then.
cat >audit.c <<'END_OF_C'
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map* map, Lmid_t lmid, uintptr_t* cookie)
{
    (void)lmid, (void)cookie;
    if (strstr(map->l_name, "library.so")) { /* mapped just now */
        FILE* armed = fopen("armed", "r");
        if (!armed || fgetc(armed) == EOF)
            _exit(1);
        fclose(armed);
    }
    return 0;
}
END_OF_C
gcc -O2 -shared -fPIC audit.c -o audit.so
mkfifo -m 666 armed
audit=./audit.so
begin ./main
echo >&3
until tail -1 out | matches '^sites 2 of 2 armed'; do kill -0 $tracer || fail "$(cat err)"; done
echo >armed
read -r line <&4 && expect "the program" "$line" did
end "a look before the question" 0 'sites 2 of 2 armed; dropped 0'

# A large library, whose code may take longer to read than a process waits: it is read before the process begins, since the script names it.
# A library in the tracer tells whether it has begun.
cat >order.c <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
__attribute__((constructor)) static void only_here(void)
{
    if (strcmp(program_invocation_short_name, "fastsdt-trace") == 0)
        unsetenv("LD_PRELOAD");
}
void* mmap(void* at, size_t size, int rights, int flags, int file, off_t offset)
{
    void* (*next)(void*, size_t, int, int, int, off_t) = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    struct stat one, other;
    static int told;
    if (!told && file >= 0 && fstat(file, &one) == 0 && stat("large.so", &other) == 0 && one.st_ino == other.st_ino) {
        FILE* to = fopen("order", "a");
        told = 1;
        if (to)
            fputs(access("began/yes", F_OK) == 0 ? "the program\n" : "the tracer\n", to), fclose(to);
    }
    return next(at, size, rights, flags, file, offset);
}
void* mmap64(void* at, size_t size, int rights, int flags, int file, off_t offset) { return mmap(at, size, rights, flags, file, offset); }
END_OF_C
cat >large.c <<'END_OF_C'
static const char filling[20 << 20] = "large";
const char* fill(int n) { return filling + n; }
int work(int n) { return n * 3 + 1; }
END_OF_C
cat >loads.c <<'END_OF_C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    FILE* begun = fopen("began/yes", "w");
    void* library = begun ? dlopen("./large.so", RTLD_NOW) : NULL;
    int (*work)(int) = library ? (int (*)(int))dlsym(library, "work") : NULL;
    int sum = 0;
    for (int i = 0; work && i < 1000; ++i)
        sum += work(i);
    return sum == 1499500 ? 0 : 1;
}
END_OF_C
gcc -O2 -shared -fPIC order.c -o order.so -ldl
gcc -O2 -shared -fPIC large.c -o large.so
gcc -O2 loads.c -o loads -ldl
rm -rf order began && mkdir began && : >order && chmod 777 order began
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 LD_PRELOAD=$PWD/order.so "${as_user[@]}" fastsdt-trace --engine user \
    -e 'uprobe:./large.so:work { @ = count(); }' -- ./loads >out 2>err || fail "a large library: status $?: $(cat out err)"
grep -qx '@: 1000' out && grep -qx 'sites 1 of 1 armed; dropped 0' out || fail "a large library: $(cat out err)"
expect "who reads it first" "$(head -1 order)" "the tracer"
rm -f large.so

#!/bin/bash
# A process shortens a file that it has mapped, just when the tracer has mapped it too and is about to read it: reading what has gone raises
# SIGBUS. The tracer lives, says so, and traces what there is else.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
# The moment is made by a library in the tracer: between mmap() and the first read.
cat >shorten.c <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
void* mmap(void* at, size_t size, int rights, int flags, int file, off_t offset)
{
    void* (*next)(void*, size_t, int, int, int, off_t) = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    void* mapped = next(at, size, rights, flags, file, offset);
    struct stat one, other;
    const char* name = getenv("SHORTENED");
    if (file >= 0 && name && fstat(file, &one) == 0 && stat(name, &other) == 0 && one.st_ino == other.st_ino && one.st_dev == other.st_dev
        && truncate(name, 4096) < 0)
        abort();
    return mapped;
}
void* mmap64(void* at, size_t size, int rights, int flags, int file, off_t offset) { return mmap(at, size, rights, flags, file, offset); }
END_OF_C
cat >library.c <<'END_OF_C'
#include <fastsdt.h>
void work(int n) { FASTSDT(lib, work, n); }
static const char filling[1 << 20] = "longer than a page";
const char* fill(int n) { return filling + n; }
END_OF_C
cat >app.c <<'END_OF_C'
#include <fastsdt.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
    char line[16];
    int n = 0, file = open("./library.so", O_RDONLY);
    if (file < 0 || mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
        return 2;
    while (fgets(line, sizeof line, stdin)) {
        FASTSDT(app, line, ++n);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
user_folder
cp "$OLDPWD"/{shorten,library,app}.c .
gcc -O2 -shared -fPIC shorten.c -o shorten.so -ldl
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" app.c -o app
cp library.so whole.so
chmod 666 library.so
size=$(stat -c %s library.so)
[ "$size" -gt 1048576 ] || fail "the library is too small to be shortened: $size"
driven ./app
did
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
LD_PRELOAD=$PWD/shorten.so SHORTENED=$PWD/library.so "${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } usdt:*:app:line { @app = count(); } usdt:*:lib:work { @lib = count(); }' \
    >report 2>err 3>&- 4<&- &
tracer=$!
exec 5<report
armed
expect "the file now" "$(stat -c %s library.so)" 4096
did
did
kill -INT $tracer
report
expect "status: $(cat maps err)" $status 1
grep -qx '@app: 2' maps || fail "what is there is not counted: $(cat maps err)"
grep -q 'a file became shorter while it was read' err || fail "nothing is said: $(cat maps err)"
exec 3>&- 5<&-
wait $pid || fail "the program failed"

# The same of a service that goes on for months.
case $(fastsdt-trace serve --config absent 2>&1 || true) in
*"serve is not in this build"*) exit 0 ;;
esac
cat whole.so >library.so
rm -f in answers report
driven ./app
did
: >log
LD_PRELOAD=$PWD/shorten.so SHORTENED=$PWD/library.so "${as_user[@]}" fastsdt-trace serve --exe "$PWD/app" --listen 127.0.0.1:0 \
    -e 'usdt:*:app:line { @app = count(); } usdt:*:lib:work { @lib = count(); }' >log 2>&1 3>&- 4<&- &
service=$!
until grep -q 'metrics at http' log; do kill -0 $service || fail "the service ended: $(cat log)"; done
port=$(sed -n 's,.*metrics at http://127.0.0.1:\([0-9]*\)/.*,\1,p' log)
scrape() {
    exec 6<>"/dev/tcp/127.0.0.1/$port" || fail "no answer: $(cat log)"
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&6
    cat <&6
    exec 6>&-
}
# Armed as soon as the process has been found: hits are counted from then on.
until did && scrape >metrics && grep -q '^script_app_total [1-9]' metrics; do kill -0 $service || fail "the service ended: $(cat log)"; done
expect "the file now" "$(stat -c %s library.so)" 4096
grep -q 'a file became shorter while it was read' log || fail "the service says nothing: $(cat log)"
kill -TERM $service
status=0
wait $service || status=$?
[ $status -lt 128 ] || fail "the service was killed: $status, $(cat log)"
exec 3>&-
wait $pid || fail "the program failed"

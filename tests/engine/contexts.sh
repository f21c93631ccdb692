#!/bin/bash
# A program that switches its threads by itself at signals. One that is switched away may stand between instructions that a jump would
# replace, or in a stub: nothing changes there until it has gone on.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
gcc -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/engine/contexts.c" -o contexts
driven ./contexts
do_one() { # LINE ANSWER
    echo "$1" >&3
    read -r did <&4 || did="no answer"
    expect "$1" "$did" "$2"
}
entry() { bytes_of work; }
own=$(entry)
mappings() { wc -l <"/proc/$pid/maps"; }

# In the middle of the instructions that a jump would replace.
stands() { # HOW [n]
    local how=$1
    do_one $how "stands 0"
    [ $# = 1 ] || do_one n "handles 0"
    attach 'uprobe:./contexts:work { @ = count(); }'
    expect "$how: work() while a thread stands in it" "$(entry)" "$own"
    do_one w "works 24"
    do_one r "went on 24"
    until [ "$(entry)" != "$own" ]; do kill -0 $tracer || fail "$how: $(cat err)"; done
    do_one w "works 24"
    kill -INT $tracer
    report
    expect "$how: status" "$status" 1
    grep -q '^@: 1$' maps || fail "$how: $(cat maps)"
    grep -q '^sites 1 of 1 armed (1 only since ' maps || fail "$how: $(cat maps)"
    expect "$how: work() afterwards" "$(entry)" "$own"
}
for each in s c h; do stands $each; done
# Its handler has gone meanwhile, and it goes on all the same.
stands s n

# In a stub. It stays until the next run, which finds nobody there.
before=$(mappings)
attach 'uprobe:./contexts:work { @ = count(); }'
do_one S "stands 0"
kill -INT $tracer
report
expect "S: status" "$status" 0
expect "S: work() afterwards" "$(entry)" "$own"
do_one r "went on 24"
attach 'uprobe:./contexts:work { @ = count(); }'
do_one w "works 24"
kill -INT $tracer
report
expect "after S: status" "$status" 0
grep -q '^@: 1$' maps || fail "after S: $(cat maps)"
expect "mappings" "$(mappings)" "$before"

# On stacks that are shared memory.
do_one m "is shared 0"
stands s
stands h
# A page before them cannot be read, as if it had just been unmapped.
cat >hole.c <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t pread(int file, void* to, size_t size, off_t at)
{
    ssize_t (*next)(int, void*, size_t, off_t) = (ssize_t (*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    const char* const said = getenv("HOLE");
    const off_t hole = said ? strtoll(said, NULL, 16) : 0;
    if (hole && at >= hole && at < hole + 4096) {
        errno = EIO;
        return -1;
    }
    return next(file, to, hole && at < hole && at + (off_t)size > hole ? (size_t)(hole - at) : size, at);
}
ssize_t pread64(int file, void* to, size_t size, off_t at) { return pread(file, to, size, at); }
END_OF_C
gcc -O2 -shared -fPIC hole.c -o hole.so -ldl
HOLE=$(sed -n 's|-.* rw-s .*/dev/zero.*||p' "/proc/$pid/maps")
[ -n "$HOLE" ] || fail "where is its shared memory? $(cat "/proc/$pid/maps")"
export HOLE LD_PRELOAD=$PWD/hole.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
stands s
unset HOLE LD_PRELOAD

# In memory behind more than a GiB that is used.
do_one b "has more 0"
stands s
exec 3>&-
wait $pid || fail "the program failed"

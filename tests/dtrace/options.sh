#!/bin/bash
# The options that builds pass, in any order, and what stands in the environment.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
rm -rf work && mkdir -p work/sub work/inc && cd work
printf '#ifdef ON\n#include "types.h"\nprovider p { probe a(TYPE x); };\n#endif\n' >sub/my.probes.d
echo '#define TYPE unsigned long' >inc/types.h
yes_() { "$@" 2>errors >out || fail "status $?: $*: $(cat errors)"; }
has() { [ -s "$1" ] || fail "no $1 after: $2"; rm -f "$1"; }

# -h, -G, -C, -s, -o, -I, -D, -U in any order, apart and joined.
for words in "-C -DON -Iinc -h -s sub/my.probes.d -o x.h" "-o x.h -s sub/my.probes.d -I inc -D ON -C -h" \
    "-h -ox.h -ssub/my.probes.d -xnolibs -C -x nolibs -D ON=1 -I inc -32" \
    "-64 -fPIC -fpic --types -U OFF -UOFF -h -DON -C -Iinc -o x.h -s sub/my.probes.d a.o b.o" \
    "-x cpppath=gcc -C -h -DON -Iinc -o x.h -s sub/my.probes.d" "-k -h -DON -Iinc -C -s sub/my.probes.d -o x.h"; do
    yes_ $dtrace $words
    grep -q '/\* p:a(unsigned long x) \*/' x.h || fail "not preprocessed: $words"
    has x.h "$words"
done
kept=$(sed -n 's/^dtrace: kept //p' out)
[ -s "$kept/preprocessed.d" ] || fail "-k kept nothing"
rm -r "$kept"
for words in "-G -DON -Iinc -C -s sub/my.probes.d -o x.o" "-C -o x.o -G -Iinc -DON -s sub/my.probes.d one.o two.lo"; do
    yes_ $dtrace $words
    expect "object's symbols" "$(nm x.o | awk '/semaphore/ {print $2, $3}')" "D p_a_semaphore"
    has x.o "$words"
done
yes_ $dtrace -k -G -s sub/my.probes.d -o x.o
kept=$(sed -n 's/^dtrace: kept //p' out)
[ -s "$kept/probes.c" ] || fail "-k kept no source"
rm -r "$kept"
rm x.o
# Without -o: the file's name without its last suffix, here.
yes_ $dtrace -h -s sub/my.probes.d && has my.probes.h -h
yes_ $dtrace -G -s sub/my.probes.d && has my.probes.o -G
# The environment.
yes_ env CC="env gcc -DON" $dtrace -C -h -Iinc -s sub/my.probes.d -o x.h && has x.h CC
yes_ env CPP="gcc -E -DON '-DTEXT=a b'" CC=false $dtrace -C -h -Iinc -s sub/my.probes.d -o x.h && has x.h CPP
yes_ env CPP=cpp $dtrace -C -h -DON -Iinc -s sub/my.probes.d -o x.h && has x.h cpp
# Text to a pipe or a terminal, and to a file that a link leads to.
$dtrace -h -s sub/my.probes.d -o /dev/stdout | matches 'include <sys/sdt.h>' || fail "nothing on the standard output"
{ echo first; $dtrace -h -s sub/my.probes.d -o /dev/stdout; } >both
sed -n 1p both | matches first || fail "the standard output was written over"
rm both
yes_ $dtrace -h -s sub/my.probes.d -o /dev/null
[ -c /dev/null ] || fail "/dev/null is gone"
ln -s sub/real.h link.h
yes_ $dtrace -h -s sub/my.probes.d -o link.h
[ -L link.h ] && [ -s sub/real.h ] || fail "the link was replaced"
rm link.h sub/real.h
# Another user's link in a sticky directory: where the kernel refuses to follow it, so does dtrace.
victim="setpriv --reuid 2500 --regid 2500 --clear-groups"
if [ "$(id -u)" = 0 ] && have setpriv && $victim test -x "$(command -v "$dtrace")"; then
    shared=$(mktemp -d /var/tmp/dtrace_options.XXXXXX) && chmod 1777 "$shared" && ln -s "$shared/precious" "$shared/link.h"
    cp sub/my.probes.d "$shared/" && chmod 644 "$shared/my.probes.d"
    chown -h 1500 "$shared/link.h" && echo kept >"$shared/precious" && chown 2500 "$shared/precious"
    before=$(cat /proc/sys/fs/protected_symlinks)
    if [ "$before" = 1 ] || echo 1 >/proc/sys/fs/protected_symlinks; then
        status=0
        $victim $dtrace -h -s "$shared/my.probes.d" -o "$shared/link.h" 2>errors || status=$?
        [ "$before" = 1 ] || echo "$before" >/proc/sys/fs/protected_symlinks
        expect "another user's link" "$status $(cat "$shared/precious")" "1 kept"
        grep -q "$shared/link.h: cannot write: Permission denied" errors || fail "another user's link: $(cat errors)"
    fi
    rm -r "$shared"
fi
umask 027
yes_ $dtrace -h -s sub/my.probes.d -o x.h
expect "mode" "$(stat -c %a x.h)" 640
rm x.h

# Usage.
usage() { # MESSAGE WORDS...
    local message=$1 status=0
    shift
    $dtrace "$@" >out 2>errors || status=$?
    [ $status = 2 ] || fail "status $status: $*"
    expect "error of: $*" "$(head -n 1 errors)" "dtrace: $message"
    grep -q '^usage: dtrace ' errors || fail "no usage: $*"
}
usage "-h or -G says what to make"
usage "-h or -G says what to make" -s x.d
usage "-h and -G are two runs" -h -G -s x.d
usage "-s FILE says what the probes are" -h
usage "-s needs a file" -h -s
usage "-o needs a file" -h -s x.d -o
usage "-o needs a file" -h -s x.d -o ""
usage "-s is given twice: a.d and b.d" -h -s a.d -s b.d
usage "unknown option -q" -h -s x.d -q
usage "unknown option --verbose" --verbose
$dtrace --help | matches '^  -x cpppath=COMMAND' || fail "no --help"
expect "--version" "$($dtrace -V)" "$($dtrace --version)"
$dtrace -V | matches '^dtrace (fastsdt) [0-9]' || fail "no version"

# What cannot be done: one error, nothing left.
cannot() { # PATTERN COMMAND...
    local pattern=$1 status=0
    shift
    "$@" >out 2>errors || status=$?
    [ $status = 1 ] || fail "status $status: $*"
    grep -q -- "$pattern" errors || fail "$*: $(cat errors)"
}
cannot '^dtrace: none.d: No such file' $dtrace -h -s none.d
cannot '^dtrace: sub: Is a directory' $dtrace -h -s sub
cannot '^dtrace: none/x.h: cannot make a file beside it: No such file' $dtrace -h -s sub/my.probes.d -o none/x.h
cannot '^dtrace: /dev/full: No space' $dtrace -h -s sub/my.probes.d -o /dev/full
cannot '^dtrace: no-such-cc: No such file' env CC="no-such-cc -O2" $dtrace -G -s sub/my.probes.d -o x.o
cannot '^dtrace: false .*: exit status 1$' env CC=false $dtrace -G -s sub/my.probes.d -o x.o
cannot '^dtrace: gcc .* -DON.*: exit status 1$' env CC=gcc $dtrace -C -h -DON -s sub/my.probes.d -o x.h # no types.h
cannot '^dtrace: CFLAGS: a quote is never closed: "-DX' env CFLAGS='-O2 "-DX' $dtrace -G -s sub/my.probes.d -o x.o
cannot '^dtrace: there is no compiler' env -u CC PATH=/nowhere $dtrace -G -s sub/my.probes.d -o x.o
rm -f out errors
expect "what is here" "$(find . -type f | sort | xargs)" "./inc/types.h ./sub/my.probes.d"

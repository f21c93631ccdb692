#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libfastsdt-probes where callers are wrong, threads and children are many, descriptors go, nothing can be loaded: use.c.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc g++
. "$FASTSDT_SOURCE/tests/probes/common.sh"
# The header is C89 and C++98.
echo '#include <fastsdt/probes.h>' >header.c
for compiler in "gcc -std=c89 -pedantic-errors -Wno-long-long" "g++ -std=c++98 -x c++" "clang-19 -std=c89 -pedantic-errors"; do
    have "${compiler%% *}" || continue
    $compiler -Wall -Wextra -Werror -I"$INCLUDE" -c header.c -o header.o || fail "$compiler"
done
compile "$here/use.c" -o use
run() { timeout 300 ./use "$@" >out 2>err || fail "use $*: status $?: $(cat out err)"; }

run misuse
expect "misuse" "$(cat out)" 'no name: 2||a provider and a probe have a name|
an empty name: 2||a provider and a probe have a name|
a colon: 2||"a:b" is no name that tracers could ask for|write letters, digits and _
a blank: 2|shop|"a b" is no name that tracers could ask for|write letters, digits and _
a line'"'"'s end: 2|shop|"a?" is no name that tracers could ask for|write letters, digits and _
a long name: 2||a name has at most 255 bytes|
a flag: 2|shop|this version of libfastsdt-probes does not know one of its flags|
no provider: 2||there is no provider: NULL|
no provider to load: 2||there is no provider: NULL|
13 arguments: 2|shop:many|a probe has at most 12 arguments|
added late: 2|shop:late|the provider is loaded|add it before, or unload the provider first
loaded twice: 2|shop|the provider is loaded already|'

# Types are those of C; the notes of those that are right are compared in notes.sh.
cat >good <<'END'

long
 unsigned  long long int id , char*p,const   char *const q
struct order *o, GObject *object, void**where, union u*x
enum color c, const volatile int i, signed char s, char const *t
uint8_t a,int64_t b,size_t n,time_t when,_Bool ok,float f,double d
short int s, long int l, unsigned u, signed i
END
./use arguments <good >out || fail "good arguments: $(cat out)"
expect "good arguments" "$(sort -u out)" ok
cat >bad <<'END'
int,
,int
order
struct order o
void
long double d
unsigned signed x
long short x
int int
int a b
int 7
7
char *7
int (*f)(void)
char name[8]
int *const int
unsigned double d
* p
struct *p
const
int a;
id: int
END
./use arguments <bad >out || fail "bad arguments: $(cat out)"
expect "bad arguments" "$(cat out)" '"" is no argument of a probe
"" is no argument of a probe
"order" is no argument of a probe
"struct order o" is no argument of a probe
"void" is no argument of a probe
"long double d" is no argument of a probe
"unsigned signed x" is no argument of a probe
"long short x" is no argument of a probe
"int int" is no argument of a probe
"int a b" is no argument of a probe
"int 7" is no argument of a probe
"7" is no argument of a probe
"char *7" is no argument of a probe
"int (*f)(void)" is no argument of a probe
"char name[8]" is no argument of a probe
"int *const int" is no argument of a probe
"unsigned double d" is no argument of a probe
"* p" is no argument of a probe
"struct *p" is no argument of a probe
"const" is no argument of a probe
"int a;" is no argument of a probe
"id: int" is no argument of a probe'

mkdir -p tmp
export TMPDIR=$PWD/tmp
for where in memory file; do
    run growth $where
    expect "growth ($where)" "$(cat out)" growth
    run forks $where
    expect "fork ($where)" "$(cat out)" forks
    expect "files that are left ($where)" "$(ls tmp)" ""
done
run threads
expect "threads" "$(cat out)" threads
run forks_of_many
expect "forks of many threads" "$(cat out)" "forks of many"
rm -f out
run descriptors
expect "descriptors" "$(cat out)" descriptors

# Nothing can be loaded: one clear error.
run load
case $(cat out) in /proc/*/fd/*) ;; *) fail "a file in memory: $(cat out)" ;; esac
run load file
case $(cat out) in "$TMPDIR"/fastsdt-??????.so) ;; *) fail "a temporary file: $(cat out)" ;; esac
run load nobody-frees file
expect "files that are left at the end" "$(ls tmp)" ""
TMPDIR=$PWD/none run load file
expect "no folder" "$(cat out)" "1|$PWD/none|no file can be made: No such file or directory|set TMPDIR to a folder where it may"
if [ "$(id -u)" = 0 ] && have unshare; then
    # A folder without execution, and no /proc: the file in memory cannot be named, so the temporary one is tried.
    mkdir -p noexec
    unshare -m bash -c 'mount -t tmpfs -o noexec none noexec && TMPDIR=$PWD/noexec ./use load file; mount -t tmpfs none /proc && ./use load' >out 2>err ||
        fail "without /proc: $(cat out err)"
    matches -E '^1\|.*/noexec/fastsdt-.{6}\.so\|it cannot be loaded: .*failed to map segment.*\|mount /proc, or set TMPDIR to a folder that is not mounted noexec$' <out ||
        fail "noexec: $(cat out)"
    matches -E "^$TMPDIR/fastsdt-.{6}\.so$" <out || fail "without /proc: $(cat out)"
    # /proc of another PID namespace: our number is somebody else's there.
    unshare -m --fork --pid ./use load >out 2>err || fail "another PID namespace: $(cat out err)"
    expect "another PID namespace" "$(sed 's/[0-9]*$/N/' out)" /proc/self/fd/N
fi
expect "files that are left" "$(ls tmp)" ""
run full
matches -E '^1\|.*\|no file can be made: Too many open files\|' <out || fail "no descriptor: $(cat out)"

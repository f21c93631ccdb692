#!/bin/bash
# dtrace -G: semaphores where readers and linkers expect them, whatever CC and CFLAGS are, and nothing else anywhere.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
rm -rf work && mkdir -p work/tmp && cd work
export TMPDIR=$PWD/tmp
unset CC CFLAGS CPP
{
    echo 'provider app {'
    for i in $(seq 20); do echo "    probe p__$i(int);"; done
    echo '};'
} >app.d
# symbols OBJECT: binding, visibility, size and section of its semaphores, and how many.
symbols() { readelf -sW "$1" | awk '/_semaphore/ { print $3, $4, $5, $6, $7 }' | sort | uniq -c | sed 's/^ *//'; }
section() { readelf -SW "$1" | sed -n 's/^ *\[ *\([0-9]*\)\] \.probes  *\([A-Z]*\).* WA .*/\1 \2/p'; }

$dtrace -G -s app.d
read -r number type <<<"$(section app.o)"
expect "the section" "$type" PROGBITS
expect "semaphores" "$(symbols app.o)" "20 2 OBJECT GLOBAL HIDDEN $number"
for flag in -DSTAP_SDT_V2 -DSTAP_SDT_V1; do
    CFLAGS=$flag $dtrace -G -s app.d -o v2.o
    expect "semaphores with $flag" "$(symbols v2.o | sed 's/ [0-9]*$//')" "20 2 OBJECT GLOBAL DEFAULT"
    $dtrace $flag -G -s app.d -o v2.o
    expect "semaphores with $flag as an option" "$(symbols v2.o | sed 's/ [0-9]*$//')" "20 2 OBJECT GLOBAL DEFAULT"
done
# As large as the semaphores are, with flags that usually change what a file has.
for flags in "-g" "-O3 -flto" "-fsanitize=address,undefined" "-std=c89 -pedantic -Wall -Wextra -Werror -Wmissing-declarations" \
    "-fvisibility=hidden -fdata-sections -fno-common" "$(printf -- '-O2\\\n  -Wall\t-DTEXT="a b"\n')"; do
    CFLAGS=$flags $dtrace -G -s app.d -o flags.o || fail "CFLAGS=$flags"
    expect "semaphores with $flags" "$(symbols flags.o | sed 's/ [0-9]*$//')" "20 2 OBJECT GLOBAL HIDDEN"
    expect "bytes of .probes with $flags" "$(size -A flags.o | awk '$1 == ".probes" {print $2}')" 40
done
# -MMD would write app.d, the provider file.
cp app.d saved.d
CFLAGS=-MMD $dtrace -G -s app.d -o app.o
cmp app.d saved.d || fail "CFLAGS=-MMD: the provider file was written over"
# Twice the same bytes, wherever TMPDIR is.
CFLAGS=-g $dtrace -G -s app.d -o first.o
mkdir other
TMPDIR=$PWD/other CFLAGS=-g $dtrace -G -s app.d -o second.o
cmp first.o second.o || fail "two runs, two objects"
# Debug information leads to the probe in the provider file.
need gdb
gdb -batch -ex 'info variables app_p__7_semaphore' first.o >gdb.log 2>&1
grep -q '^8:.*app_p__7_semaphore' gdb.log || fail "gdb does not know where the probe is: $(cat gdb.log)"
# Other compilers.
for compiler in clang-14 clang-19 g++ "env gcc -m32"; do
    have ${compiler%% *} || continue
    CC=$compiler $dtrace -G -s app.d -o cc.o || fail "CC=$compiler"
    expect "semaphores by $compiler" "$(symbols cc.o | sed 's/ [0-9]*$//')" "20 2 OBJECT GLOBAL HIDDEN"
done
for case in "aarch64-linux-gnu-gcc|AArch64" "arm-linux-gnueabihf-gcc|ARM" "s390x-linux-gnu-gcc|IBM S/390"; do
    have "${case%|*}" || continue
    CC=${case%|*} $dtrace -G -s app.d -o cc.o || fail "CC=${case%|*}"
    readelf -h cc.o | matches "Machine: *${case#*|}\$" || fail "$case: not its machine"
    expect "semaphores by ${case%|*}" "$(symbols cc.o | sed 's/ [0-9]*$//')" "20 2 OBJECT GLOBAL HIDDEN"
done
# An empty provider has an object too: it is in the list of files to link.
echo 'provider none { };' >none.d
$dtrace -G -s none.d
echo 'int main(void) { return 0; }' | gcc -x c - -x none none.o -o none || fail "the object of an empty provider does not link"

# Runs side by side, as make -j has them, in one directory and with one input.
rm -f ./*.o none
for i in $(seq 8); do
    $dtrace -G -s app.d -o "out$i.o" &
    $dtrace -C -h -s app.d -o "out$i.h" &
done
wait
for i in $(seq 2 8); do cmp "out$i.o" out1.o && cmp "out$i.h" out1.h; done
# Interrupted while the compiler runs, it takes everything away.
mkfifo started
cat >slow-cc <<'END'
#!/bin/sh
echo >started
exec sleep 100
END
chmod +x slow-cc
CC=./slow-cc $dtrace -G -s app.d -o slow.o 2>/dev/null &
tool=$!
read -r _ <started
child=$(cat /proc/$tool/task/$tool/children)
kill -TERM $tool
status=0
wait $tool || status=$?
kill $child
[ $status = 143 ] || fail "interrupted: status $status"
rm -f started slow-cc out*.[ho] none.d saved.d gdb.log
expect "what is here" "$(find . | sort | xargs)" ". ./app.d ./other ./tmp"

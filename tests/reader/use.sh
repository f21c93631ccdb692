#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libfastsdt where files are not sound, callers are wrong, memory is short, files change, threads are many: use.c.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc ar
library=$FASTSDT_BUILD/lib
[ -e "$library/libfastsdt.so" ] || skip "the tools are not built"
# With a library that was built for a sanitizer only programs go that were built for it too: tests/sanitize.sh.
${FASTSDT_API_COMPILER:-gcc} -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$FASTSDT_SOURCE/tests/reader/use.c" -o use \
    -L"$library" -lfastsdt -Wl,-rpath,"$library" -lpthread -rdynamic
run() { timeout 120 ./use "$@" >out 2>err || fail "use $*: status $?: $(cat out err)"; }
gcc -O2 -g -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o hello
gcc -O2 -c -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o hello.o
rm -rf sub thin.a fifo && mkdir sub && mkfifo fifo && : >empty
ar rcsT thin.a hello.o
(cd sub && ar rcsT thin-out.a ../hello.o)

run misuse hello
expect "misuse" "$(cat out)" 'no size: 2|fastsdt_reader_options|its size is not set|
a flag: 2|fastsdt_reader_options|this version of libfastsdt does not know one of its flags|
kernels: 2|fastsdt_reader_options: kernels|"nonsense" is not a kernel version|write 6.12, 6.1.176, ubuntu-7.0.0-43, rhel-9.6 or 6.1-7.2
a shorter structure: read
a newer structure: read
a newer member: 2|fastsdt_reader_options|this version of libfastsdt does not know one of its members|
no path: 2||there is no path: NULL|
no memory: 2||there are no bytes: NULL|
an empty vector: 1||not an ELF file or an ar archive|
empty memory: 1||not an ELF file or an ar archive|
no descriptor: 1|/proc/self/fd/-1|No such file or directory|
no process: 1|process 2147483632|there is no such process|'

run files missing empty fifo . /dev/zero thin.a sub/thin-out.a
expect "files" "$(cat out)" "missing: 1|missing|No such file or directory|
empty: 1|empty|empty file|
fifo: 1|fifo|not a regular file|
.: 1|.|is a directory|name the files in it
/dev/zero: 1|/dev/zero|not a regular file|
thin.a: read
thin.a: no image
  1 member in other files is left out (hello.o)|
thin.a: no image
  1 member in other files is left out (hello.o)|
sub/thin-out.a: no image
  1 member outside the archive's directory is left out (../hello.o)|FASTSDT_READER_OUTSIDE reads them
sub/thin-out.a: no image
  1 member in other files is left out (../hello.o)|
sub/thin-out.a: no image
  1 member in other files is left out (../hello.o)|"

# A mapped file would raise SIGBUS here.
cp hello shrinks
run shrink shrinks
expect "a file that loses its end while it is read: its size then" "$(stat -c %s shrinks)" 4096
cp hello goes
run gone goes
expect "a file that goes" "$(cat out)" shop:order

# A terabyte of which nothing is there but the beginning.
cp hello sparse
truncate -s 1T sparse
(ulimit -v unlimited && run files sparse)
expect "a sparse file" "$(cat out)" "sparse: read"
rm sparse # who copies the build with another program than rsync -S or tar -S fills a disk

if [ -z "${FASTSDT_API_COMPILER:-}" ]; then # sanitizers take terabytes of addresses
    for case in "hello 4096" "$FASTSDT_BUILD/bin/fastsdt-check 150000"; do
        run memory $case
        expect "$case: little memory" "$(cat out)" "read, or an error"
    done
fi
run threads hello
expect "threads" "$(cat out)" "3 probes"
run process
expect "this process" "$(sed 's/@%[a-z0-9]*/@REGISTER/' out)" "own -4@REGISTER value 3, untouched, bytes as they are here"

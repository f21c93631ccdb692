#!/bin/bash
# Probes that a Python program makes for itself: their notes and bytes are those of the compiler and fastsdt.h, and fastsdt-trace, bpftrace and gdb
# see the same hits and values. The program is an ordinary user's, and so is fastsdt-trace.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need readelf
user_folder
. "$FASTSDT_SOURCE/tests/python/common.sh"
export INCLUDE
here=$FASTSDT_SOURCE/tests/python
cp "$here/target.py" .
"$python" -B "$here/probes.py" gcc

# arm64: the package as it is built there. Its files are compared too, and one is loaded.
if have aarch64-linux-gnu-gcc; then
    (cd source/python && PYTHONWARNINGS='' CC=aarch64-linux-gnu-gcc "$python" setup.py --quiet build_py --build-lib ../../arm64) >arm64.log 2>&1 ||
        fail "arm64: $(cat arm64.log)"
    PYTHONPATH=arm64 "$python" -B "$here/probes.py" aarch64-linux-gnu-gcc files
    cat >host.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *object = dlopen("./ours.so", RTLD_NOW);
    if (!object)
        return printf("%s\n", dlerror());
    ((void (*)(long, long, long, long))dlsym(object, "call4"))(1, 2, 3, 4);
    return printf("%.3s\n", ((const char *(*)(void))dlsym(object, "base"))() + 1) != 4; /* behind its first byte a file has "ELF" */
}
END
    ! have qemu-aarch64 ||
        { aarch64-linux-gnu-gcc host.c -o host && expect "loaded on arm64" "$(qemu-aarch64 -L /usr/aarch64-linux-gnu ./host)" ELF; }
fi

chmod -R a+rX . # pip's folders may be for root only
trace=fastsdt-trace bpftrace='' gdb=''
! attachable || trace="${as_user[*]} fastsdt-trace"
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || ! have bpftrace || bpftrace=bpftrace
[ "$(id -u)" != 0 ] || ! have gdb || gdb=gdb
"$python" -B "$FASTSDT_SOURCE/tests/probes/tracers.py" 12 "${as_user[*]}" "$trace" "$bpftrace" "$gdb" "$python" -B "$PWD/target.py"

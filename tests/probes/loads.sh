#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Providers that are loaded, fired and freed while somebody traces: fastsdt-trace misses no hit, bpftrace and the kernel's uprobes do no harm, and
# what is freed may be watched. In memory and in a file.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
. "$FASTSDT_SOURCE/tests/probes/common.sh"
need_attachable
user_folder
cp "$library/libfastsdt-probes.so.0" .
gcc -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$here/loads.c" -o loads -L"$library" -lfastsdt-probes -lpthread -Wl,-rpath,"$PWD"
chmod 777 .
export TMPDIR=$PWD
say() { # COMMAND ACTIVE: whether the last provider's probe is traced
    local answer
    echo "$1" >&3 && read -r answer <&4 && expect "$where: $1" "$answer" "did $2"
}
for where in memory file; do
    mkdir $where && cd $where && chmod 777 .
    cp ../loads .
    driven ./loads $where
    until [ -e /proc/$pid/fd/0 ] && say hit 0; do [ -d /proc/$pid ]; done
    attach 'usdt:*:shop:order { @n = count(); @ids = sum(arg0); }'
    say hit 1    # 10 hits
    say 50 1     # 500, each of an object that comes and goes
    say "4x 25" 1 # 1,000
    say keep 1
    say hit 1 # 20
    say free 1
    say hit 1   # 10
    say keep 1
    say fork 1 # 20 in a child, which is not followed; those of its own provider nobody sees
    say hit 1  # 20
    kill -INT "$tracer"
    report
    matches -x 'fastsdt-trace: 20 hits of forked children were not counted; --follow counts them' <err ||
        fail "$where: status $status: $(cat maps err)"
    expect "$where: hits" "$(grep -E '^@(n|ids):' maps)" "@ids: 7020
@n: 1560"
    say hit 0
    # Again, and freed while armed: the tracer ends after what it traced has gone.
    attach 'usdt:*:shop:order { @n = count(); }'
    say hit 1
    say free 1
    exec 3>&-
    report
    grep -qx '@n: 20' maps || fail "$where: freed while traced: status $status, $(cat maps err)"
    wait "$pid" || fail "$where: the program: status $?"
    if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have bpftrace; then
        rm -f in answers report
        driven ./loads $where
        say hit 0
        bpftrace -p "$pid" -e 'interval:ms:10 { printf("armed\n"); } usdt:*:shop:order { @n = count(); }' >report 2>err 3>&- 4<&- &
        tracer=$!
        exec 5<report
        read -r <&5 # how many probes it attaches
        armed
        say hit 1
        say 50 1 # comes and goes beside it
        say keep 0 # bpftrace looks for probes at its start
        say free 0 # what it watches goes
        say hit 0
        kill -INT "$tracer"
        report
        matches -x '@n: 10' <maps || fail "$where: bpftrace: $(cat maps err)"
        exec 3>&-
        wait "$pid" || fail "$where: the program under bpftrace: status $?"
    fi
    cd ..
done

#!/bin/bash
# Scripts that people have run as they are: bpftrace's own tools for programs, of the package that is installed. What they say is compared
# with what the programs did. Then config's missing_probes, as bpftrace's newer versions of these tools have it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable

tool() { # NAME: its text, or nothing
    local file
    file=$(command -v "$1.bt") && echo "$file"
}
# run TOOL COMMAND...: what it prints is in out, what the command prints in theirs
run() {
    status=0
    fastsdt-trace -o out "$@" >theirs 2>err </dev/null || status=$?
}
python=$(python3 -c 'import sys; print(sys.executable)')

# Names that are looked up, with the process that does.
cat >names.py <<'END_PY'
import os, socket
print(os.getpid(), open("/proc/self/comm").read(), end="")
socket.getaddrinfo("localhost", 80)
socket.getaddrinfo("127.0.0.2", 80)
END_PY
if tool=$(tool gethostlatency); then
    run "$tool" -- "$python" names.py
    expect "gethostlatency: status" "$status $(grep -v '^fastsdt-trace: engine user' err)" "0 "
    expect "gethostlatency" "$(awk '/^[0-9][0-9]:/ { print $2, $3, $5 }' out)" "$(cat theirs) localhost
$(cat theirs) 127.0.0.2"
fi

# Lines that somebody types into bash; the end of its input is an empty one.
if tool=$(tool bashreadline) && have expect; then
    typed_into_bash
    run "$tool" -- expect -f types.exp
    expect "bashreadline: status" "$status $(grep -v -e '^fastsdt-trace: engine user' -e 'so far' err)" "0 "
    expect "bashreadline" "$(sed -n 's/^[0-9:]*  [0-9]* *//p' out)" "echo one
true two"
fi

# A request over TLS: what the client's SSL_read() returned are the bytes that it got.
cat >tls.sh <<'END_TLS'
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
openssl s_server -unix socket -key key.pem -cert cert.pem -www -naccept 1 -quiet &
until [ -S socket ]; do :; done
printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -unix socket -quiet 2>/dev/null
wait
END_TLS
if tool=$(tool sslsnoop) && have openssl; then
    run "$tool" -- bash tls.sh
    expect "sslsnoop: status" "$status $(grep -cv -e '^fastsdt-trace: engine user' -e 'nothing match' err)" "1 0" # names that this version has not
    client=$(awk '$5 == 18 && $6 == "SSL_write" { print $2 }' out)
    expect "sslsnoop: requests" "$(wc -w <<<"$client")" 1
    expect "sslsnoop: bytes" "$(awk -v t="$client" '$2 == t && $6 == "SSL_read" && $5 > 0 { sum += $5 } END { print sum }' out)" "$(wc -c <theirs)"
    rm -f socket
    run "$(tool ssllatency)" -- bash tls.sh
    expect "ssllatency" "$(sed -n 's/^\(@stat\[SSL_write\]: count [0-9]*\).*/\1/p' out)" "@stat[SSL_write]: count 1"
fi

# Threads, by the routine that they begin with. Where libpthread is a part of libc, the tool's newer version names both.
cat >threads.c <<'END_C'
#include <pthread.h>
void *routine(void *argument) { return argument; }
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; ++i) {
        pthread_create(&thread, 0, routine, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
END_C
gcc -O1 -rdynamic threads.c -o threads -lpthread
both='uprobe:libpthread:pthread_create, uprobe:libc:pthread_create, uprobe:libnothing:pthread_create { @[usym(arg2)] = count(); }'
for how in ignore warn error; do
    run -e "config = { missing_probes = $how } $both" -- ./threads
    expect "missing_probes = $how" "$status $(grep '^@' out) $(grep -c 'nothing matched uprobe:libnothing' err)" \
        "$([ $how = error ] && echo 1 || echo 0) @[routine]: 3 $([ $how = ignore ] && echo 0 || echo 1)"
done
run --dry-run -e "config = { missing_probes = ignore } $both" -- ./threads
expect "--dry-run of missing_probes = ignore" "$status $(grep 'nothing match' err)" "0 "
status=0
fastsdt-trace -e "config = { missing_probes = never } $both" -- ./threads >out 2>err || status=$?
expect "missing_probes = never" "$status $(sed -n 1p err)" '2 -e:1:12: error: missing_probes is error, warn or ignore, and not "never"'

#!/bin/bash
# mysqld_qslower, on the MariaDB that is installed: the queries of its own log of slow queries, none shorter than there.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
PATH=$PATH:/usr/sbin
server=$(command -v mariadbd) || skip "mariadbd is not installed"
. "$FASTSDT_SOURCE/tests/share/common.sh"
# A client: what it says first, and queries.
cat >client.py <<'END_PY'
import socket, struct, sys
server = socket.socket(socket.AF_UNIX)
server.connect("socket")
def packet():
    head = server.recv(4, socket.MSG_WAITALL)
    return server.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)
def send(data, number):
    server.sendall(len(data).to_bytes(3, "little") + bytes([number]) + data)
packet()
send(struct.pack("<IIB23x", 0x8201, 1 << 24, 33) + b"root\0\0", 1)  # with passwords, version 4.1
assert packet()[0] == 0
for query in "select 41, sleep(0.01)", "select 42, 'a query that is longer than the strings of a script are'":
    send(b"\3" + query.encode(), 0)
    ends = 0
    while ends < 2:  # the columns, the rows
        ends += packet()[0] == 0xfe
send(b"\1", 0)
END_PY
cat >server.sh <<END_SH
rm -rf data; mkdir data
"$server" --no-defaults --datadir="$PWD/data" --lc-messages-dir="$(dirname "$(dirname "$(readlink -f "$server")")")/share/mysql" --skip-grant-tables \
    --skip-networking --innodb=OFF --default-storage-engine=MyISAM --default-tmp-storage-engine=MyISAM --socket="$PWD/socket" --pid-file="$PWD/pid" \
    --slow-query-log=1 --long-query-time=0 --slow-query-log-file="$PWD/slow.log" 2>server.log &
server=\$!
until [ -S socket ]; do kill -0 \$server || exit 1; done
END_SH
cat >check.py <<'END_PY'
import re, sys
least = float(sys.argv[1])
log = [(float(s) * 1000, q[:63]) for s, q in re.findall(r"^# Query_time: ([\d.]+) (?:.*\n)+?(select .*);$", open("slow.log").read(), re.M)]
got = [(float(ms), q) for ms, q in re.findall(r"^\d\d:\S+ +\d+ +\d+ +([\d.]+) (.*)$", open("out").read(), re.M)]
if any(ms < least for ms, _ in got):
    sys.exit(f"less than {least} ms: {got}")
if least:  # others may have taken as long
    log, got = [[line for line in lines if "sleep" in line[1]] for lines in (log, got)]
if len(log) != (1 if least else 2) or [q for _, q in log] != [q for _, q in got] or any(g[0] < l[0] for l, g in zip(log, got)):
    sys.exit(f"log: {log}\nmysqld_qslower: {got}\n{open('err').read()}")
END_PY
echo '. ./server.sh; /usr/bin/python3 client.py; kill $server; wait $server' >all.sh
for ms in 0 10; do
    rm -f slow.log
    traced mysqld_qslower.bt --read-memory -- --ms=$ms -- sh all.sh
    python3 check.py $ms || fail "mysqld_qslower --ms=$ms"
done

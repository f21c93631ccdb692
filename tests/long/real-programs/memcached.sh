# SPDX-License-Identifier: BSD-2-Clause
package=memcached provider=memcached_dtrace.d file=memcached
in_tree=1 # its rules for dtrace know no other folder. Needs libevent-dev
tests_are="20 of its test files, by prove"
configure() { # clang 19 with -pedantic warns of the macros of systemtap's header, and -Werror makes that an error
    ./configure -C --enable-dtrace --disable-docs && sed -i "/^CFLAGS = /s/ -Werror//" Makefile
}
build() { make memcached_dtrace.h && make -j"$jobs" memcached; }
recompile() { make "$@"; }
own_tests() {
    local t=(00-startup cas flags flush-all getandtouch getset incrdecr issue_14 issue_163 issue_29 issue_41 issue_42 issue_50 line-lengths
        metaget noreply
        touch unixsocket whitespace stats-detail)
    make -j"$jobs" sizes timedrun >/dev/null 2>&1 || true
    t=("${t[@]/#/t/}")
    prove "${t[@]/%/.t}" 2>&1 | sed -n 's/^\(t[^ ]*\) \.\.* */\1 /p' | sort # "t/cas.t ok"
}
# 200 gets of one key and 100 of another, and 5 sets. The program's own statistics have to say the same.
live_setup() {
    live_probe=memcached:command__get live_argument=arg1 live_value=twice live_count=200
    live_more_probe=memcached:command__set live_more_count=5
    live_command=(./memcached -A -t 1 -s "$PWD/live.socket" -u root)
    cat >live.py <<'END'
import socket, sys, time
while True:  # gdb starts the program after this
    try:
        server = socket.socket(socket.AF_UNIX)
        server.connect("live.socket")
        break
    except OSError:
        time.sleep(0.05)
lines = server.makefile("rb")
def ask(text, end):
    server.sendall(text.encode())
    got = []
    while not got or got[-1] != end.encode() + b"\r\n":
        got.append(lines.readline())
    return got
for i in range(5):
    ask("set %s 0 0 1\r\n7\r\n" % ("twice" if i < 3 else "other"), "STORED")
for i in range(200):
    ask("get twice\r\n", "END")
    if i % 2:
        ask("get other\r\n", "END")
said = dict(line.split()[1:3] for line in ask("stats\r\n", "END")[:-1])
open("statistics", "w").write("%d %d" % (int(said[b"cmd_get"]) - 100, int(said[b"cmd_set"])))
server.sendall(b"shutdown\r\n")
END
    live_input() { rm -f statistics; python3 live.py >&2 7>&- & }
    live_statistics() { cat statistics; }
}

# SPDX-License-Identifier: BSD-2-Clause
package=python3.11 provider=Include/pydtrace.d file=python
tests_are="12 modules of its test package, test_dtrace among them"
configure() { "$source/configure" -C OPT=-DNDEBUG --with-dtrace --disable-test-modules --without-ensurepip; }
build() { make -j"$jobs" CC="$CC"; }
recompile() { make CC="$CC" "$@"; }
own_tests() {
    ./python -m test -w -j2 test_dtrace test_gc test_functools test_generators test_list test_dict test_import test_class test_json test_re \
        test_math test_sys_settrace 2>&1 |
        grep -E '^test_|^[0-9]+ tests? |^Tests result|^  *test_' | sed 's/ (.*//; s/^ *//' | sort
}
live_setup() {
    live_probe=python:function__entry live_argument=arg1 live_value=fib live_count=465
    live_more_probe=python:gc__start live_more_count=7
    live_command=(./python live.py)
    cat >live.py <<'PYTHON'
import gc, os, sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
gc.disable()
sys.settrace(lambda frame, event, arg: None)  # 3.11 passes function__entry only while somebody traces (ceval.c, DO_TRACING)
sys.stdin.readline()
fib(12)
for i in range(7):
    gc.collect()
os._exit(0)  # at its end the interpreter collects too
PYTHON
}

#!/bin/bash
# The package in python/: pip installs it from a checkout without a network, and what it says is what the program, the C header and bpftrace say.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/trace_h.sh"
. "$FASTSDT_SOURCE/tests/python/common.sh"
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o hello
# A bound of 16 bytes: no site lies where a program cannot arm it itself.
gcc -O2 -DFASTSDT_BOUND=4 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/python/shop.c" -o shop
for copy in libshop.so liblate.so; do
    gcc -O2 -DFASTSDT_BOUND=4 -fPIC -shared -I"$INCLUDE" "$FASTSDT_SOURCE/tests/python/shop.c" -o $copy
done

gcc -O2 -fno-omit-frame-pointer "$FASTSDT_SOURCE/tests/engine/plain.c" -o plain

trace_h header.txt

# What bpftrace prints of the same program: all kinds of maps, which it prints by their names.
cat >script.bt <<'END'
usdt:./shop:shop:order { @a[arg0] = avg(arg1); @c[arg0] = count(); @h = hist(arg1); @k[arg0] = hist(arg1); @l = lhist(arg1, 0, 300, 100); @last = arg1;
@max = max(arg1); @min = min(arg1 + 5); @n = count(); @s[str(arg2), arg0] = sum(arg1); @st[arg0] = stats(arg1); @text[arg0] = str(arg2); }
END
rm -f bpftrace.txt
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have bpftrace; then
    bpftrace -c './shop 1000' script.bt 2>bpftrace.err >bpftrace.out || fail "bpftrace: $(cat bpftrace.err bpftrace.out)"
    sed -e '/^Attaching/d; /^$/d; s/: $/:/' bpftrace.out >bpftrace.txt
fi

"$python" -B "$FASTSDT_SOURCE/tests/python/tracing.py"
if [ -e profile.pb.gz ] && have go && go tool pprof -raw profile.pb.gz >raw 2>errors; then
    expect "pprof" "$(sed -n '/^Samples:/{n;p}' raw) $(grep -c ' work ' raw)" "hits/count two/count[dflt] 1"
fi
if [ -e flame.html ] && have chromium; then
    PYTHONPATH=$FASTSDT_SOURCE/tests/engine python3 -B "$FASTSDT_SOURCE/tests/python/flame.py" flame.html
fi
"$python" -B "$FASTSDT_SOURCE/tests/python/readme.py" "$FASTSDT_SOURCE/python/README.md"

# Types: of the package, and of a program that uses it.
if have mypy; then
    mypy --cache-dir mypy --config-file "$FASTSDT_SOURCE/python/pyproject.toml" "$FASTSDT_SOURCE/python/fastsdt" >mypy.log ||
        fail "mypy: $(cat mypy.log)"
    cat >typed.py <<'END'
from typing import List
import fastsdt
with fastsdt.trace("usdt:*:shop:order { @ = hist(arg0); }", pid=1) as t:
    maps: fastsdt.Maps = t.maps
    events: List[fastsdt.Event] = t.events()
    t.clear("@")
    t.clear(5)  # wrong
    armed: str = t.sites[0].armed  # wrong
    fastsdt.trace("", 1, True)  # wrong
END
    ! mypy --cache-dir mypy --strict --python-executable "$python" typed.py >mypy.log || fail "mypy: no error"
    expect "lines with type errors" "$(sed -n 's/^typed.py:\([0-9]*\): error:.*/\1/p' mypy.log)" "$(grep -n '# wrong' typed.py | cut -d: -f1)"
else
    echo "mypy is not installed"
fi

# What scripts/release.sh gives to auditwheel: libraries of one platform.
env -u PYTHONWARNINGS "$python" -m pip wheel --no-index --no-build-isolation --no-deps -w wheels ./source/python >pip.log 2>&1 ||
    fail "pip wheel: $(cat pip.log)"
python3 -m zipfile -l wheels/*.whl >files
grep -q '^fastsdt/libfastsdt-trace\.so\.0 ' files || fail "the wheel has its libraries elsewhere: $(cat files)"

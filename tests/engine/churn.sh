#!/bin/bash
# Programs in which threads, children, libraries, signals and exceptions come and go are traced again and again, by tracers of which many are
# killed, or nobody reads what they say; then they are as they were (churn.c, churn_throws.cpp, churn.py). tests/long/soak.sh does it for an hour,
# with more than 1 GiB of memory and a Go program (churn.go) besides.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc g++ python3
cat >churnlib.c <<'END'
#include <fastsdt.h>
long run(long n)
{
    long sum = 0;
    for (int i = 0; i < 7; ++i) {
        sum += n;
        FASTSDT(churnlib, run, i, sum);
    }
    return sum;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC churnlib.c -o churnlib.so
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/churn.c" -o churn -lpthread -ldl
g++ -O2 "$FASTSDT_SOURCE/tests/engine/churn_throws.cpp" -o throws -lpthread
case ${FASTSDT_CHURN:-} in *s) have go && need_go && go build -o goes "$FASTSDT_SOURCE/tests/engine/churn.go" ;; esac
"$FASTSDT_SOURCE/tests/engine/churn.py" "${FASTSDT_CHURN:-20}" "${FASTSDT_CHURN_SEED:-1}"

#!/bin/bash
# A program in which threads, children, libraries and signals come and go is traced again and again, by tracers of which many are killed;
# then it is as it was (churn.c, churn.py). tests/long/soak.sh does it for an hour.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
export PYTHONDONTWRITEBYTECODE=1 # traced.py is a module in the sources
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
"$FASTSDT_SOURCE/tests/engine/churn.py" "${FASTSDT_CHURN:-40}" "${FASTSDT_CHURN_SEED:-1}"

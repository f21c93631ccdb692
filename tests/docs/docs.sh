#!/bin/bash
# Every code block of README, docs and man pages is run, or names what runs it; every path and every link leads somewhere.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc g++ python3 readelf
[ -x "$FASTSDT_BUILD/bin/fastsdt-check" ] || skip "the tools are not built"
python3 -B "$FASTSDT_SOURCE/tests/docs/docs.py" "$FASTSDT_SOURCE" "$FASTSDT_BUILD"

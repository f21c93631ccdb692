#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# PyPI's stapsdt, as it is, over our libstapsdt.so.0.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
. "$FASTSDT_SOURCE/tests/probes/common.sh"
python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"
user_folder
timeout 120 python3 -m pip install --quiet --no-deps --target . stapsdt >pip.log 2>&1 || { cat pip.log && skip "pip does not get stapsdt"; }
cp "$library"/stapsdt/libstapsdt.so* "$here/stapsdt_target.py" .
chmod -R a+rX .
tracers 6 env LD_LIBRARY_PATH="$PWD" PYTHONPATH="$PWD" python3 -B "$PWD/stapsdt_target.py"

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Node over our libraries by npm's koffi. npm has no usdt, the wrapper of libstapsdt for Node: 404.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need node npm python3
. "$FASTSDT_SOURCE/tests/probes/common.sh"
user_folder
timeout 120 npm install --no-save --no-audit --no-fund --prefix . koffi >npm.log 2>&1 || skip "npm does not get koffi: $(tail -n 1 npm.log)"
cp "$library/stapsdt/libstapsdt.so.0" "$library/libfastsdt-probes.so.0" "$here/stapsdt_target.js" .
chmod -R a+rX .
tracers 6 env LD_LIBRARY_PATH="$PWD" node "$PWD/stapsdt_target.js" stapsdt
tracers 12 env LD_LIBRARY_PATH="$PWD" node "$PWD/stapsdt_target.js" probes

# The example of docs/runtime-probes.md.
example js >example.js
counts 1000 env LD_LIBRARY_PATH="$PWD" node "$PWD/example.js"

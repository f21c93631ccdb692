#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Go over our libstapsdt.so.0, as the wrapper salp calls it. salp itself: its module is not on the proxy, and Go 1.26 refuses its source (methods of
# cgo's types).
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_go
. "$FASTSDT_SOURCE/tests/probes/common.sh"
user_folder
cp "$library"/stapsdt/libstapsdt.so* .
cp "$here/stapsdt_target.go" main.go
export CGO_CFLAGS=-I$INCLUDE/fastsdt/stapsdt CGO_LDFLAGS=-L$PWD CGO_ENABLED=1 GOTOOLCHAIN=local
go build -o target main.go || fail "go build"
chmod -R a+rX .
tracers 6 env LD_LIBRARY_PATH="$PWD" ./target

# The example of docs/runtime-probes.md.
cp "$library"/libfastsdt-probes.so* .
example go >example.go
CGO_CFLAGS=-I$INCLUDE go build -o example example.go || fail "go build of the example"
chmod a+rx example
counts 1000 env LD_LIBRARY_PATH="$PWD" ./example

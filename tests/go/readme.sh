#!/bin/bash
# go/fastsdt/README.md: its program, and what its commands print.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/go/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need_attachable
rm -rf home && mkdir -p home/bin home/work
export HOME=$PWD/home PATH=$PWD/home/bin:$PATH
rm bin/fastsdt-gen # the page builds it
ln -s "$FASTSDT_SOURCE" home/fastsdt
page=$FASTSDT_SOURCE/go/fastsdt/README.md
cd home/work
printf 'module shop\n\ngo 1.19\n' >go.mod
sed -n '/^```go$/,/^```$/p' "$page" | sed '1d;$d' >main.go
sed -n '/^```console$/,/^```$/p' "$page" | sed '1d;$d' >console
grep '^\$ ' console | sed 's/^\$ //' >commands
[ "$(wc -l <commands)" = 4 ] || fail "not the commands that were there: $(cat commands)"
grep -v '^\$ ' console >shown
bash -e commands >printed 2>err || fail "status $?: $(cat err printed)"
diff shown printed || fail "(< shown, > printed)"

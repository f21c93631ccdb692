#!/bin/bash
# docs/go.md, as an ordinary user.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need go /usr/bin/python3 setpriv
need_attachable
[[ $(go version) = *' go1.26'* ]] || skip "the page shows Go 1.26"
[ "$(uname -m)" = x86_64 ] || skip "the user engine has Go on x86-64"
user_folder
cp "$FASTSDT_SOURCE/tests/docs/go.py" "$FASTSDT_SOURCE/docs/go.md" "$(command -v fastsdt-trace)" .
PATH=$PWD:$PATH
export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOTOOLCHAIN=local HOME=$PWD
[ ${#as_user[@]} = 0 ] || chown 65534:65534 .
"${as_user[@]}" /usr/bin/python3 -B go.py go.md || fail "see above"

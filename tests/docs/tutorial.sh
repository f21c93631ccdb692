#!/bin/bash
# docs/tutorial.md, as an ordinary user.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need redis-server redis-cli nm /usr/bin/python3 setpriv
need_attachable
[[ $(redis-server --version) = *' v=7.0.'* ]] || skip "the tutorial shows Redis 7.0"
user_folder
# The sources and the build may be where only root can read.
cp "$FASTSDT_SOURCE/tests/docs/tutorial.py" "$FASTSDT_SOURCE/docs/tutorial.md" "$(command -v fastsdt-trace)" .
PATH=$PWD:$PATH
[ ${#as_user[@]} = 0 ] || chown 65534:65534 .
trap '[ ! -s redis.pid ] || kill "$(cat redis.pid)" 2>/dev/null || true; leave_user_folder' EXIT
"${as_user[@]}" /usr/bin/python3 -B tutorial.py tutorial.md || fail "see above"

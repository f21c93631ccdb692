#!/bin/bash
# No file over 800 lines, no function over 80 (sizes.py).
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
sizes=$FASTSDT_SOURCE/tests/scripts/sizes.py
python3 "$sizes" "$FASTSDT_SOURCE" >log 2>&1 || fail "$(cat log)"
# It can fail, by one line each; what is as long as it may be passes.
rm -rf tree && mkdir -p tree/engine/code tree/lib
function_of() { # LINES INDENTATION: with that many in its body
    printf '%sint f()\n%s{\n' "$2" "$2"
    for ((i = 0; i < $1; ++i)); do echo "$2    ;"; done
    printf '%s}\n' "$2"
}
function_of 80 '' >tree/engine/code/a.cpp
{ echo 'struct s {' && function_of 80 '    ' && echo '};'; } >tree/lib/b.h
for ((i = 0; i < 800; ++i)); do echo; done >tree/lib/c.cpp
python3 "$sizes" tree >log 2>&1 || fail "as long as they may be: $(cat log)"
function_of 81 '' >tree/engine/code/a.cpp
{ echo 'struct s {' && function_of 81 '    ' && echo '};'; } >tree/lib/b.h
echo >>tree/lib/c.cpp
if python3 "$sizes" tree >log 2>&1; then fail "what is too long passes"; fi
expect "what is too long" "$(sed 's/;.*//' log)" 'engine/code/a.cpp:1: a function of 81 lines
lib/b.h:2: a function of 81 lines
lib/c.cpp: 801 lines'

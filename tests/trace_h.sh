# Sourced after tests/common.sh by tests of what is written in other languages: the numbers and structures of fastsdt/trace.h as C has them.

# trace_h FILE: a line each: "FASTSDT_TRACE_COUNT 1", "map SIZE", "map.keys OFFSET".
trace_h() {
    local header=$INCLUDE/fastsdt/trace.h type field
    {
        printf '#include <fastsdt/trace.h>\n#include <stdio.h>\nint main(void) {\n'
        sed -n 's/^#define \(FASTSDT_TRACE_[A-Z_]*\) [0-9].*/printf("\1 %d\\n", \1);/p' "$header"
        for type in error options site map value entry event; do
            echo "printf(\"$type %zu\\n\", sizeof(fastsdt_trace_$type));"
            sed -n "/^typedef struct fastsdt_trace_$type {/,/^}/p" "$header" | sed '1d;$d;s,/\*.*,,' | tr -s ';,' '\n\n' |
                sed -n 's/.*[ *]\([a-z_]*\)\(\[[0-9]*\]\)\{0,1\}$/\1/p' | while read -r field; do
                [ -z "$field" ] || echo "printf(\"$type.$field %zu\\n\", __builtin_offsetof(fastsdt_trace_$type, $field));"
            done
        done
        printf 'return 0; }\n'
    } >header.c
    gcc -I"$INCLUDE" header.c -o header
    ./header >"$1"
    [ "$(wc -l <"$1")" -gt 70 ] || fail "the header was not read: $(cat "$1")"
}

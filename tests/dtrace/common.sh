# Sourced by the tests of dtrace after tests/common.sh.
need gcc readelf nm
dtrace=$FASTSDT_BUILD/bin/fastsdt-dtrace
here=$FASTSDT_SOURCE/tests/dtrace
# systemtap's script, if it is installed: a program called dtrace may be ours.
peer=
for file in /usr/bin/dtrace "$(command -v dtrace || true)"; do
    [ -n "$peer" ] || [ ! -e "$file" ] || ! head -c 20 "$file" | matches -a python || peer=$file
done
# macros HEADER: NAME(number of parameters) of each probe.
macros() {
    sed -n 's/^#define \([A-Za-z0-9_$]*\)(\([^)]*\)) *\\$/\1 \2/p' "$1" | awk '{ gsub(/,/, ""); print $1 "(" NF - 1 ")" }' | sort
}
# notes BINARY: provider:name, arguments and the symbol of the semaphore of each site.
notes() {
    { nm "$1"; readelf -nW "$1"; } | awk '
        NF == 3 && $2 ~ /^[A-Za-z]$/ { symbol[$1] = $3 }
        /Provider: / { provider = $NF }
        $1 == "Name:" { name = $2 }
        $1 == "Location:" { sema = substr($NF, 3); sema = sema ~ /[^0]/ ? symbol[sema] : "-" }
        $1 == "Arguments:" { sub(/^ *Arguments: */, ""); print provider ":" name " [" $0 "] " sema }' | sort -u
}
# calls HEADER: a C program that passes each probe, with arguments of several sizes and signs.
calls() {
    printf '#include "%s"\nint main(void) {\nvolatile int on = 0;\n(void)on;\n' "$1"
    # The macro of a probe goes on in the next line.
    sed -n 's/^#define \([A-Za-z0-9_$]*\)() .*[^\\]$/\1 enabled/p; s/^#define \([A-Za-z0-9_$]*\)(\([^)]*\)) *\\$/\1 \2/p' "$1" | awk '
        BEGIN { split("(signed char)1|2L|3u|(void *)4|(unsigned short)5", value, "|") }
        $2 == "enabled" { print "if (" $1 "()) on = 1;"; next }
        { gsub(/,/, ""); list = ""; for (i = 1; i < NF; i++) list = list (i > 1 ? ", " : "") value[(i - 1) % 5 + 1]; print $1 "(" list ");" }'
    printf 'return 0; }\n'
}
# where_sdt DIR: systemtap's own sys/sdt.h alone in DIR; fails without.
where_sdt() {
    local file
    for file in /usr/include/sys/sdt.h /usr/include/"$(gcc -print-multiarch)"/sys/sdt.h; do
        [ -e "$file" ] || continue
        mkdir -p "$1/sys"
        cp "$file" "$(dirname "$file")/sdt-config.h" "$1/sys/"
        ! grep -q fastsdt "$1/sys/sdt.h" || return 1
        return 0
    done
    return 1
}

# Sourced by the scripts of this folder after tests/common.sh: where the libraries are, and the tracers that can be tried here, for tracers.py.
library=$FASTSDT_BUILD/lib
[ -e "$library/libfastsdt-probes.so" ] || skip "libfastsdt-probes is not built"
here=$FASTSDT_SOURCE/tests/probes
# The compiler's -std=c99 has no fork(): its own dialect has.
compile() { gcc -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$@" -L"$library" -lfastsdt-probes -Wl,-rpath,"$library" -lpthread; }
# tracers ARGUMENTS TARGET...: the program under each tracer that is there; as an ordinary user, if fastsdt-trace can be one.
tracers() {
    local trace=fastsdt-trace bpftrace='' gdb=''
    ! attachable || trace="${as_user[*]} fastsdt-trace"
    [ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || ! have bpftrace || bpftrace=bpftrace
    [ "$(id -u)" != 0 ] || ! have gdb || gdb=gdb
    python3 -B "$here/tracers.py" "$1" "${as_user[*]}" "$trace" "$bpftrace" "$gdb" "${@:2}"
}
# example LANGUAGE: the block of docs/runtime-probes.md in this language.
example() {
    awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } $0 == "```" { on = 0 } on' "$FASTSDT_SOURCE/docs/runtime-probes.md" | grep '' ||
        fail "docs/runtime-probes.md has no block in $1"
}
# counts N COMMAND...: fastsdt-trace starts the program, and counts N hits of shop:order with id 0 to N - 1.
counts() {
    local n=$1
    shift
    attachable || return 0
    "${as_user[@]}" fastsdt-trace --engine user --read-memory \
        -e 'usdt:*:shop:order { @n = count(); @ids = sum(args.id); @cents = max(args.cents); }' -- "$@" >said 2>err ||
        fail "$*: $(cat said err)"
    expect "$*" "$(grep '^@' said)" "@cents: 250
@ids: $((n * (n - 1) / 2))
@n: $n"
}

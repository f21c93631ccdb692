#!/bin/bash
# The crate in rust/: sites and notes are those of fastsdt.h, readers and tracers find them, dead functions take theirs along.
. "$FASTSDT_SOURCE/tests/common.sh"
need cargo rustc readelf gcc
rust=$(rustc --version | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
[ "$(printf '%s\n' 1.82 "$rust" | sort -V | sed -n 1p)" = 1.82 ] || skip "the crate needs Rust 1.82, this is $rust"
check=$FASTSDT_BUILD/bin/fastsdt-check
rm -rf crate
cp -r "$FASTSDT_SOURCE/rust" crate
export CARGO_HOME=$PWD/cargo-home CARGO_TARGET_DIR=$PWD/target CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
build() { (cd crate && cargo build --quiet "$@") || fail "cargo build $*"; }
# NAME, sizes and signs of the arguments, one line per site.
probes() {
    readelf -nW "$1" |
        awk '/^ *Name: / { name = $2 } /^ *Arguments:/ { sub(/^ *Arguments: */, ""); gsub(/@[^ ]*/, ""); print name ": " $0 }' | sort
}
expected="all: -1 1 -2 2 -4 4 -8 8 1 4 8 8
open: 
order: -4 8 -8
slow: -8"

mkdir -p crate/examples
cat >crate/examples/dead.rs <<'END'
//! Linked with functions that nobody calls, and with copies of one that is generic and inline.
use fastsdt::fastsdt;
#[inline(always)]
fn twice<T: fastsdt::Arg + Copy>(x: T) { fastsdt!(dead, inlined, x); }
pub fn never(x: i32) { fastsdt!(dead, never, x); }
#[no_mangle]
pub extern "C" fn never_exported(x: i32) { fastsdt!(dead, never, x); }
fn main() { twice(1i32); twice(2u64); twice(3i32); }
END
for profile in "" --release; do
    build $profile --examples
    dir=target/debug/examples
    [ -z "$profile" ] || dir=target/release/examples
    expect "probes, $profile" "$(probes $dir/shop)" "$expected"
    expect "probes of dead functions, $profile" "$(probes $dir/dead | sort -u)" $'inlined: -4\ninlined: 8'
    for file in shop dead; do
        "$check" --fail-on warning $dir/$file >check.log || fail "fastsdt-check $file $profile"$'\n'"$(cat check.log)"
    done
done
shop=target/release/examples/shop

# The same bytes and the same layout note as of a C program.
cat >same.c <<'END'
#include "fastsdt.h"
int main(int argc, char **argv) { FASTSDT(shop, order, argc, argv, 3L); return 0; }
END
gcc -O2 -I"$INCLUDE" same.c -o same
layout() {
    "$check" --json --no-lines "$1" | python3 -c '
import json, sys
for p in json.load(sys.stdin)["files"][0]["probes"]:
    if p["name"] == "order": print(p["bytes"][:22], sorted(p["layout_note"].items()))'
}
expect "site and layout note" "$(layout $shop)" "$(layout same)"
[ -n "$(layout same)" ] || fail "no site to compare with"

# Switched off.
build --release --features disable --example shop
expect "switched off" "$(probes $shop)" ""
expect "switched off, still runs" "$($shop 4)" 996
build --release --example shop

# What it does not take.
mkdir -p crate/src/bin
for line in 'fastsdt!(p, n, 1,2,3,4,5,6,7,8,9,10,11,12,13)#at most 12 arguments' 'fastsdt!(p, n, String::new())#Arg'; do
    printf 'use fastsdt::fastsdt;\nfn main() { %s; }\n' "${line%#*}" >crate/src/bin/wrong.rs
    ! (cd crate && cargo build --quiet --bin wrong) 2>log || fail "${line%#*} compiles"
    matches "${line#*#}" <log || fail "${line%#*}: $(cat log)"
done
rm -r crate/src/bin

# arm64, where rustup has its library.
tried=x86_64
if [ -d "$(rustc --print target-libdir --target aarch64-unknown-linux-gnu 2>/dev/null)" ] && have aarch64-linux-gnu-gcc; then
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    build --release --target aarch64-unknown-linux-gnu --examples
    arm=target/aarch64-unknown-linux-gnu/release/examples
    expect "probes, arm64" "$(probes $arm/shop)" "$expected"
    expect "probes of dead functions, arm64" "$(probes $arm/dead | sort -u)" $'inlined: -4\ninlined: 8'
    "$check" --fail-on error $arm/shop >check.log || fail "fastsdt-check, arm64"$'\n'"$(cat check.log)"
    if have aarch64-linux-gnu-gcc && aarch64-linux-gnu-gcc -O2 -I"$INCLUDE" same.c -o same-arm; then
        expect "site and layout note, arm64" "$(layout $arm/shop)" "$(layout same-arm)"
    fi
    ! have qemu-aarch64 || expect "arm64 runs" "$(qemu-aarch64 -L /usr/aarch64-linux-gnu $arm/shop 4)" 996
    tried="$tried arm64"
fi

# Live: hits, arguments, and a semaphore that opens the slow part.
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have bpftrace; then
    cat >trace.bt <<END
usdt:$PWD/$shop:shop:order { @hits = count(); @ids = sum(arg0); @names[str(arg1)] = count(); @cents = sum(arg2); }
usdt:$PWD/$shop:shop:slow { @slow = sum(arg0); }
usdt:$PWD/$shop:shop:all { @all = (int8)arg0; @fifth = (int32)arg4; }
END
    bpftrace -c "$PWD/$shop 100" trace.bt >trace.out 2>&1 || fail "bpftrace: $(cat trace.out)"
    for line in '@hits: 100' '@ids: 4950' '@names[tea]: 100' '@cents: 25000' '@slow: 166650' '@all: -1' '@fifth: -5'; do
        grep -Fqx "$line" trace.out || fail "no '$line': $(cat trace.out)"
    done
    tried="$tried, traced"
fi
echo "tried: $tried, Rust $rust"

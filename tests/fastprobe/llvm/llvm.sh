# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts of this folder, which have the arguments VERSION BINDIR PLUGIN.
. "$FASTSDT_SOURCE/tests/common.sh"
version=$1 bin=$2 plugin=$3 pass=${3%.so}-pass.so
filecheck=$(newest FileCheck)
need python3 "$filecheck"
[ -e "$plugin" ] && [ -e "$pass" ] || skip "$plugin was not built"
[ -x "$bin/clang" ] || skip "no clang in $bin"
clang() { "$bin/clang" "$@"; }
clangxx() { "$bin/clang++" "$@"; }
entries() { python3 "$FASTSDT_SOURCE/tests/fastprobe/entries.py" "$@"; }
# check FILE PREFIX < text: FileCheck's directives stand in FILE.
check() { "$filecheck" --check-prefix="$2" --input-file=/dev/stdin --dump-input=fail "$1"; }
no_strays() { # ELF WHAT
    entries "$1" >strays
    ! grep 'RECORD WITHOUT FUNCTION' strays || fail "$2: a record points at no function"
}

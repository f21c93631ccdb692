# Sourced by the tests of real programs, after tests/common.sh.
peer=$(command -v dtrace) && [[ $(sed -n 1p "$peer") = *python* ]] || skip "systemtap's dtrace is not installed"
need dpkg-source
fetch() { # PACKAGE: `archives` is then the folder with its source package
    archives=$("$FASTSDT_SOURCE/scripts/common/debian-source.sh" "$1" 2>fetch.err) || skip "no source package $1: $(tail -n 1 fetch.err)"
}

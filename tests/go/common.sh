# Sourced by the scripts of this folder after tests/common.sh.
need python3 readelf
need_go
version=$(go env GOVERSION 2>/dev/null || true)
version=${version#go}
[ "$(printf '%s\n' 1.19 "$version" | sort -V | sed -n 1p)" = 1.19 ] || skip "the generator needs Go 1.19, this is $version"
export GOTOOLCHAIN=local GOPROXY=off GOWORK=off
unset GOPACKAGE GOOS GOARCH
mkdir -p bin
(cd "$FASTSDT_SOURCE/go/fastsdt" && go build -o "$OLDPWD/bin/fastsdt-gen" ./cmd/fastsdt-gen) || fail "go cannot build fastsdt-gen"
PATH=$PWD/bin:$PATH
# package FOLDER FILE.go...: a module with these files, and its probes.
package() {
    local folder=$1
    shift
    rm -rf "$folder" && mkdir -p "$folder"
    cp "$@" "$folder"
    printf 'module %s\n\ngo 1.19\n' "$folder" >"$folder/go.mod"
    fastsdt-gen "$folder" || fail "fastsdt-gen $folder"
}
indexed=(-toolexec "fastsdt-index --toolexec")
# NAME and arguments, one line a site.
probes() {
    readelf -nW "$1" | awk '/^ *Name: / { name = $2 } /^ *Arguments:/ { sub(/^ *Arguments: */, ""); print name ": " $0 }' | sort
}

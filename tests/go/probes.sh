#!/bin/bash
# fastsdt-gen: what it generates, for each system that Go knows; and the notes that fastsdt-index makes of it, in each way of calling it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/go/common.sh"
case $(uname -m) in
x86_64) host=amd64 ;;
aarch64) host=arm64 ;;
*) skip "fastsdt-gen makes sites for x86-64 and arm64" ;;
esac
tried=$(go env GOVERSION)

# ---- The module: formatted, and what is committed of the example is what is generated.
(cd "$FASTSDT_SOURCE/go/fastsdt" && go vet ./...) || fail "go vet, the module"
if have gofmt; then
    expect "gofmt" "$(gofmt -l "$FASTSDT_SOURCE/go" "$FASTSDT_SOURCE/tests/go")" ""
fi
rm -rf example && mkdir example
cp "$FASTSDT_SOURCE"/go/fastsdt/example/main.go example
fastsdt-gen example
diff -r "$FASTSDT_SOURCE/go/fastsdt/example" example || fail "the example's files are not what is generated (< committed, > generated)"
# By //go:generate, in the module.
cp -r "$FASTSDT_SOURCE/go/fastsdt" generates.tmp && rm -rf generates && mv generates.tmp generates && rm generates/example/fastsdt_probes*
(cd generates/example && go generate .) || fail "go generate"
diff -r "$FASTSDT_SOURCE/go/fastsdt/example" generates/example || fail "go generate makes something else"
touch -d '2001-01-01' example/fastsdt_probes.go
fastsdt-gen example
expect "a file that is right is left alone" "$(date -r example/fastsdt_probes.go +%Y)" 2001

# ---- Sites, on this machine.
package shop "$FASTSDT_SOURCE/tests/go/shop.go"
cd shop
go vet . || fail "go vet"
[ $host != amd64 ] || expected="all: -1@%rax 1@%rbx -2@%rcx 2@%rdx -4@%rsi 4@%rdi -8@%r8 8@%r9 1@%r10 8@%r11 8@%r12 4@%r13
none: 
parts: 8@%rax -8@%rbx -1@%rcx 8@%rdx -8@%rsi 8@%rdi -4@%r8"
on_arm64="all: -1@x0 1@x1 -2@x2 2@x3 -4@x4 4@x5 -8@x6 8@x7 1@x8 8@x9 8@x10 4@x11
none: 
parts: 8@x0 -8@x1 -1@x2 8@x3 -8@x4 8@x5 -4@x6"
[ $host != arm64 ] || expected=$on_arm64
go build -o plain . || fail "go build"
expect "without fastsdt-index" "$(probes plain)" ""
cp plain after
fastsdt-index after >report || fail "fastsdt-index"
grep -q '3 probes noted that the code has' report || fail "$(cat report)"
go build "${indexed[@]}" -o linked . || fail "go build -toolexec"
go build "${indexed[@]}" -ldflags='-s -w' -o small . || fail "go build -toolexec, -s -w"
cp linked stripped
strip stripped 2>strip.log || fail "strip: $(cat strip.log)"
cp plain late
strip late
fastsdt-index -q late
files="after linked small stripped late"
if whole; then # each takes all packages once more
    go build "${indexed[@]}" -buildmode=pie -o pie . || fail "go build -buildmode=pie"
    files="$files pie"
    if have gcc; then
        CGO_ENABLED=1 go build "${indexed[@]}" -ldflags=-linkmode=external -o external . || fail "go build -linkmode=external"
        CGO_ENABLED=1 go build "${indexed[@]}" -buildmode=pie -ldflags=-linkmode=external -o external-pie . || fail "go build, PIE by ld"
        files="$files external external-pie"
    fi
    tried="$tried, in each way to link"
fi
for file in $files; do
    expect "$file: probes" "$(probes $file)" "$expected"
    fastsdt-check --fail-on warning $file >check.log || fail "$file: $(cat check.log)"
    expect "$file: optimized by Linux 7.2" "$(grep -c 'attach at +1: optimize' check.log)" $([ $host = amd64 ] && echo 3 || echo 0)
    grep -qF 'shop:parts(void *bytes, long bytes_len, signed char small, const char *text, long text_len, void *p, int r)' check.log ||
        fail "$file: $(cat check.log)"
    expect "$file: runs" "$(./$file 2>&1)" "done false"
    cp $file again
    fastsdt-index -q again
    cmp $file again || fail "$file: fastsdt-index changes it again"
done
expect "what strip says" "$(cat strip.log)" ""
# Its functions are found where the data is divided, too.
names_of() { fastsdt-check --functions --json "$1" |
    python3 -c 'import json, sys; print(*sorted(one["name"] for one in json.load(sys.stdin)["files"][0]["functions"]), sep="\n")'; }
go build -ldflags='-s -w' -o smaller .
names_of smaller >functions
grep -qx main.main functions || fail "functions of a program without symbols: $(cat functions)"
fastsdt-index -q smaller
names_of smaller >functions.indexed
diff functions functions.indexed || fail "functions after fastsdt-index (< before, > after)"
cp linked before
go build "${indexed[@]}" -o linked .
cmp before linked || fail "built again: another file"
expect "go run" "$(go run "${indexed[@]}" . 2>&1)" "done false"
if have gdb; then
    expect "gdb" "$(gdb -nx -q -batch -ex 'info probes stap shop' linked 2>/dev/null | awk '$1 == "stap" { print $3 }' | sort | xargs)" \
        "all none parts"
    tried="$tried, gdb"
fi

# The same bytes and the same layout note as of a C program; its flags depend on the function.
if have gcc; then
    cat >../same.c <<'END'
#include "fastsdt.h"
int main(int argc, char **argv) { FASTSDT(shop, all, argc, argv); return 0; }
END
    gcc -O2 -I"$INCLUDE" ../same.c -o ../same
    layout() {
        fastsdt-check --json --no-lines "$1" | python3 -c '
import json, sys
length = 22 if sys.argv[1] == "amd64" else 8
for p in json.load(sys.stdin)["files"][0]["probes"]:
    if p["name"] == "all": print(p["bytes"][:length], sorted((k, v) for k, v in p["layout_note"].items() if k not in ("flags_dead", "no_redzone")))' \
        $host
    }
    [ -n "$(layout ../same)" ] || fail "no site to compare with"
    expect "site and layout note" "$(layout linked)" "$(layout ../same)"
fi

# gccgo, which would not have its assembly: by what go list says that it would compile.
rm -rf ../gccgo && mkdir ../gccgo && cp *.go *.s ../gccgo
printf 'module example.org/shop\n\ngo 1.19\n' >../gccgo/go.mod
printf '#!/bin/sh\necho 10\n' >../gccgo/gccgo && chmod +x ../gccgo/gccgo
expect "gccgo" "$(cd ../gccgo && GCCGO=$PWD/gccgo go list -compiler gccgo -e -f '{{.GoFiles}} {{.SFiles}}' .)" "[fastsdt_probes_off.go shop.go] []"

# ---- Switched off, and other systems: the same program without sites.
go vet -tags fastsdt_off . || fail "go vet, off"
go build "${indexed[@]}" -tags fastsdt_off -o off . || fail "go build, off"
expect "off: probes" "$(probes off)" ""
expect "off: runs" "$(./off 2>&1)" "done false"
! go tool nm off | matches 'fastsdt' || fail "off: $(go tool nm off | grep fastsdt)"
sed 's/^package main/package library/; /^func main/,$d' shop.go >../library.go
sed -i '/^import/d; s/, p unsafe.Pointer//' ../library.go
cd ..
package library library.go
cd library
systems="linux/amd64 linux/arm64 windows/amd64" # each takes all packages once more
! whole || systems="$systems linux/riscv64 darwin/arm64 freebsd/amd64"
for system in $systems; do
    GOOS=${system%/*} GOARCH=${system#*/} go build "${indexed[@]}" . || fail "go build, $system"
    GOOS=${system%/*} GOARCH=${system#*/} go vet . || fail "go vet, $system"
done
cd ../shop

# ---- The other machine.
if [ $host = amd64 ]; then
    GOARCH=arm64 go build "${indexed[@]}" -o arm64 . || fail "go build, arm64"
    expect "arm64: probes" "$(probes arm64)" "$on_arm64"
    fastsdt-check --fail-on warning arm64 >check.log || fail "arm64: $(cat check.log)"
    if have qemu-aarch64; then
        expect "arm64: runs" "$(qemu-aarch64 ./arm64 2>&1)" "done false"
        tried="$tried, arm64"
    fi
fi
cd ..

# ---- What it does not take, and that nothing is written then.
rm -rf wrong && mkdir wrong
while IFS='|' read -r line said; do
    printf 'package wrong\n\n%s\n' "$(printf '%b' "$line")" >wrong/wrong.go
    status=0
    fastsdt-gen wrong 2>err || status=$?
    expect "$line: status ($(cat err))" $status 1
    grep -qF -- "$said" err || fail "$line: no '$said': $(cat err)"
    expect "$line: files" "$(ls wrong)" wrong.go
done <<'END'
//fastsdt:probe shop func f()|not a declaration
//fastsdt:probe shop:or-der func f()|not a declaration
//fastsdt:probe shop:order func f(int)|needs a name
//fastsdt:probe shop:order func f(_ int)|needs a name
//fastsdt:probe shop:order func f(a int) (b int)|no results
//fastsdt:probe shop:order func f(a int|not a declaration
//fastsdt:probe shop:order func f(a error)|the type error is unknown
//fastsdt:probe shop:order func f(a map[int]int)|pass the parts, or a pointer
//fastsdt:probe shop:order func f(a T)\ntype T struct{ a int }|pass the parts, or a pointer
//fastsdt:probe shop:order func f(a T)\ntype T T|the type T is unknown
//fastsdt:probe shop:order func f(a time.Duration)|the type of another package
//fastsdt:probe shop:order func f(a *http.Request)|pass an unsafe.Pointer
//fastsdt:probe shop:order func f(a string, a_len int)|two arguments are called a_len
//fastsdt:probe shop:order func f(atomic int)|choose another
//fastsdt:probe shop:order func f(a, b, c, d, e, g, h string)|at most 12
//fastsdt:probe shop:order func f()\n//fastsdt:probe shop:order func g()|declared twice
//fastsdt:probe shop:order func f()\n//fastsdt:probe shop:other func F()|but for upper and lower case
import "C"\n//fastsdt:probe shop:order func f()|without cgo
var a int|no probe is declared
END
grep -q '^fastsdt-gen: wrong: no probe' err || fail "where: $(cat err)"
printf 'package wrong\n\n//fastsdt:probe shop:order func f(a error)\n' >wrong/wrong.go
! fastsdt-gen wrong 2>err || fail "an error is taken"
grep -q '^fastsdt-gen: wrong/wrong.go:3:1: a: ' err || fail "where: $(cat err)"
echo "tried: $tried"

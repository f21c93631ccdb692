#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pass on IR files, whatever language they come from: opt, llc, and clang with -fpass-plugin.
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"

cat >a.ll <<'E'
; CHECK: @llvm.global.annotations = {{.*}}[1 x
target triple = "x86_64-unknown-linux-gnu"
@text1 = private unnamed_addr constant [16 x i8] c"fastprobe=nop10\00", section "llvm.metadata"
@text2 = private unnamed_addr constant [13 x i8] c"no_fastprobe\00", section "llvm.metadata"
@text3 = private unnamed_addr constant [6 x i8] c"other\00", section "llvm.metadata"
@text4 = private unnamed_addr constant [19 x i8] c"fastprobe_exit=nop\00", section "llvm.metadata"
@file = private unnamed_addr constant [4 x i8] c"a.c\00", section "llvm.metadata"
@llvm.global.annotations = appending global [4 x { i8*, i8*, i8*, i32, i8* }] [
  { i8*, i8*, i8*, i32, i8* } { i8* bitcast (i32 (i32)* @wish to i8*), i8* getelementptr inbounds ([16 x i8], [16 x i8]* @text1, i32 0, i32 0), i8* getelementptr inbounds ([4 x i8], [4 x i8]* @file, i32 0, i32 0), i32 1, i8* null },
  { i8*, i8*, i8*, i32, i8* } { i8* bitcast (i32 (i32)* @no_wish to i8*), i8* getelementptr inbounds ([13 x i8], [13 x i8]* @text2, i32 0, i32 0), i8* getelementptr inbounds ([4 x i8], [4 x i8]* @file, i32 0, i32 0), i32 2, i8* null },
  { i8*, i8*, i8*, i32, i8* } { i8* bitcast (i32 (i32)* @jumps to i8*), i8* getelementptr inbounds ([19 x i8], [19 x i8]* @text4, i32 0, i32 0), i8* getelementptr inbounds ([4 x i8], [4 x i8]* @file, i32 0, i32 0), i32 2, i8* null },
  { i8*, i8*, i8*, i32, i8* } { i8* bitcast (i32 (i32)* @plain to i8*), i8* getelementptr inbounds ([6 x i8], [6 x i8]* @text3, i32 0, i32 0), i8* getelementptr inbounds ([4 x i8], [4 x i8]* @file, i32 0, i32 0), i32 3, i8* null }
], section "llvm.metadata"

; CHECK: define i32 @plain(i32 %a) #[[PLAIN:[0-9]+]]
define i32 @plain(i32 %a) {
  %r = mul i32 %a, 3
  ret i32 %r
}
; CHECK: define i32 @wish(i32 %a) #[[WISH:[0-9]+]]
define i32 @wish(i32 %a) {
  %r = mul i32 %a, 5
  ret i32 %r
}
; CHECK: define i32 @no_wish(i32 %a) #[[NO:[0-9]+]]
define i32 @no_wish(i32 %a) {
  %r = mul i32 %a, 9
  ret i32 %r
}
; CHECK: define available_externally i32 @elsewhere(i32 %a) {
define available_externally i32 @elsewhere(i32 %a) {
  ret i32 %a
}
; CHECK: define i32 @"odd name\22with{everything}$"(i32 %a) #[[PLAIN]]
define i32 @"odd name\22with{everything}$"(i32 %a) {
  %r = call i32 @elsewhere(i32 %a)
  %s = add i32 %r, 1
  ret i32 %s
}
; Swift's and others' calling conventions, and a guaranteed tail call.
declare swiftcc i32 @target(i32)
; CHECK: define swiftcc i32 @jumps(i32 %a) #[[EXIT:[0-9]+]]
define swiftcc i32 @jumps(i32 %a) {
  %r = musttail call swiftcc i32 @target(i32 %a)
  ret i32 %r
}
; No return address on the stack: nothing for a return probe to take.
define ghccc void @haskell() {
  tail call ghccc void @haskell()
  ret void
}
; CHECK-DAG: attributes #[[PLAIN]] = { {{.*}}"fastprobe"="nop;5.10-;0;none"
; CHECK-DAG: attributes #[[WISH]] = { {{.*}}"fastprobe"="nop10;5.10-;0;none"
; CHECK-DAG: attributes #[[EXIT]] = { {{.*}}"fastprobe"="nop;5.10-;0;nop"
; CHECK-NOT: attributes #[[NO]] = {{.*}}"fastprobe"=
; CHECK: !fastprobe = 
E
ignored=
[ "$version" -ge 15 ] || ignored=-enable-new-pm # the new pass manager is the default there; named for clarity
"$bin/opt" $ignored -load-pass-plugin="$pass" -passes='fastprobe<entry=nop>' -S a.ll -o b.ll
# LLVM 17 and later print opaque pointers and may print `a range attribute`; the lines above do not depend on that.
check a.ll CHECK <b.ll || fail "opt"
# Selected once: another run, with other arguments, leaves the selection alone.
"$bin/opt" $ignored -load-pass-plugin="$pass" -passes='fastprobe<entry=nop10;include=nothing>' -S b.ll -o c.ll
diff <(grep -v ModuleID b.ll) <(grep -v ModuleID c.ll) >/dev/null || fail "selected twice: $(diff b.ll c.ll)"
"$bin/opt" $ignored -load-pass-plugin="$pass" -passes='fastprobe<entry=nop>,verify' -disable-output a.ll

for wrong in 'fastprobe<entry=warp>' 'fastprobe<speed=1>' 'fastprobe<include=[>'; do
    if "$bin/opt" $ignored -load-pass-plugin="$pass" -passes="$wrong" -disable-output a.ll 2>err; then fail "$wrong: accepted"; fi
    grep -q "fastprobe: .*argument" err || fail "$wrong: $(cat err)"
    ! grep -q "Stack dump" err || fail "$wrong: crashes"
done

# The code generator of llc obeys the same attributes.
"$bin/llc" -load "$pass" -O2 -filetype=obj -relocation-model=pic b.ll -o b.o
echo 'int target(int a) { return a; } int elsewhere(int a) { return a; } int main(void) { return 0; }' >main.c
clang -O2 main.c b.o -o b
cat >expected <<'E'
// CHECK-DAG: {{^}}plain: nop lead=0 patch=0+1 bound=0 stack=0 added | nop; lea
// CHECK-DAG: {{^}}wish: nop1+nop10 lead=0 patch=1+10 bound=4 stack=0 added | nop; cs nopw
// CHECK-DAG: {{^}}no_wish: no record | lea
// CHECK-DAG: {{^}}odd: nop {{.*}}added | nop; 
// CHECK-DAG: {{^}}jumps: nop {{.*}}added exits | nop; nop; jmp
// CHECK-DAG: {{^}}jumps exit: nop patch=0+1 bound=0 tail-call register:4 at={{.*}} | nop; jmp
// CHECK-DAG: {{^}}haskell: no record
// CHECK-DAG: {{^}}elsewhere: no record
E
entries b | check expected CHECK || fail "llc"
no_strays b llc

# clang on IR, without the clang plugin.
clang -O2 -w -fpass-plugin="$pass" -c a.ll -o c.o
clang -O2 main.c c.o -o c
entries c >out
grep -q '^wish: nop1+nop10' out || fail "clang -fpass-plugin: $(cat out)"
grep -q '^plain: nop ' out || fail "clang -fpass-plugin: $(cat out)"

# A wrong annotation and a wrong attribute are errors.
sed 's/fastprobe=nop10/fastprobe=warp1/' a.ll >wrong.ll
if clang -w -fpass-plugin="$pass" -c wrong.ll -o wrong.o 2>err; then fail "wrong annotation: accepted"; fi
grep -q "annotation of 'wish': 'warp1' is not one of" err || fail "wrong annotation: $(cat err)"
sed 's/nop10;5.10-;0;none/nop10;5.10/' b.ll >wrong.ll
if "$bin/llc" -load "$pass" -filetype=obj wrong.ll -o wrong.o 2>err; then fail "wrong attribute: accepted"; fi
grep -q "attribute of 'wish'" err || fail "wrong attribute: $(cat err)"

# Other targets: a note says so, and the code passes unchanged.
for target in i386-linux-gnu x86_64-linux-gnux32 armv7-linux-gnueabihf aarch64_be-linux-gnu riscv64-linux-gnu x86_64-apple-macos; do
    echo 'int f(int a) { return a * 3; }' >t.c
    clang --target=$target -O2 -c t.c -o with.o -fplugin="$plugin" 2>err || fail "$target: $(cat err)"
    grep -q "note: fastprobe: target '.*' is not supported" err || fail "$target: $(cat err)"
    clang --target=$target -O2 -c t.c -o without.o
    cmp with.o without.o || fail "$target: changed"
done

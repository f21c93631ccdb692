#!/bin/bash
# Bad input: one error with file, line and column, the line and a caret; a non-zero exit, and no output, not even a part.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
rm -rf work && mkdir work && cd work

# bad LINE:COLUMN MESSAGE TEXT
bad() {
    printf "$3" >bad.d
    local status=0
    timeout 10 $dtrace -h -s bad.d -o bad.h 2>errors || status=$?
    [ $status = 1 ] || fail "status $status for: $3"
    expect "error for: $3" "$(head -n 1 errors)" "bad.d:$1: error: $2"
    [ "$(wc -l <errors)" = 3 ] || fail "not three lines: $(cat errors)"
    # The caret stands below the column; its line begins with one more blank.
    local column=${1#*:}
    expect "caret for: $3" "$(sed -n 3p errors | wc -m)" "$((column + 2))"
    [ ! -e bad.h ] || fail "output in spite of an error: $3"
}
bad 1:1 "there is no '{' for this '}'" '}'
bad 1:12 "this '{' of provider p is never closed" 'provider p {\n  probe a();\n'
bad 1:10 "this '{' is never closed" 'struct x { int a;\nprovider p { probe a(); };'
bad 2:1 "expected the name of a provider, not '{'" 'provider\n{ };'
bad 1:10 "expected the name of a provider, not '7'" 'provider 7 { };'
bad 1:11 "expected '{' after the provider's name, not ';'" 'provider p;'
bad 2:2 "expected 'probe' or '}', not 'prob'" 'provider p {\n\tprob a();\n};'
bad 1:20 "expected the name of a probe, not '('" 'provider p { probe (int); };'
bad 1:21 "a name cannot have '-' here: write '__', which tracers of D show as '-'" 'provider p { probe a-b(); };'
bad 1:22 "expected '(' and arguments, not 'b'" 'provider p { probe a b(); };'
bad 1:26 "expected ',' or ')' after an argument, not '='" 'provider p { probe a(int = 1); };'
bad 1:26 "expected the type of an argument, not ')'" 'provider p { probe a(int,); };'
bad 1:22 "expected the type of an argument, not ','" 'provider p { probe a(,int); };'
bad 1:22 "expected the type of an argument, not '...'" 'provider p { probe a(...); };'
bad 1:28 "expected the tag of a struct, union or enum, not '*'" 'provider p { probe a(struct*); };'
bad 1:27 "expected the type of an argument, not ')'" 'provider p { probe a(const); };'
bad 1:21 "this '(' is never closed" 'provider p { probe a(int'
bad 1:27 "expected ']', not ')'" 'provider p { probe a(int[2); };'
bad 1:27 "expected ';' after probe a, not 'x'" 'provider p { probe a(int) x; };'
bad 3:1 "expected '(' and arguments, not 'int'" 'provider p { probe a(int):\n\nint; };'
bad 2:10 "the macro P_A_B would be that of probe a__b in line 1 too" 'provider p { probe a__b();\n   probe a_b(); };'
bad 2:9 "the macro P_A_ENABLED would be that of probe a_enabled in line 1 too" 'provider p { probe a_enabled();\n  probe a(); };'
bad 2:20 "the macro P_A would be that of probe a in line 1 too" 'provider p { probe a(int); };\nprovider P { probe A(); };'
bad 1:58 "a probe has at most 12 arguments" 'provider p { probe a(a1,a2,a3,a4,a5,a6,a7,a8,a9,b1,b2,b3,b4); };'
bad 3:1 "this comment is never closed" 'provider p {\n};\n/* probe a(); '
bad 1:14 "expected 'probe' or '}', not '\"x\"'" 'provider p { "x" };'
bad 1:20 "expected 'probe' or '}', not ';'" 'provider p { /*\xc3\xa4*/ ; };' # columns are characters
bad 2:14 "expected 'probe' or '}', not 'y'" 'provider p { };\r\nprovider q { y };\r\n'

# Through the preprocessor the place is that of the file that was included.
printf '#define HERE\nprovider p {\n#include "in.d"\n};\n' >outer.d
printf '\n\nprobe a(int);\n  probe b(int\n' >in.d
! $dtrace -C -h -s outer.d 2>errors || fail "an error in an included file is none"
expect "the place" "$(head -n 1 errors)" "outer.d:4:1: error: expected ',' or ')' after an argument, not '}'"
printf '\nprobe a(int) b\n' >in.d
! $dtrace -C -h -s outer.d 2>errors || fail "an error in an included file is none"
expect "the place" "$(head -n 1 errors)" "in.d:2:14: error: expected ';' after probe a, not 'b'"
[ ! -e outer.h ] || fail "output in spite of an error"

# An error leaves what was there, whichever kind of output.
echo kept >old.h
! $dtrace -C -h -s outer.d -o old.h 2>/dev/null || fail "no error"
expect "the old file" "$(cat old.h)" kept
rm -f *.d *.h errors
[ -z "$(ls -A)" ] || fail "left behind: $(ls -A)"

# Every part of a file and every file with one character changed ends with 0 or 1, at once.
printf 'typedef struct { int a; } t; provider p { probe a__b(const char *x, struct y **z[2]) : (string s); /* c */ };\n#pragma D x\n"s" }' >whole.d
size=$(stat -c %s whole.d)
for ((i = 0; i < size; i++)); do
    head -c $i whole.d >part.d
    for signs in '' '\0' '{' '(' '"' '/*' '#' '\377'; do
        { cat part.d; printf "$signs"; [ -z "$signs" ] || tail -c +$((i + 2)) whole.d; } >changed.d
        status=0
        timeout 10 $dtrace -h -s changed.d -o changed.h 2>errors || status=$?
        [ $status -le 1 ] || fail "status $status at character $i with '$signs'"
        [ $status = 0 ] || grep -q '^changed.d:[0-9]*:[0-9]*: error: ' errors || fail "no place: $(cat errors)"
    done
done

# Of a long line only the part around the place is shown, and no byte of the file that would control the terminal.
{ printf 'provider p { probe n(int %s' "$(printf 'a%.0s' $(seq 5000))"; printf '\001\377\033[31m \303\251 ! %s ); };\n' \
    "$(printf 'b%.0s' $(seq 5000))"; } >long.d
! $dtrace -h -s long.d -o long.h 2>errors || fail "a binary file was accepted"
[ "$(wc -c <errors)" -lt 600 ] || fail "the whole line is shown: $(wc -c <errors) bytes"
[ "$(LC_ALL=C tr -d '\n\40-\176\303\251' <errors | wc -c)" = 0 ] || fail "bytes of the file: $(od -c errors | head)"
expect "the caret" "$(sed -n 3p errors | wc -m)" "$(sed -n '2s/?.*//p' errors | wc -m | awk '{ print $1 + 1 }')"

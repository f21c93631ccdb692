#!/bin/bash
# Arguments and results of made-up functions by their names: numbers, floating-point numbers, structures in registers, on the stack and at an
# address. The functions print what they got, and what they return.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable

cat >make.py <<'END'
import ctypes, random, sys
random.seed(int(sys.argv[1]))
count, with_reals, of_btf = 60, sys.argv[2] != "numbers", sys.argv[2] == "btf"
ctype = {"int": ctypes.c_int, "long": ctypes.c_long, "signed char": ctypes.c_byte, "unsigned short": ctypes.c_ushort, "unsigned": ctypes.c_uint,
         "_Bool": ctypes.c_bool, "double": ctypes.c_double, "float": ctypes.c_float}
def is_ambiguous(members, packed):
    """.BTF cannot say that a structure is aligned to 16, or that an array is a vector."""
    class made(ctypes.Structure):
        _pack_ = 1 if packed else 0
        _fields_ = [(name, ctype[kind] * length if length else ctype[kind]) for name, kind, _, length in members]
    arrays = [ctypes.sizeof(ctype[kind]) * length for _, kind, _, length in members if length]
    return ctypes.sizeof(made) % 16 == 0 or any(size == 8 or size % 16 == 0 for size in arrays)
numbers = [("int", "%d"), ("long", "%ld"), ("signed char", "%d"), ("unsigned short", "%d"), ("unsigned", "%u"), ("_Bool", "%d")]
reals = [("double", "%.9g"), ("float", "%.9g")]
def number():
    return random.choice(numbers + (2 * reals if with_reals else []))
structures = []
while len(structures) < 25:
    members = [(f"m{k}", *number(), random.choice([0, 0, 0, 2, 3])) for k in range(random.randint(1, random.choice([2, 3, 6])))]
    packed = random.random() < 0.15
    if not (of_btf and is_ambiguous(members, packed)):
        structures.append((f"struct s{len(structures)}", members, packed))
def parts(name, type):
    """Each number of a value: how C and a script name it, its format, its C type."""
    for structure, members, _ in structures:
        if structure == type:
            for member, kind, format, length in members:
                for at in [f"[{k}]" for k in range(length)] or [""]:
                    yield f"{name}.{member}{at}", format, kind
            return
    yield name, dict(numbers + reals)[type], type
def value(kind):
    if kind in ("double", "float"):
        return f"{random.uniform(-1e6, 1e6):.3f}" + ("f" if kind == "float" else "")
    return {"_Bool": str(random.randint(0, 1)), "signed char": str(random.randint(-128, 127)), "unsigned short": str(random.randint(0, 65535)),
            "unsigned": f"{random.randint(0, 2**32 - 1)}u", "long": f"{random.randint(-2**62, 2**62)}L",
            "int": str(random.randint(-2**31 + 1, 2**31 - 1))}[kind]
c, script = ["#include <stdio.h>"], []
for structure, members, packed in structures:
    fields = " ".join(f"{kind} {member}{f'[{length}]' if length else ''};" for member, kind, _, length in members)
    c.append(f"{structure} {{ {fields} }}{' __attribute__((packed))' if packed else ''};")
calls = []
for f in range(count):
    types = [random.choice([number()[0], number()[0], random.choice(structures)[0]]) for _ in range(random.randint(1, random.choice([3, 6, 12])))]
    result = random.choice(["void", number()[0], random.choice(structures)[0]])
    shown, order = [], list(enumerate(types))
    for i, type in order:
        shown += parts(f"a{i}", type)
    c.append(f"__attribute__((noinline)) {result} f{f}({', '.join(f'{type} a{i}' for i, type in order)})\n{{")
    c.append(f'    __asm__ volatile("" : : : "memory");')
    c.append(f'    fprintf(stderr, "f{f}{"".join(" " + format for _, format, _ in shown)}\\n", {", ".join(name for name, _, _ in shown)});')
    wanted = "".join(" " + format for _, format, _ in shown), ", ".join("args." + name for name, _, _ in shown)
    script.append((f, wanted))
    if result != "void":
        c.append(f"    {result} r;")
        for name, _, kind in parts("r", result):
            c.append(f"    {name} = {value(kind)};")
        returned = list(parts("r", result))
        c.append(f'    fprintf(stderr, "r{f}{"".join(" " + format for _, format, _ in returned)}\\n", {", ".join(name for name, _, _ in returned)});')
        c.append("    return r;")
        if result not in ("_Bool", "signed char", "unsigned short", "int", "unsigned", "long"):
            script.append((-f - 1, ("".join(" " + format for _, format, _ in returned), ", ".join(name.replace("r", "retval", 1) for name, _, _ in returned))))
    c.append("}")
    arguments = []
    for i, type in order:
        given = ", ".join(value(kind) for _, _, kind in parts("x", type))
        arguments.append(f"({type}){{{given}}}" if type.startswith("struct") else given)
    calls.append(f"    f{f}({', '.join(arguments)});")
open("app.c", "w").write("\n".join(c + ["int main(void)\n{"] + calls + ["    return 0;\n}\n"]))
with open("script.bt", "w") as file:
    for f, (formats, names) in script:
        kind, number, letter = ("uprobe", f, "f") if f >= 0 else ("uretprobe", -f - 1, "r")
        file.write(f'{kind}:./app:f{number} {{ printf("{letter}{number}{formats}\\n", {names}); }}\n')
END
# compare ENGINE: what the program and the script printed, all of it.
compare() {
    timeout 60 fastsdt-trace --engine "$1" -o out script.bt -- ./app 2>err || fail "$1: $(head -n 3 err) $(tail -n 1 out)"
    python3 - <<'END' || fail "$1: seed $seed, $PWD"
import sys
own, got = ({line.split()[0]: line.strip() for line in open(name) if line[0] in "fr" and line[1].isdigit()} for name in ("err", "out"))
wanted = sum(1 for line in open("script.bt"))
wrong = [(own[name], line) for name, line in got.items() if own[name] != line]
for each in wrong[:5]:
    print(*each, sep="\n")
sys.exit(bool(wrong) or len(got) != wanted or wanted < 60)
END
}
for seed in 1 2 3 ${FASTSDT_SEED:-}; do
    python3 make.py "$seed" reals
    gcc -g -O1 -w app.c -o app || fail "gcc: $seed"
    compare user
done
# The same of .BTF, which stays when a program is stripped of its debug information: by gcc, by pahole, and by pahole as it is without options, which
# makes integers of floating-point numbers.
writes_btf() { [ "$1" = gcc ] && gcc -gbtf "${@:2}" || { gcc -g "${@:2}" && $1 "${@: -1}"; }; }
btf=""
for writer in gcc "pahole --btf_gen_floats -J" "pahole -J"; do
    echo 'int main(void) { return 0; }' >empty.c
    have "${writer%% *}" && writes_btf "$writer" empty.c -o empty 2>/dev/null && readelf -SW empty | grep ' \.BTF ' >/dev/null ||
        { echo "not tried: .BTF by $writer"; continue; }
    btf=yes
    python3 make.py "$((++seed))" btf
    writes_btf "$writer" -O1 -w app.c -o app || fail "gcc: $seed"
    strip -g app
    [ -z "$(readelf -SW app | grep '\.debug_info')" ] || fail "it has DWARF"
    compare user
done
cat >odd.c <<'END'
typedef float four __attribute__((vector_size(16)));
struct aligned { long a; } __attribute__((aligned(16)));
union either { double d; long l; };
enum sign { below = -1, above = 1 };
struct pair { long a, b; };
#define FUNCTION(what) __attribute__((noinline)) what { __asm__ volatile(".nops 16" : : : "memory");
FUNCTION(long vector(four v, long x)) return x + (long)v[0]; }
FUNCTION(long behind(long a, long b, long c, long d, long e, long f, long g, struct aligned s, long x)) return s.a + g + x; }
FUNCTION(long chosen(union either u, double d, long x)) return u.l + x; }
FUNCTION(long negative(enum sign e)) return e; }
FUNCTION(long first(long x, long y)) return x + y; }
FUNCTION(long second(long y, long x)) return x - y; }
FUNCTION(struct pair both(long x, long y)) return (struct pair){x, y}; }
FUNCTION(long of_pair(struct pair p, long x)) return p.b + x; }
struct item { struct item *next; unsigned low : 3; int high : 13; const char *text; struct pair pair; enum sign sign; };
FUNCTION(long walked(const struct item *first, int (*compare)(void))) return first->next->pair.b; }
int main(void)
{
    union either u = {.l = 77};
    return vector((four){1}, 2) + behind(1, 2, 3, 4, 5, 6, 7, (struct aligned){8}, 9) + chosen(u, 8.5, 42) + negative(below) + first(1, 2) + second(3, 4)
        + both(5, 6).b + of_pair((struct pair){10, 11}, 12)
        + walked(&(struct item){&(struct item){0, 5, -7, "second", {13, 14}, below}, 1, 2, "first", {15, 16}, above}, 0) < 0;
}
END
# refused NAME SCRIPT WHAT
refused() {
    local status=0
    fastsdt-trace --engine user -e "$2" -- ./odd >out 2>err || status=$?
    expect "$1" "$status $(grep -c -F "$3" err)" "2 1"
}
for debug in -g ${btf:+-gbtf}; do
    gcc $debug -O1 odd.c -o odd 2>/dev/null || continue # clang as gcc
    both=", uprobe:./odd:both" more=$'\n5 6'
    [ $debug = -g ] || { strip -g odd && both="" more=""; } # .BTF does not say whether `struct pair` is aligned to 16
    fastsdt-trace --engine user -e 'uprobe:./odd:chosen { printf("%d %d\n", args.u.l, args.x); } uprobe:./odd:negative { printf("%d\n", args.e); }
        uprobe:./odd:first'"$both"' { printf("%d %d\n", args.x, args.y); }
        uretprobe:./odd:first, uretprobe:./odd:second { printf("%d\n", retval); }' -- ./odd >out 2>err || fail "$(cat err)"
    expect "unions, enumerations, two functions" "$(grep -v '^sites' out)" "77 42
-1
1 2
3
1$more"
    fastsdt-trace --engine user -e 'uprobe:./odd:walked { $n = args.first.next;
            printf("%d %d %s %d %d %d\n", $n->low, $n->high, str($n->text), $n->pair.b, $n->sign, args.first->low); }' \
        -- ./odd >out 2>err || fail "$(cat err)"
    expect "members: $debug" "$(sed 1q out)" "5 -7 second 14 -1 1"
    refused "behind a vector" 'uprobe:./odd:vector { print(args.x); }' "where x is passed is not known here, by its type long int or one before it"
    refused "behind what is aligned" 'uprobe:./odd:behind { print(args.x); }' "where x is passed is not known here"
    refused "another place" 'uprobe:./odd:first, uprobe:./odd:second { print(args.x); }' \
        "uprobe:./odd:second has x in another place or of another type than uprobe:./odd:first"
    [ -z "$both" ] || refused "another result" 'uretprobe:./odd:first, uretprobe:./odd:both { print(retval); }' "have results of different types"
done
[ -z "$btf" ] || refused "what .BTF does not tell" 'uprobe:./odd:of_pair { print(args.x); }' \
    "where x is passed is not known here, by its type long int or one before it"
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    python3 make.py 4 numbers
    gcc -g -O1 -w app.c -o app
    compare kernel
fi

"""go_args.py SEED FUNCTIONS: made-up Go functions in program.go, and script.bt, which prints each argument and each result as the program does."""
import random
import sys

chance = random.Random(int(sys.argv[1]))
SCALARS = ["int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "bool", "string", "float64", "float32"]
structures = []  # name, [(member, type)]


def type_of(depth=0):
    kind = chance.random()
    if kind < 0.6 or depth > 1:
        return chance.choice(SCALARS)
    if kind < 0.68:
        return f"[{chance.choice((1, 1, 2, 3))}]{chance.choice(SCALARS[:9])}"
    if kind < 0.74:
        return f"[]{chance.choice(SCALARS[:9])}"
    members = [(f"m{i}", type_of(depth + 1)) for i in range(chance.randrange(1, 5))]
    name = f"rec{len(structures)}"
    structures.append((name, members))
    return name


def value_of(kind):
    if kind == "bool":
        return chance.choice(("true", "false"))
    if kind == "string":
        return '"' + "".join(chance.choice("abcxyz") for _ in range(chance.choice((0, 1, 7, 30)))) + '"'
    if kind.startswith("float"):
        return str(chance.choice((0.5, 1.25, -3.0)))
    if kind in SCALARS:
        bits = int(kind.lstrip("uint") or 64)
        low, high = (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return str(chance.choice((low, high, chance.randint(low, high), chance.randint(0, 9))))
    if kind.startswith("["):
        count, of = kind[1:].split("]")
        return f"{kind}{{{', '.join(value_of(of) for _ in range(int(count) if count else chance.randrange(1, 4)))}}}"
    return f"{kind}{{{', '.join(value_of(of) for name, of in dict(structures)[kind])}}}"


def registers(kind):
    """How many registers for integers it takes; infinitely many: it goes to the stack."""
    if kind.startswith("float"):
        return 0
    if kind == "string":
        return 2
    if kind.startswith("[]"):
        return 3
    if kind.startswith("["):
        return 1 if kind.startswith("[1]") else float("inf")
    return 1 if kind in SCALARS else sum(registers(of) for name, of in dict(structures)[kind])


def has_real(kind):
    return kind.startswith("float") or any(has_real(of) for name, of in dict(structures).get(kind, []))


def leaves(place, kind):
    """What a value has: Go's name for it, the script's, the conversion of printf()."""
    if has_real(kind):
        return  # the kernel cannot read their registers
    if kind == "string":
        yield place, place, "[%s]"
    elif kind == "bool":
        yield f"bit({place})", place, "%d"
    elif kind in SCALARS:
        yield place, place, "%lu" if kind.startswith("u") else "%ld"
    elif kind.startswith("[]"):
        yield f"len({place})", f"{place}.len", "%d"
        yield f"{place}[0]", f"*{place}.array", "%lu" if kind[2] == "u" else "%ld"
    elif kind.startswith("["):
        count, of = kind[1:].split("]")
        for i in range(int(count)):
            yield f"{place}[{i}]", f"{place}[{i}]", "%lu" if of.startswith("u") else "%ld"
    else:
        for name, of in dict(structures)[kind]:
            yield from leaves(f"{place}.{name}", of)


go, bt, calls = [], [], []
for number in range(int(sys.argv[2])):
    arguments = [(f"a{i}", type_of()) for i in range(chance.randrange(1, 9))]
    results = [type_of() for _ in range(chance.randrange(0, 4))]
    while sum(registers(kind) for kind in results) > 9:
        results.pop()
    if all(has_real(kind) for name, kind in arguments):
        arguments.append(("last", "int"))
    name = f"f{number}"
    own, told, own_results, told_results = [], [], [], []
    for argument, kind in arguments:
        for place, script, conversion in leaves(argument, kind):
            own.append(f'fmt.Printf("{name} {script}={conversion.replace("%l", "%").replace("u", "d")}\\n", {place})')
            word = "*args." + script[1:] if script.startswith("*") else "args." + script
            told.append(f'printf("{name} {script}={conversion}\\n", {word});')
    for index, kind in enumerate(results):
        for place, script, conversion in leaves(f"r{index}", kind):
            word = script if len(results) > 1 else script.replace("r0", "", 1)
            word = ("*retval" + ("." + word[1:] if len(results) > 1 else word[1:])) if script.startswith("*") else (
                "retval" + ("." + word if len(results) > 1 else word))
            own_results.append(f'fmt.Printf("{name} {script}={conversion.replace("%l", "%").replace("u", "d")}\\n", {place})')
            told_results.append(f'printf("{name} {script}={conversion}\\n", {word});')
    returned = ", ".join(value_of(kind) for kind in results)
    uses = " ".join(f"sink = {argument};" for argument, kind in arguments)
    go.append(f"//go:noinline\nfunc {name}({', '.join(' '.join(a) for a in arguments)}) ({', '.join(results)}) {{ count++; if count < 0 {{ {uses} }}; return {returned} }}")
    names = ", ".join(f"r{i}" for i in range(len(results)))
    given = "; ".join(f"{argument} := {kind}({value_of(kind)})" if kind in SCALARS else f"{argument} := {value_of(kind)}"
                      for argument, kind in arguments)
    unused = "".join(f"; _ = {argument}" for argument, kind in arguments) + "".join(f"; _ = r{i}" for i in range(len(results)))
    calls.append(f"{{ {given}; {'; '.join(own)}; {names}{' := ' if names else ''}{name}({', '.join(a for a, k in arguments)}){unused}; {'; '.join(own_results)} }}")
    bt.append(f"uprobe:./program:main.{name} {{ {' '.join(told)} }}")
    if told_results:
        bt.append(f"uretprobe:./program:main.{name} {{ {' '.join(told_results)} }}")
with open("program.go", "w", encoding="ascii") as text:
    print('package main\n\nimport "fmt"\n\nvar count int\nvar sink any\n\nfunc bit(b bool) int {\n\tif b {\n\t\treturn 1\n\t}\n\treturn 0\n}\n',
          file=text)
    for name, members in structures:
        print(f"type {name} struct {{ {'; '.join(f'{m} {k}' for m, k in members)} }}", file=text)
    print("\n".join(go), file=text)
    print("func main() {\n" + "\n".join(calls) + "\n}", file=text)
with open("script.bt", "w", encoding="ascii") as text:
    print("\n".join(bt), file=text)

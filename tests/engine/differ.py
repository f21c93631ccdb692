#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The same scripts on fastsdt-trace's user engine and in bpftrace: `differ.py SCRIPTS SEED`, in a folder with the program maps (maps.c).
One script after another on our engine; bpftrace, which takes a second to begin and to end, gets many of them as one, with names of
their own for each one's maps. Prints what differs, and ends with status 1 then.

Not in the scripts, since it is known to differ (docs/bpftrace-differences.md): hist() from 2^31 on, max() of negative
only, division by 0, comparisons of constants."""
import json
import random
import re
import subprocess
import sys

HITS = 101
AT_ONCE = 40  # scripts of one bpftrace
HIT, SIZES, DONE = ("usdt:./maps:t:" + name for name in ("hit", "sizes", "done"))

# What people write, and the edges of it.
WRITTEN = [
    f"{HIT} {{ @ = count(); }}",
    f"{HIT} {{ @[arg0] = count(); }}",
    f"{HIT} {{ @[arg1] = count(); }}",
    f"{HIT} {{ @[arg0 % 4, arg1 % 3] = count(); }}",
    f"{HIT} {{ @[str(arg3)] = count(); }}",
    f"{HIT} {{ @[str(arg3), arg0 % 2] = sum(arg2); }}",
    f"{HIT} {{ @[arg0 % 2, str(arg3), arg0 % 3] = max(arg2); }}",
    f"{HIT} {{ @[probe] = count(); }}",
    f"{HIT}, {SIZES} {{ @[probe] = sum(arg0); }}",
    f"{HIT}, {DONE} {{ @[probe, pid == tid] = count(); }}",
    f"{HIT} {{ @[\"a\", \"b\"] = count(); }}",
    f"{HIT} {{ @[pid == tid] = count(); }}",
    f"{DONE} {{ @ = probe; }}",
    f"{HIT} {{ @ = str(arg3); }}",
    f"{HIT} {{ @[arg0 % 5] = str(arg3); }}",
    f"{HIT} {{ @[arg0 % 9] = probe; }}",
    f"{HIT} {{ @ = \"text\"; }}",
    f"{HIT} {{ @a = arg0; @b = arg1; @c = arg2; }}",
    f"{HIT} {{ @[arg0] = arg1; }}",
    f"{HIT} {{ @last = arg0; @next[@last] = @last + 1; }}",
    f"{HIT} {{ @n = @n + 1; }}",
    f"{HIT} {{ @n[arg0 % 3] = @n[arg0 % 3] + arg1; }}",
    f"{HIT} /@seen[arg0 % 7] == 0/ {{ @seen[arg0 % 7] = 1; @first[arg0] = count(); }}",
    f"{HIT} /@one == 0 && arg0 > 5/ {{ @one = arg0; }}",
    f"{HIT} {{ @was[arg0 % 2] = arg0; }} {SIZES} /@was[0]/ {{ @since = max(@was[0] - arg0); }}",
    f"{HIT} {{ @[arg0] = arg0; }} {SIZES} {{ delete(@[arg0]); }}",
    f"{HIT} {{ @k[arg0] = arg0; delete(@k[arg0 - 3]); }}",
    f"{HIT} {{ @x = arg0; delete(@x); }}",
    f"{HIT} {{ @s[arg0] = str(arg3); delete(@s[arg0 - 1]); }}",
    f"{HIT} {{ @sum = sum(arg1); @min = min(arg1); @max = max(arg1); @avg = avg(arg1); @stats = stats(arg1); }}",
    f"{HIT} {{ @sum[arg0 % 4] = sum(arg2); @min[arg0 % 4] = min(arg2); @max[arg0 % 4] = max(arg2); }}",
    f"{HIT} {{ @avg[arg0 % 4] = avg(arg2); @stats[arg0 % 3] = stats(arg2); }}",
    f"{HIT} {{ @ = hist(arg0); }}",
    f"{HIT} {{ @ = hist(arg1); }}",
    f"{HIT} {{ @ = hist(arg2); }}",
    f"{HIT} {{ @[arg0 % 3] = hist(arg2); }}",
    f"{HIT} {{ @[str(arg3)] = hist(arg0); }}",
    f"{HIT} {{ @ = hist(0); @b = hist(1); @c = hist(-1); @d = hist(2147483647); }}",
    f"{HIT} {{ @ = lhist(arg0, 0, 100, 10); }}",
    f"{HIT} {{ @ = lhist(arg1, 0, 20, 1); }}",
    f"{HIT} {{ @ = lhist(arg2, 100, 5000, 700); }}",
    f"{HIT} {{ @[arg0 % 2] = lhist(arg0, 10, 50, 7); }}",
    f"{HIT} {{ @ = lhist(arg1, 0, 1, 1); }}",
    f"{SIZES} {{ @[arg0] = sum(arg1); @b[arg2] = count(); @c[arg3] = count(); }}",
    f"{SIZES} {{ @ = sum(arg0); @b = sum(arg1); @c = min(arg0); @d = min(arg1); }}",
    f"{SIZES} {{ @[arg0, arg1] = arg2; }}",
    f"{SIZES} {{ @ = stats(arg1); @b = avg(arg0); @c = hist(arg0); @d = hist(arg1); }}",
    f"{SIZES} /arg1 < 0/ {{ @ = count(); }}",
    f"{SIZES} /arg2 > 0x8000000000000010/ {{ @ = count(); }}",
    f"{HIT} /arg0 > 1000/ {{ @ = count(); @h = hist(arg0); @s = stats(arg0); @n[arg0] = sum(1); }}",
    f"{HIT} /arg0 == 50/ {{ @ = count(); }}",
    f"{HIT} /arg0 % 3 == 0 && arg1 < 0 || arg2 == 16/ {{ @[arg0] = count(); }}",
    f"{HIT} /!(arg0 & 1)/ {{ @ = sum(arg0); }}",
    f"{HIT} /arg0 < 10/ {{ @a = count(); }} {HIT} /arg0 >= 10/ {{ @b = count(); }}",
    f"{HIT} {{ @a = count(); @a1 = count(); @A = count(); @aa = count(); }}",
    f"{HIT} {{ @ = sum(1); }} {DONE} {{ @done = count(); }}",
    f"{HIT} {{ @++; @b--; ++@c; --@d; @e += 3; @f -= arg0; }}",
    f"{HIT} {{ @[arg0 % 3]++; @b[str(arg3)] += arg1; @c[arg0 % 2, str(arg3)] -= arg2; }}",
    f"{HIT} {{ @m[arg0 % 3] += 2; @seen = @m[0] + @m[1]; if (@m[2] == 20) {{ @at[arg0] = count(); }} }}",
    f"{HIT} {{ @n++; if (@n % 10 == 0) {{ @tens[@n] = arg0; }} }}",
    f"{HIT} {{ @n[arg0 % 3]++; if (@n[arg0 % 3] == 5) {{ delete(@n[arg0 % 3]); }} }}",
    f"{HIT} {{ $x = arg0 * 2; if ($x > 100) {{ @big = count(); }} else if ($x > 50) {{ @middle = sum($x); }} else {{ @small[arg0] = count(); }} }}",
    f"{HIT} {{ $n = 1; if (arg0 % 2) {{ $n = 5; }} $n += 2; $n++; @ = sum($n); }}",
    f"{HIT} {{ $a = arg0; $b = $a + arg1; $a = $b * 2; @[$a % 5] = sum($b); }}",
    f"{HIT} {{ $s = str(arg3); @[$s] = count(); @last = $s; }}",
    f"{HIT} /str(arg3) == \"tea\"/ {{ @ = count(); @b = sum(arg0); }}",
    f"{HIT} /arg0 > 3 && str(arg3) != \"coffee\"/ {{ @[arg0] = count(); }}",
    f"{HIT} {{ if (str(arg3) == \"\") {{ @empty = count(); }} else {{ @[str(arg3)] = sum(arg0); }} }}",
    f"{HIT} {{ @[arg0 % 2 ? 5 : 7] = count(); @b = sum(arg0 > 50 ? arg1 : arg2); }}",
    f"{HIT} {{ @[comm] = count(); @b[comm, arg0 % 2] = sum(arg1); }}",
    f"{HIT} /comm == \"maps\"/ {{ @ = count(); }}",
    f"{HIT} /comm == \"map\"/ {{ @ = count(); }}",
    f"{HIT} {{ unroll(3) {{ @ = count(); }} }}",
    f"{HIT} {{ @ = sum((uint8)arg2); @b[(uint16)arg2 % 9] = count(); @c = sum((int32)arg1); @d = sum((uint64)arg0); }}",
    f"{HIT} {{ printf(\"@p %d %d %u %x %X|%5d|%-5d|%05d\", arg0, arg1, arg1, arg1, arg2, arg0, arg1, arg0); }}",
    f"{HIT} {{ printf(\"@p %lld %llu %llx %ld %hhd %c %p\", arg1, arg1, arg1, arg2, arg0, 65 + arg0 % 26, arg2 + 1); }}",
    f"{HIT} {{ printf(\"@p %s|%10s|%-10s|%.3s|%s\", str(arg3), str(arg3), str(arg3), str(arg3), probe); }}",
    f"{HIT} {{ printf(\"@p %s %d\", comm, pid == tid); }}",
    f"{SIZES} {{ printf(\"@p %d %d %llu %llx %d\", arg0, arg1, arg2, arg2, arg3); }}",
    f"{HIT} {{ if (arg0 % 10 == 0) {{ printf(\"@p %d\", arg0); }} else if (arg0 % 15 == 0) {{ printf(\"@q %d\", arg0); }} }}",
    f"{HIT} /arg0 < 20/ {{ $x = arg0 - 10; printf(\"@p %d %s\", $x, str(arg3)); @[$x] = count(); }}",
]

BINARY = ["||", "&&", "|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "-", "*", "/", "%"]
LEAVES = ["arg0", "arg1", "arg2"]


def expression(r, depth):
    """An expression that is not constant in any operand, and divides and shifts by small constants only."""
    if depth == 0 or r.random() < 0.15:
        return r.choice(LEAVES)
    if r.random() < 0.12:
        return f"({r.choice('!~-')}({expression(r, depth - 1)}))"
    if r.random() < 0.08:
        return f"({expression(r, depth - 1)} ? {expression(r, depth - 1)} : {expression(r, depth - 1)})"
    op = r.choice(BINARY)
    left = expression(r, depth - 1)
    if op in ("/", "%"):
        return f"({left} {op} {r.choice([1, 2, 3, 7, 10, 64, 1000])})"
    if op in ("<<", ">>"):
        return f"({left} {op} {r.choice([0, 1, 3, 31, 32, 63])})"
    right = expression(r, depth - 1) if r.random() < 0.6 else r.choice(["1", "5", "63", "255", "1000", "65536", "2147483647"])
    return f"({left} {op} {right if op not in ('&&', '||') else expression(r, depth - 1)})"


def generated(r):
    """A script of one clause: a filter or none, and up to three maps of any kind."""
    statements = []
    for n in range(r.randint(1, 3)):
        keys = [r.choice(["arg0", "arg1", "str(arg3)", "probe", f"{expression(r, 1)} % {r.randint(2, 9)}"]) for _ in range(r.randint(0, 2))]
        value = expression(r, 2)
        small = f"({value} & 0x7fffffff)"
        kind = r.choice(["count()", f"sum({value})", f"min({small})", f"max({small})", f"avg(arg{r.randint(0, 2)})", f"stats(arg{r.randint(0, 2)})",
                         f"hist({small})", f"lhist({small} % 1000, 0, 1000, {r.choice([50, 100, 333])})", value])
        statements.append(f"@m{n}{'[' + ', '.join(keys) + ']' if keys else ''} = {kind};")
    if r.random() < 0.3:
        statements.append(f"printf(\"@p %lld %llx %s\", {expression(r, 2)}, {expression(r, 1)}, str(arg3));")
    if r.random() < 0.3:
        statements[-1] = f"if ({expression(r, 2)}) {{ {statements[-1]} }} else {{ @otherwise[{expression(r, 1)} % 5]++; }}"
    if r.random() < 0.3:
        statements = [f"$v = {expression(r, 2)};"] + [each.replace("arg1", "$v") for each in statements]
    test = f"/{expression(r, 2)}/ " if r.random() < 0.5 else ""
    return f"{HIT} {test}{{ {' '.join(statements)} }}"


def own_names(script, number):
    """With @s0_NAME instead of @NAME; in strings too, so that what is printed has the script's number."""
    return re.sub(r"@(\w*)", lambda m: f"@s{number}_{m.group(1)}", script)


def entries(data):
    """Buckets in their order, as they are; entries of a map by key."""
    return json.dumps(data, sort_keys=True)


def maps_of(output):
    """NAME -> its value, from lines of JSON; for what was printed, NAME -> the lines, which bpftrace has in the order of processors. A
    map without entries is there for one of the two only."""
    maps, printed = {}, {}
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        line = json.loads(line)
        if line.get("type") in ("map", "hist", "stats"):
            for name, data in line["data"].items():
                if data not in ({}, []):
                    maps[name] = entries(data)
        elif line.get("type") == "printf":
            printed.setdefault(line["data"].split()[0] + " printed", []).append(line["data"])
        elif line.get("type") == "lost_events":
            sys.exit("differ.py: bpftrace lost some of what it was to print")
        elif line.get("type") == "sites" and (line["data"]["armed"] != line["data"]["sites"] or line["data"]["dropped"] or line["data"]["lost"]):
            sys.exit(f"differ.py: not all was recorded: {line}")
    return maps | {name: json.dumps(sorted(lines)) for name, lines in printed.items()}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"differ.py: status {done.returncode}: {' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return maps_of(done.stdout)


def bpftrace(scripts, refused):
    """The maps of all of them. LLVM leaves code that is never reached in some programs, which the kernel then refuses: the scripts
    at fault are looked for by halves, and left out."""
    done = subprocess.run(["bpftrace", "-f", "json", "-e", "\n".join(scripts), "-c", f"./maps {HITS}"], capture_output=True, text=True, timeout=600,
                          check=False)
    if done.returncode == 0:
        return maps_of(done.stdout)
    if "Error loading program" not in done.stderr:
        sys.exit(f"differ.py: bpftrace: status {done.returncode}: {done.stderr[-4000:]}")
    if len(scripts) == 1:
        refused.append(scripts[0])
        return {}
    half = len(scripts) // 2
    return bpftrace(scripts[:half], refused) | bpftrace(scripts[half:], refused)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    scripts = list(WRITTEN)
    while len(scripts) < count:
        scripts.append(generated(r))
    if count < len(scripts):
        scripts = r.sample(scripts, count)
    ours, theirs = {}, {}
    batches = [[]]
    for number, script in enumerate(scripts):
        scripts[number] = script = own_names(script, number)
        ours.update(run(["fastsdt-trace", "--engine", "user", "--json", "-e", script, "--", "./maps", str(HITS)]))
        # bpftrace 0.17 makes a broken program of a clause with two probes beside another clause of one of them.
        if ", usdt:" in script:
            batches.insert(0, [script])
        else:
            if len(batches[-1]) == AT_ONCE:
                batches.append([])
            batches[-1].append(script)
    refused = []
    for batch in batches:
        theirs.update(bpftrace(batch, refused))
    script_of = {name: scripts[int(re.match(r"@s(\d+)_", name).group(1))] for name in {*ours, *theirs}}
    bad = [name for name in sorted(script_of) if script_of[name] not in refused and ours.get(name) != theirs.get(name)]
    for name in bad:
        print(f"{name} of {script_of[name]}\n  bpftrace: {theirs.get(name)}\n  ours:     {ours.get(name)}")
    print(f"{len(scripts)} scripts of seed {seed}, {len(refused)} of them refused by bpftrace, {len(ours)} maps: {len(bad)} maps differ")
    return 1 if bad or len(theirs) < len(scripts) // 2 else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs.py SOURCE BUILD: runs the code blocks of README, docs and man pages, and compares what they print.

Blocks are found by file and first line in the table RULES below. A block that is not in it is an error: say there how it is run."""
import glob, json, os, re, shutil, subprocess, sys

if len(sys.argv) != 3:
    sys.exit(__doc__)
source, build = sys.argv[1:]
problems, left_out, ran = [], [], 0
have = shutil.which
gcc = subprocess.run(["cc", "-dumpversion"], capture_output=True, text=True).stdout.strip().split(".")[0]
plugin = os.path.join(build, f"gcc-{gcc}", "fastprobe.so")
can_trace = os.geteuid() == 0 and os.path.exists("/sys/bus/event_source/devices/uprobe/type")


class LeftOut(Exception):
    pass


def need(condition, what):
    if not condition:
        raise LeftOut(what)


# ---- Blocks

def blocks(path):
    """(line number, first line, text) of each fenced or indented block of a Markdown or scdoc file."""
    lines = open(os.path.join(source, path)).read().split("\n")
    scdoc = path.endswith(".scd")
    i, examples = 0, not scdoc
    while i < len(lines):
        if scdoc and lines[i].startswith("# "):
            examples = lines[i] == "# EXAMPLES"
        start = i
        if lines[i].startswith("```"):
            i += 1
            body = []
            while not lines[i].startswith("```"):
                body.append(lines[i])
                i += 1
            i += 1
        elif examples and re.match("\t" if scdoc else "    ", lines[i]) and not lines[i - 1].strip():
            body = []
            while i < len(lines) and lines[i].strip():
                body.append(re.sub("^(\t|    )", "", lines[i]))
                i += 1
                # A blank line ends it, unless the block continues after it.
                if i + 1 < len(lines) and not scdoc and not lines[i] and lines[i + 1].startswith("    "):
                    body.append("")
                    i += 1
        else:
            i += 1
            continue
        if not examples:
            continue
        text = "\n".join(body) + "\n"
        if scdoc:
            text = re.sub(r"\\(.)", r"\1", text.replace("++\n", "\n"))
        yield start + 1, text.split("\n")[0], text


# ---- What is done with them

def shell(script):
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def run(setup="", change=(), want=lambda: None, status=(0,)):
    def handler(text):
        want()
        for old, new in change:
            assert old in text, f"the block no longer has {old!r}"
            text = text.replace(old, new)
        code, output = shell(setup + "\n" + text)
        if code not in status:
            return f"exit status {code}: {output}"
    return handler


def fragment(before):
    """C: its includes, then the rest in a function."""
    def handler(text):
        lines = text.split("\n")
        include = "\n".join(l for l in lines if l.startswith("#include")) or '#include "fastsdt.h"'
        rest = "\n".join(l for l in lines if not l.startswith("#include"))
        open("fragment.c", "w").write(f"{include}\n{before}\n{{ {rest} }}\n")
        code, output = shell("cc -Wall -Werror -O1 -Iinclude -c fragment.c -o fragment.o")
        return output if code else None
    return handler


def elsewhere(*files, says=()):
    """Runs elsewhere, because it takes long or needs more: in these files, which have these words."""
    def handler(text):
        content = ""
        for name in files:
            path = os.path.join(source, name)
            if not os.path.exists(path):
                return f"{name} is not there"
            content += open(path).read()
        for word in says:
            if word not in text or word not in content:
                return f"'{word}' is not in the block and in {' '.join(files)}"
    return handler


def mask(text, operands):
    text = re.sub(r"\b0x[0-9a-f]{4,}", "ADDRESS", text)
    text = re.sub(r"(\s100000\s+)\d+", r"\1TIME", text)
    if operands: # another compiler takes other registers, and other bytes follow the site
        text = re.sub(r"@(\S+)", "@OPERAND", text)
        text = re.sub(r"(?m) [0-9a-f]{2}$", "", text)
    return [" ".join(line.split()) for line in text.strip("\n").split("\n")]


def printed_by(command, text, operands=False):
    code, output = shell(command)
    expected, got = mask(text, operands), mask(output, operands)
    if code != 0 or expected != got:
        return f"{command}: exit status {code}\n--- shown\n" + "\n".join(expected) + "\n--- printed\n" + "\n".join(got)


def serve(text):
    """A service with the shown configuration has the shown metrics, after a program has passed its probe 1,000 times."""
    on_x86()
    need(have("curl"), "no curl")
    need("not in this build" not in shell("fastsdt-trace serve --config none.json")[1], "fastsdt-trace has no serve")
    config, shown = text[text.index("{"):].split("\n\n", 1)
    open("trace.json", "w").write(config.replace("/usr/bin/shop", os.path.realpath("served")).replace('"scripts"',
        '"listen": "127.0.0.1:0", "scripts"', 1))
    shown = [line for line in shown.split("\n") if line.startswith(("#", "shop_"))]
    code, output = shell("""
printf '#include <fastsdt.h>\\n#include <unistd.h>\\nint main(void) { char c; while (read(0, &c, 1) == 1) { for (int i = 0; i < 1000; ++i) FASTSDT(shop, order, i, "x", i); (void)!write(1, "d", 1); } return 0; }\\n' >served.c
cc -O2 -Iinclude served.c -o served
rm -f to from log && mkfifo to from
./served <to >from & exec 8>to 7<from
fastsdt-trace serve --config trace.json >log 2>&1 8>&- 7<&- & service=$!
until grep -q 'metrics at' log; do kill -0 $service; done
echo -n x >&8; read -r -n 1 -u 7
curl -fsS "$(grep -o 'http:[^ ]*' log)"
kill $service; wait $service""")
    missing = [line for line in shown if line not in output.split("\n")]
    if code or missing or not shown:
        return f"exit status {code}, not printed: {missing}: {output}"


def promtool(what):
    def handler(text):
        need(have("promtool"), "no promtool")
        open(f"{what}.yml", "w").write(text)
        code, output = shell(f"promtool check {what} {what}.yml")
        return output if code else None
    return handler


def session(setup):
    """Commands behind $, each with what it prints."""
    def handler(text):
        code, output = shell(setup)
        if code:
            return output
        for part in text.removeprefix("$ ").split("\n$ "):
            command, _, shown = part.partition("\n")
            problem = printed_by(command, shown, gcc != "12")
            if problem:
                return problem
    return handler


def runtime_probes(text):
    """By the library of this build. What goes to stderr the page tells in prose."""
    on_x86()
    need(os.path.exists(f"{build}/lib/libfastsdt-probes.so"), "libfastsdt-probes is not built")
    flags = f"-Iinclude -L{build}/lib -Wl,-rpath,{build}/lib -lfastsdt-probes"
    return session("")(text.replace("$(pkg-config --cflags --libs fastsdt-probes)", flags).replace("-- ./shop", "-- ./shop 2>err"))


def readme_check(text):
    code, output = shell("cc -O2 -g -Iinclude examples/hello.c -o hello")
    if code:
        return output
    command, _, shown = text.partition("\n")
    return printed_by(command.removeprefix("$ "), shown.partition("\n\n")[0], gcc != "12") or readme_probe(text[text.index("\n# ") + 1:])


def readme_commands(text):
    """The first three, with the tools of this build instead of the demo's."""
    demo, path, then = text.strip().split("\n")
    if demo != "./scripts/demo.sh" or "build=$PWD/build/default" not in open(f"{source}/scripts/demo.sh").read() or path != "PATH=$PWD/build/default/bin:$PATH":
        return "not what scripts/demo.sh builds"
    code, output = shell(then)
    return None if code == 0 and "usdt:./hello:shop:order  (" in output else output


def readme_trace(text):
    on_x86()
    command, shown = text.removeprefix("$ ").split("\n", 1)
    return printed_by(f"cc -O2 -Iinclude examples/hello.c -o hello && {{ {command}; }} 2>&1", shown)


def readme_probe(text):
    need(can_trace, "fastsdt-probe: needs root and uprobes")
    need("emulate" in shell("fastsdt-probe hello --probe shop:order -- ./hello 1")[1], "fastsdt-probe: this kernel does not emulate the site")
    command, _, shown = text.partition("\n")
    command = re.sub(r"  +\(.*", "", command).removeprefix("# ")
    return printed_by(command + " | sed '/^NAME/,$!d'", shown, gcc != "12") # without what hello prints


def report_line(text):
    need(os.path.exists(plugin), "no fastprobe for " + gcc)
    open("a.c", "w").write("static __attribute__((noinline)) int f(int a, int b) { return a * b; }\nint g(int a) { return f(a, 3) + f(a + 1, 3); }\n")
    code, output = shell(f"rm -f r.json; cc -O2 -fplugin={plugin} -fplugin-arg-fastprobe-report=r.json -c a.c -o a.o")
    if code:
        return output
    shown = json.loads(text)
    for line in map(json.loads, open("r.json")):
        if line["function"] == shown["function"]:
            extra = set(shown) ^ set(line)
            return f"keys differ: {sorted(extra)}" if extra else None
    return f"no line for {shown['function']}: {open('r.json').read()}"


def with_plugin(*programs):
    def want():
        need(gcc == "12" and os.path.exists(plugin), "the plugin for GCC 12 is not built")
        for program in programs:
            need(have(program), f"{program} is not installed")
            need(os.path.exists(os.path.join(build, "llvm-19/fastprobe.so")), "the plugin for LLVM 19 is not built")
    return want


def traced(want):
    def both():
        want()
        need(can_trace, "fastsdt-probe: needs root and uprobes")
    return both


def exits_program(text):
    """The bpftrace program of --plan, but for line breaks, the path and the address."""
    with_plugin()()
    code, output = shell(f"gcc -O2 -fplugin={plugin} -fplugin-arg-fastprobe-exit=nop10 examples/entry.c -o e && "
                         "fastsdt-check --plan --json --kernel 6.18 e")
    if code:
        return output
    command = next(p["exits_bpftrace"] for p in json.loads(output)["files"][0]["plan"] if p["name"] == "mix")
    plain = lambda t: "".join(re.sub(r"0x[0-9a-f]+", "ADDRESS", re.sub(r"uprobe:\S*/e:", "uprobe:e:", t)).split())
    shown, printed = plain(text), plain(command.split("'")[1])
    return None if shown == printed else f"shown {shown}\nprinted {printed}"


def on_x86():
    need(os.uname().machine == "x86_64", "fastsdt-trace --engine user: x86-64 only")


def ready_tool(text):
    """The first line that is shown is what BEGIN of the tool prints. tests/share has the rest."""
    on_x86()
    command, shown = text.split("\n", 1)
    name, parameters = re.search(r"(\w+\.bt)((?: \w+)*)", command).groups()
    begin = re.search(r"^BEGIN\n\{.*?^\}\n", open(f"{source}/share/tools/{name}").read(), re.M | re.S)[0]
    open(name, "w").write("config = { print_maps_on_exit = false; }\n" + begin)
    code, output = shell(f"fastsdt-trace {name}{parameters}")
    return None if code == 0 and output.split("\n")[0] == shown.split("\n")[0] else f"{command}: exit status {code}: {output}"


def timelines():
    on_x86()
    with_plugin()()
    need(have("babeltrace2"), "babeltrace2 is not installed")


shop_d = "printf 'provider shop {\\n probe order(int id, char *item, int cents);\\n};\\n' >shop.d\n"
INSTALL = elsewhere("tests/install/ways.sh", "tests/install/ways.py")
traced_functions = f"gcc -O2 -fplugin={plugin} -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-exit=nop10 examples/entry.c -o e"
RULES = {
    "README.md": {
        "fastsdt-trace functions -t 5": run(want=lambda: (on_x86(), need(have("redis-server"), "no redis-server")),
            setup="""redis-server --port 0 --unixsocket $PWD/redis.sock --save '' >redis.log & trap 'kill $!' EXIT; until [ -S redis.sock ]; do :; done""",
            change=[("-t 5", "-t 0.5")], status=(0, 1)),  # 1: a busy machine loses events
        "./scripts/demo.sh": readme_commands,
        "$ fastsdt-trace -e": readme_trace,
    },
    "docs/overview.md": {
        "#include <fastsdt.h>": lambda text: None if "FASTSDT(shop, order, id, item, cents)" in open(f"{source}/examples/hello.c").read() and
            fragment("void f(int id, const char *item, long cents)")(text) is None else "not what examples/hello.c has, or it does not compile",
        "$ fastsdt-check --probe order hello": readme_check,
    },
    "CONTRIBUTING.md": {"./scripts/install-deps.sh": elsewhere("scripts/test.sh", "CMakePresets.json", "scripts/install-deps.sh")},
    "docs/architecture.md": {"source --(fastsdt.h)": lambda text: None, "tools       fastsdt-check": lambda text: None,
        "hits -> rings": lambda text: None},  # drawings
    "docs/fastprobe.md": {
        "gcc -O2 -fplugin=$PWD/build/default/gcc-12/fastprobe.so examples/entry.c": run(want=with_plugin("clang-19")),
        "gcc -O2 -fplugin=$PWD/build/default/gcc-12/fastprobe.so -fplugin-arg-fastprobe-exit=nop10": run(want=traced(with_plugin())),
        'uprobe:/tmp/e:mix { @start[tid, reg("sp")] = nsecs; }': exits_program,
        '{"function": "f.constprop.0"': report_line,
        "pass=$PWD/build/default/llvm-19/fastprobe-pass.so": run(
            want=with_plugin("clang-19", "opt-19", "llc-19"),
            setup="printf 'int net(int a) { return a; }\\nint main(void) { return net(0); }\\n' >a.c; clang-19 -O2 -S -emit-llvm a.c -o a.ll",
            change=[("-O2 -fpass-plugin=$pass a.c ", "-O2 -fpass-plugin=$pass a.c && fastsdt-check --functions a.out ")]),
    },
    "docs/recorded/linking.md": {
        "ok: gcc 9.3.0": elsewhere("tests/long/test-header-compilers.sh"),
        "for n in 5000 10000 20000; do": run(change=[("5000 10000 20000", "60")]),
    },
    "docs/recorded/fastprobe.md": {
        "bench/in-guest.sh 7.2": elsewhere("bench/in-guest.sh", "scripts/demo.sh"),  # minutes in an emulator
        "ok: gcc 14.2.0 (trixie) x86-64: ": elsewhere("tests/long/test-gcc-versions.sh"),
        "ok: clang 18.1.8": elsewhere("tests/long/test-llvm-versions.sh"),
    },
    "docs/guide.md": {
        '#include "fastsdt.h"': fragment("void f(int key, long size)"),
        "if (FASTSDT_IS_ACTIVE(cache, hit))": fragment("int expensive(int key); void f(int key)"),
        "FASTSDT_NAMED(shop, order, ": fragment("void f(int next_id, const char *what, long price)"),
        "$ fastsdt-check -P order shop": session("""mkdir -p src && cat >src/shop.c <<'E'
#include <fastsdt.h>

void buy(int next_id, const char *what, long price);
void buy(int next_id, const char *what, long price)
{
    FASTSDT_NAMED(shop, order, (int, id, next_id), (const char *, item, what), (long, cents, price));
}
int main(void) { return 0; }
E
cc -O2 -g -Iinclude src/shop.c -o shop"""),
    },
    "docs/recorded/kernels.md": {"tests/kernel/run-matrix.sh": elsewhere("tests/kernel/run-matrix.sh", "tests/kernel/update-docs.sh")},
    "docs/linking.md": {
        "find_package(fastsdt REQUIRED)": elsewhere("tests/linker/cmake.sh", "cmake/fastsdt_target.cmake"),
        "-Wl,-z,separate-loadable-segments": elsewhere("cmake/fastsdt_target.cmake", "cmake/fastsdt.mk", says=["-z,separate-loadable-segments"]),
        "ld.bfd -T fastsdt.ld": elsewhere("tests/linker/script.sh", "linker/fastsdt.ld", says=["fastsdt.ld"]),
    },
    "docs/recorded/report-binutils.md": {"sites() {": run(
        want=lambda: need(have("clang-19") or have("clang"), "no clang"),
        setup='have() { command -v "$1" >/dev/null; }; have clang || clang() { clang-19 "$@"; }',
        change=[("10000 20000 40000", "100 200"), ("sites 20000", "sites 200"), ("20000.s", "200.s")])},
    "docs/tracers.md": {
        "cc -Iinclude examples/probes.c": run(change=[("4711", "$$"), ("/usr/bin/shop", "hello")],
                                              setup=f"""cc -O2 -Iinclude examples/hello.c -o hello
            export LIBRARY_PATH={build}/lib LD_LIBRARY_PATH={build}/lib PKG_CONFIG_PATH={build}/cmake""")},
    "docs/recorded/tracers.md": {"hazard shown: ": elsewhere("tests/kernel/layouts.sh", says=["hazard shown: "])},
    "docs/install.md": {first: INSTALL for first in [
        "cmake -S", "#include <sys/sdt.h>", "cp -r", "cmake_minimum_required", "project(", "meson setup", "AC_INIT", "AUTOMAKE_OPTIONS",
        "bin_PROGRAMS",
        "autoreconf", "CFLAGS =", "make", "[source.crates-io]", "[package]", "fn main", 'extern "C"', "cargo build"]} | {
        "packaging/static.sh": elsewhere("packaging/static.sh", "tests/static/in_root.sh", says=["packaging/static.sh", "-e"])},
    "docs/tutorial.md": {"": elsewhere("tests/docs/tutorial.py")},
    "docs/go.md": {"": elsewhere("tests/docs/go.py")},
    "go/fastsdt/README.md": {
        "package main": lambda text: None if text in open(f"{source}/go/fastsdt/example/main.go").read() else "not what go/fastsdt/example/main.go has",
        "$ ": elsewhere("tests/go/readme.sh"),
        "add ": elsewhere("tests/go/probes.sh")},
    "python/README.md": {"": elsewhere("tests/python/package.sh", "tests/python/readme.py")},
    "rust/README.md": {"": elsewhere("tests/rust/crate.sh", "rust/src/lib.rs")},
    "rust/trace/README.md": {
        "[dependencies]": elsewhere("rust/trace/Cargo.toml", says=["fastsdt-trace"]),
        "let trace": lambda text: None if all(line.strip() in open(f"{source}/rust/trace/examples/shop.rs").read() for line in text.split("\n")) else
            "not what rust/trace/examples/shop.rs has"},
    "docs/man/fastsdt-check.1.scd": {"fastsdt-check": run(
        setup="cc -O2 -Iinclude examples/hello.c -o hello; for f in libfoo.so program; do ln -sf hello $f; done; printf '#include <fastsdt.h>\\nvoid f(void); void f(void) { FASTSDT(tcl, proc__entry); }\\n' | cc -O2 -Iinclude -shared -fPIC -x c - -o libtcl8.6.so", status=(0,))},
    "docs/man/fastsdt-dtrace.1.scd": {"dtrace -h": run(
        want=lambda: need(have("aarch64-linux-gnu-gcc"), "no cross compiler"),
        setup=shop_d + 'mkdir -p dtrace-bin; ln -sf "$(command -v fastsdt-dtrace)" dtrace-bin/dtrace; PATH=$PWD/dtrace-bin:$PATH')},
    "docs/man/fastsdt-index.1.scd": {"go build": elsewhere("tests/go/probes.sh", "tests/go/common.sh", says=["fastsdt-index --toolexec"]),
                                     "cc -O2": run(
        want=lambda: need(have("mold"), "no mold"), setup="mkdir -p index; cp examples/hello.c index; cd index",
        change=[("cc -O2", "cc -I../include -O2")])},
    "docs/man/fastsdt-probe.1.scd": {"fastsdt-probe": run(
        want=lambda: need(can_trace, "fastsdt-probe: needs root and uprobes"),
        setup="""printf '#include <fastsdt.h>\\n#include <unistd.h>\\nint main(int c, char **v) { FASTSDT(app, request, c); if (c == 2 && v[1][0] == 0x77) sleep(100); return 0; }\\n' >server.c
            cc -O2 -Iinclude server.c -o server; cp server a.out; ./server wait & pid=$!; trap 'kill $pid' EXIT""",
        change=[("--pid 4711 --seconds 10", "--pid $pid --seconds 0.1")])},
    "docs/man/fastsdt-trace.1.scd": {
        # The server: orders without an end.
        "fastsdt-trace functions": run(want=on_x86,
            setup="cc -O2 -Iinclude examples/hello.c -o app; ./app - </dev/zero >/dev/null & trap 'kill $!' EXIT; until [ /proc/$!/exe -ef app ]; do :; done",
            change=[("-t 10", "-t 0.2"), ("--exe server", "--exe ./app")]),
        "fastsdt-trace": run(want=on_x86, setup="rm -rf trace; cc -O2 -Iinclude examples/hello.c -o app")},
    "docs/fleet.md": {
        "// /etc/fastsdt/trace.json": serve,
        "scrape_configs:": promtool("config"),
        "groups:": promtool("rules")},
    "docs/runtime-probes.md": {
        "#include <fastsdt/probes.h>": lambda text: open("shop.c", "w").write(text) and None,
        "$ cc -O2 shop.c": runtime_probes,
        "const koffi": elsewhere("tests/probes/node.sh", says=["koffi"]),
        "package main": elsewhere("tests/probes/go.sh"),
        "LD_LIBRARY_PATH=": elsewhere("tests/probes/python.sh", says=["LD_LIBRARY_PATH="])},
    "docs/seccomp.md": {
        "fastsdt-trace --dry-run -e": run(want=lambda: (on_x86(), need(have("perl"), "no perl"))),
        # Nobody runs that server here: status 1 says that nothing matched.
        "fastsdt-trace --read-memory -e": run(want=lambda: (on_x86(), need(os.path.exists("/usr/lib/postgresql/15/bin/postgres"), "no PostgreSQL")),
            change=[("--read-memory", "--read-memory -t 0.1")], status=(0, 1))},
    "docs/profiling.md": {
        "fastsdt-trace --folded": run(want=on_x86),
        "fastsdt-trace --pprof": run(want=lambda: (on_x86(), need(have("go"), "no Go")), setup="export PPROF_TMPDIR=$PWD HOME=$PWD")},
    "docs/stacks.md": {"fastsdt-trace": run(want=on_x86, setup="cc -O2 -Iinclude examples/hello.c -o app")},
    "docs/timelines.md": {"fastsdt-trace record": run(want=timelines, setup=f"""rm -rf trace calls some; cc -O2 -Iinclude examples/hello.c -o app
            {traced_functions}""")},
    "docs/tracing.md": {
        "fastsdt-trace -e": run(want=on_x86, setup="cc -O2 -Iinclude examples/hello.c -o app"),
        "fastsdt-trace top": run(want=timelines, setup=f"cc -O2 -Iinclude examples/hello.c -o app; {traced_functions}")},
    "docs/tools.md": {
        "fastsdt-trace /usr/share": elsewhere("tests/share/libraries.sh", says=["gethostlatency.bt", "--ms="])},
    "docs/recorded/tools.md": {"$ fastsdt-trace ": ready_tool, "$ USE_ZEND_DTRACE=1 fastsdt-trace ": ready_tool},
    "docs/unmodified-programs.md": {
        "fastsdt-trace -e": run(want=on_x86),
        "fastsdt-trace latency ./server:main.handle": elsewhere("tests/engine/go.sh", says=['"main.(*server).add"'])},
    "docs/man/fastprobe.7.scd": {
        "gcc-12 -O2 -fplugin=/usr/local/lib/fastsdt/gcc-12/fastprobe.so -fplugin-arg-fastprobe-exit": run(want=traced(with_plugin()),
            setup="echo 'int main(void) { return 0; }' >a.c", change=[("/usr/local/lib/fastsdt", build)]),
        "gcc-12 -O2 -fplugin=/usr/local/lib/fastsdt/gcc-12/fastprobe.so -c": run(want=with_plugin(), setup="echo 'int f(int a) { return a; }' >a.c",
            change=[("/usr/local/lib/fastsdt", build)]),
        "g++-12 -O2": run(want=with_plugin(), setup="echo 'namespace net { int f(int a) { return a; } }' >a.cpp",
                          change=[("/usr/local/lib/fastsdt", build)]),
        "clang++-19 -O2 -flto": run(want=with_plugin("clang++-19", "ld.lld-19"), change=[("/usr/local/lib/fastsdt", build)],
            setup="echo 'int main() { return 0; }' >a.cpp"),
        "opt-19": run(want=with_plugin("clang-19", "opt-19", "llc-19"), change=[("/usr/local/lib/fastsdt", build)],
            setup="echo 'int main(void) { return 0; }' >a.c; clang-19 -O2 -S -emit-llvm a.c -o a.ll"),
    },
}


def do_blocks(path):
    global ran
    unused = dict(RULES.get(path, {}))
    for line, first, text in blocks(path):
        rule = next((key for key in RULES.get(path, {}) if first.startswith(key)), None)
        if rule is None:
            problems.append(f"{path}:{line}: a new block; say in tests/docs/docs.py how it is run: {first}")
            continue
        unused.pop(rule, None)
        try:
            problem = RULES[path][rule](text)
        except LeftOut as reason:
            left_out.append(f"{path}:{line}: {reason}")
            continue
        ran += 1
        if problem:
            problems.append(f"{path}:{line}: {problem}")
    if path != "docs/install.md":
        problems.extend(f"{path}: no block begins with '{key}' any more" for key in unused)


# ---- Paths and links

def anchors(path):
    for line in open(path):
        if line.startswith("#"):
            yield re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")


def do_links(path):
    text = open(os.path.join(source, path)).read()
    where = os.path.dirname(os.path.join(source, path))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(where, name)) if name else os.path.join(source, path)
        if not os.path.exists(file):
            problems.append(f"{path}: the link to {target} leads nowhere")
        elif anchor and anchor not in anchors(file):
            problems.append(f"{path}: {name or path} has no heading #{anchor}")
    for name in re.findall(r"`\.?/?((?:scripts|tests|bench|examples|lib|docs|tools|trace|cmake|linker|include|fastprobe|llvm-pass|gcc-plugin|python|rust|go)/[\w./*-]*)", text):
        if name.startswith(("lib/fastsdt", "lib/x86_64")): # where things are installed
            continue
        if not glob.glob(os.path.join(source, name.rstrip("."))) and not glob.glob(os.path.join(source, name.rstrip(".") + ".*")):
            problems.append(f"{path}: {name} is not there")


def do_tables(path):
    """Every row of a table has as many cells as its head: a row of another table, or a cell with a bar of its own, is seen so."""
    head, fenced = None, False
    for number, line in enumerate(open(os.path.join(source, path)), 1):
        fenced ^= line.startswith("```")
        if fenced or not line.startswith("|"):
            head = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        head = head or cells
        if cells != head:
            problems.append(f"{path}:{number}: {cells - 1} cells, where the head of the table has {head - 1}")


os.makedirs("build", exist_ok=True)
for name in ["examples", "include", "tests", "scripts", "bench"]:
    if not os.path.islink(name):
        os.symlink(os.path.join(source, name), name)
if not os.path.islink("build/default"):
    os.symlink(build, "build/default")
os.environ["PATH"] = os.path.join(build, "bin") + ":" + os.environ["PATH"]
os.environ["LC_ALL"] = "C.UTF-8"
pages = ["*.md", "docs/*.md", "docs/recorded/*.md", "python/*.md", "rust/*.md", "rust/*/*.md", "go/*/*.md"]
markdown = sorted(os.path.relpath(f, source) for pattern in pages for f in glob.glob(os.path.join(source, pattern)))
for path in markdown + sorted(os.path.relpath(f, source) for f in glob.glob(os.path.join(source, "docs/man/*.scd"))):
    do_blocks(path)
for path in markdown:
    do_links(path)
    do_tables(path)
for reason in left_out:
    print("not run:", reason)
for problem in problems:
    print("FAIL:", problem, file=sys.stderr)
print(f"{ran} blocks, {len(left_out)} not run, {len(problems)} problems")
sys.exit(bool(problems))

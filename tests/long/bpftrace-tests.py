#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bpftrace's own runtime tests, run by fastsdt-trace: those whose probes are usdt, uprobe, uretprobe, BEGIN, END, interval and profile.

    tests/long/bpftrace-tests.py [--only PATTERN] [--verbose] [--record FILE] [--folder DIR] [--sources DIR]

The newest source package of bpftrace that Debian has is fetched (scripts/common/upstream-source.sh), or --sources names another directory with
bpftrace's sources. Its test programs are built with fastsdt's <sys/sdt.h>. A test is what
bpftrace's runner makes of it: a command and a pattern that its output has to have. Two things differ. A program that a test starts before or
after bpftrace is the traced COMMAND here, since fastsdt-trace traces processes and not files; and "Attaching N probes" is compared with the line that
says that all sites were armed. --record writes the table of docs/bpftrace-tests.md; the status is 1 where a row of it has no reason."""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# Words of a script or a command that only the kernel, or bpftrace itself, has something for.
KERNEL_PROBES = (
    r"(?:^|[\s;},'\"])"
    r"(kprobe|k|kretprobe|kr|tracepoint|t|rawtracepoint|rt|software|s|hardware|h|watchpoint|w|asyncwatchpoint|aw"
    r"|kfunc|f|fentry|kretfunc|fr|fexit|iter|it|bench|test)(?=:[\w*?./$]+)"
)
KERNEL_WORDS = (
    r"\b(kstack|curtask|jiffies|ctx|cgroup|cgroupid|cgroup_path|ksym|kaddr|kptr|percpu_kaddr|debugf|skboutput|socket_cookie|path)\b"
    r'|struct task_struct|%gr|_kfunc\b|import "'
)
OF_BPFTRACE = {
    r"--info|--version|\{\{BPFTRACE\}\} -h|-idonotexist|--aot|AOTRT|BPFTRACE_LOG_SIZE|-d -e|--no-warnings|-lv? *\S*(kfunc|k?probe:|kretprobe|tracepoint|software|hardware)":
        "bpftrace's own options",
    r"-l *(\||\"\*(do_nanosleep|sched_switch|ware))|-l '\\n'": "lists the kernel's probes",
}

# Why a test that concerns the user engine does not run the same, where the tool's own sentence does not tell it.
REASONS = {
    "basic.errors on non existent file": "it fails too, with a sentence of other words",
    "basic.pid fails validation with leading non-number": "it fails too, with a sentence of other words",
    "basic.pid fails validation with non-number in between": "it fails too, with a sentence of other words",
    "basic.pid fails validation with non-numeric argument": "it fails too, with a sentence of other words",
    "basic.pid outside of valid pid range": "it fails too, with a sentence of other words",
    "basic.kaddr fails": "it fails too, with a sentence of other words",
    "basic.non existent library include fails": "it fails too, with a sentence of other words",
    'builtin.cat "no such file"': "it fails too, with a sentence of other words",
    "call.print_non_map_builtin": "BEGIN's comm is the tool's own name, fastsdt-trace",
    "json-output.print_non_map_builtin": "BEGIN's comm is the tool's own name, fastsdt-trace",
    "other.if_compare_and_print_string": "BEGIN's comm is the tool's own name, fastsdt-trace",
    "json-output.complex": "BEGIN's comm is the tool's own name, fastsdt-trace",
    "file-output.system stdout to file": "system() runs commands as root in bpftrace, with --unsafe; not here",
    "json-output.invalid_format": "it fails too, with a sentence of other words",
    "json-output.helper_error": "errors of BPF's helpers, which are not used",
    "other.runtime_error_check_delete": "warnings of BPF's helpers, which are not used",
    "other.runtime_error_check_lookup": "warnings of BPF's helpers, which are not used",
    "btf.enum_value_reference": "the kernel's types",
    "probe.uprobe_address_fail_resolve": "there is no process to trace: fastsdt-trace traces processes and not files",
    "probe.uprobe_order": "two processes, one after the other: a map that is assigned is each one's own while they run",
    "probe.uretprobe_order": "two processes, one after the other: a map that is assigned is each one's own while they run",
    "regression.address_probe_invalid_expansion": "there is no process to trace: fastsdt-trace traces processes and not files",
    "array.array element access - out of bounds runtime": "nothing is said of an index that is known only at the hit",
    "builtin.sizeof": "integers have 64 bits until they are cast, as in 0.17",
    "macro.it accepts typeof expressions for nested casts": "a literal has 64 bits until it is cast, as in 0.17",
    "tuples.complex tuple 4": "integers have 64 bits until they are cast, as in 0.17",
    "call.errorf_macro_expansion": "the place is the macro's, and not that of its call too",
    "call.ustack_with_inlined_funcs": "the outer frames are libc's, which have other names here",
    "call.tseries multiple": "bpftrace has 0 in an interval that its clock, which is 0 in this test, begins with",
    "json-output.multiple time series": "bpftrace has 0 in an interval that its clock, which is 0 in this test, begins with",
    "json-output.none type": "bpftrace has no floating-point numbers, and prints none",
    "dwarf.parse DWO debuginfo - arg by name": "types are not read from split DWARF",
    "dwarf.parse DWP debuginfo - arg by name": "types are not read from split DWARF",
    "stdlib.assert_macro": "the place is the script's, and not that of bpftrace's own text",
    "config.bad config": "the place of an error is where it begins",
    "builtin.config builtin reads integer, string, and boolean": "a string has 64 bytes, as in 0.17",
    "json-output.attached probes": "the last line says what was armed",
    "other.exit with unreachable code": "nothing is said of statements behind exit()",
    "other.invalid license": "there is no program that needs one",
    "probe.uprobe_multi_wildcard": "bpftool is not installed",
    "regression.zero_modulo": "x % 0 is x, as in 0.17",
    "regression.zero_divide": "x / 0 is 0, as in 0.17",
    "json-output.strftime": "bpftrace prints a line of its own first, which the test cuts off",
    "signals.strace no quit": "strace is not installed",
    "signals.print all maps on sigusr1": "it looks for a process named bpftrace; tests/engine/output.sh does the same",
    'uprobe."uprobes - probe function in non-executable library"': "there is no process to trace: fastsdt-trace traces processes and not files",
    'usdt."usdt probes - file based semaphore activation no process"': "there is no process to trace: fastsdt-trace traces processes and not files",
    'usdt."usdt probes - file based semaphore activation no process, kernel usdt semaphore"': "there is no process to trace: fastsdt-trace traces processes and not files",
    'usdt."usdt probes in multiple modules"': "there is no process to trace: fastsdt-trace traces processes and not files",
    'usdt."usdt probes - attach to probe on multiple files by wildcard"': "there is no process to trace: fastsdt-trace traces processes and not files",
    'usdt."usdt probes - file based semaphore activation multi process"': "two processes: a map that is assigned is each one's own while they run",
}


class Test:
    """A block of lines, a directive each.

    Until 0.23 EXPECT is a pattern; since, it is a whole line, EXPECT_REGEX a pattern, and there may be several of both."""

    def __init__(self, suite, lines, literal):
        self.suite, self.name, self.command, self.program, self.env, self.requires = suite, "", "", "", {}, ""
        self.expects, self.before, self.after, self.setup, self.cleanup, self.arch = [], "", "", "", "", ""
        self.will_fail, self.own_pid_namespace, self.time = False, False, None
        last = ""
        for line in lines:
            if last and line[: len(last) + 1].isspace():
                if last == "PROG":
                    self.program += "\n" + line[len(last) + 1 :]
                elif last in ("EXPECT", "EXPECT_REGEX"):
                    self.expects[-1][1] += "\n" + line[len(last) + 1 :]
                continue
            word, _, rest = line.strip().partition(" ")
            rest, last = rest.strip(), word
            if word == "NAME":
                self.name = rest
            elif word == "RUN":
                self.command = rest
            elif word == "PROG":
                self.program = rest
            elif word == "EXPECT" and not literal:
                self.expects.append(["EXPECT_REGEX", " ".join(line.split()[1:])])
            elif word.startswith("EXPECT"):
                self.expects.append([word, rest])
            elif word == "BEFORE":
                self.before = self.before or rest
            elif word == "AFTER":
                self.after = rest
            elif word == "SETUP":
                self.setup = rest
            elif word == "CLEANUP":
                self.cleanup = rest
            elif word == "ENV":
                self.env = dict(each.split("=") for each in rest.split())
            elif word == "ARCH":
                self.arch = rest
            elif word == "REQUIRES_FEATURE":
                self.requires = rest
            elif word == "LOCALIZE_TIMESTAMPS":
                self.time = int(rest)
            elif word == "NEW_PIDNS":
                self.own_pid_namespace = True
            elif word == "WILL_FAIL" or (word == "RETURN_CODE" and rest != "0"):
                self.will_fail = True
        if self.program:
            format = "-q -f json " if self.expects and self.expects[0][0] == "EXPECT_JSON" else ""
            self.command = f"{{{{BPFTRACE}}}} {format}-e {shlex.quote(self.program)}"

    def concerns_us(self, script):
        """Empty, or what it needs of the kernel or of bpftrace."""
        wanted = [each.strip() for each in self.arch.split("|") if each.strip()]
        own = {os.uname().machine, "le" if sys.byteorder == "little" else "be"}
        if any(each[1:] in own for each in wanted if each[0] == "!") or (any(each[0] != "!" for each in wanted) and not own & set(wanted)):
            return "for another architecture"
        if any(each.startswith("!") for each in self.requires.split()):
            return "for a kernel or a build that lacks something"
        for pattern, what in OF_BPFTRACE.items():
            if re.search(pattern, self.command + " ".join(self.env)):
                return what
        found = re.search(KERNEL_PROBES, script)
        if found:
            return f"a probe of the kernel: {found.group(1)}"
        found = re.search(KERNEL_WORDS, re.sub(r'"(\\.|[^"\\])*"', '""', script))
        return f"a word of the kernel: {found.group(0).strip()}" if found else ""


def is_literal(folder):
    """Its tests are written as since 0.24."""
    return "EXPECT_REGEX" in open(f"{folder}/tests/README.md").read()


def read_tests(folder):
    literal = is_literal(folder)
    tests = []
    for path in sorted(glob.glob(f"{folder}/tests/runtime/*")):
        if not os.path.isfile(path):
            continue
        block = []
        for line in open(path).read().split("\n") + [""]:
            if line.startswith("#"):
                continue
            if line:
                block.append(line)
            elif block:
                tests.append(Test(os.path.basename(path), block, literal))
                block = []
    return tests


def build(folder, into):
    """The test programs, as bpftrace's tests/CMakeLists.txt has them."""
    os.makedirs(f"{into}/testprogs", exist_ok=True)
    os.makedirs(f"{into}/testlibs", exist_ok=True)
    if not os.path.exists(f"{into}/runtime"):
        os.symlink(f"{folder}/tests/runtime", f"{into}/runtime")
    def compile_to(output, *words):
        if not os.path.exists(output):
            compiler = "g++" if words[0].endswith(".cpp") else "gcc"
            flags = ["-g", "-O0", "-fno-omit-frame-pointer", "-w", "-pthread", "-DHAVE_SYSTEMTAP_SYS_SDT_H", f"-I{source}/include"]
            flags += [f"-I{folder}/tests/testlibs", f"-I{folder}/tests/include"]
            subprocess.run([compiler, *flags, "-o", output, *words], check=True)
    for each in glob.glob(f"{folder}/tests/testlibs/*.c"):
        compile_to(f"{into}/testlibs/lib{os.path.basename(each)[:-2]}.so", each, "-shared", "-fPIC")
    for each in glob.glob(f"{folder}/tests/testprogs/*.c*"):
        name = os.path.basename(each).split(".")[0]
        if name == "CMakeLists":
            continue
        more = ["-fPIC", f"-L{into}/testlibs", "-lusdt_tp", f"-Wl,-rpath,{into}/testlibs"] if name == "usdt_lib" else []
        compile_to(f"{into}/testprogs/{name}", each, "-no-pie", *more)
        compile_to(f"{into}/testprogs/{name}-pie", each, "-fpie", "-pie", *more)
    separate_debug_files(f"{folder}/tests/testprogs/uprobe_test.c", f"{into}/testprogs")


def separate_debug_files(program, into):
    """A stripped program whose debug file is elsewhere, and two with split DWARF: beside it, and packaged."""
    outside = f"{into}/external_debug"
    packager = shutil.which("llvm-dwp") or next(iter(sorted(glob.glob("/usr/bin/llvm-dwp-*"))), "dwp")
    if os.path.exists(outside) or not os.path.exists(program):
        return
    commands = [
        f"mkdir -p {outside}/dwo {outside}/dwp",
        f"objcopy --only-keep-debug {into}/uprobe_test {outside}/uprobe_test-stripped.debug",
        f"objcopy --strip-debug {into}/uprobe_test {into}/uprobe_test-stripped",
        f"gcc -g -O0 -w -gsplit-dwarf {program} -o {outside}/dwo/uprobe_test-split",
        f"gcc -g -O0 -w -gsplit-dwarf {program} -o {outside}/dwp/uprobe_test-split",
        f"cd {outside}/dwp && {packager} -e uprobe_test-split -o uprobe_test-split.dwp && rm -f *.dwo",
    ]
    subprocess.run(["bash", "-c", "set -e; " + "; ".join(commands)], check=True)
    os.symlink("testprogs/external_debug", f"{os.path.dirname(into)}/external_debug") # bpftrace looks from the program's folder


WRAPPER = r'''#!/usr/bin/env python3
# bpftrace's command line as fastsdt-trace has it. Its first line is bpftrace's, and its last one goes to standard error.
import os, re, signal, subprocess, sys
words, to, has_target, is_quiet = sys.argv[1:], [os.path.dirname(os.path.abspath(sys.argv[0])) + "/tool/bpftrace", "--like", os.environ["LIKE"]], False, False
while words:
    word = words.pop(0)
    if word == "-f":
        format = words.pop(0)
        to += ["--json"] if format == "json" else [] if format == "text" else ["-f", format]
    elif word in ("-q", "-v", "-kk", "-k"):
        is_quiet = is_quiet or word == "-q"
    elif word == "--usdt-file-activation":
        pass
    elif word == "-ve":
        to.append("-e")
    else:
        has_target = has_target or word in ("-c", "-p", "-l", "-lv")
        to.append("-l" if word == "-lv" else word)
if not has_target and os.environ.get("TEST_COMMAND"):
    to += ["-c", os.environ["TEST_COMMAND"]]
if not is_quiet and "--json" not in to and "-l" not in to:
    print("Attaching probes...", flush=True)
tool = subprocess.Popen(to, stdout=subprocess.PIPE)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: tool.send_signal(number))
last = re.compile(rb'(\{"type": "|)sites(": |", "data| \d+ of \d+ armed)')
for line in tool.stdout:
    found = last.search(line)
    sys.stdout.buffer.write(line[:found.start()] if found else line)
    sys.stderr.buffer.write(line[found.start():] if found else b"")
    sys.stdout.flush()
sys.exit(tool.wait() % 256)
'''


def run(test, folder):
    """What it printed, and its status."""
    env = dict(os.environ, test=test.name, **test.env)
    command = test.command.replace("{{BPFTRACE}}", f"{folder}/bpftrace")
    if test.setup:
        subprocess.run(["bash", "-c", test.setup], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = None
    program = (test.before or test.after).split(";")[0]
    if "{{BEFORE_PID}}" in command or "pidof" in command:
        started = subprocess.Popen(shlex.split(test.before), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        pid = started.pid
        command = re.sub(r"\{\{BEFORE_PID\}\}|\$\(pidof \w+\)", str(pid), command)
    elif program and " -c " not in command:
        env["TEST_COMMAND"] = program
    done = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True,
                            errors="replace")
    try:
        out, err = done.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGTERM)
        try:
            out, err = done.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            out, err = done.communicate()
        err = "(it did not end)\n" + err
    if started:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    if test.cleanup:
        subprocess.run(["bash", "-c", test.cleanup], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out, err, done.returncode


def is_met(kind, wanted, out, err, moment):
    """One of EXPECT and its like, looked for in standard output and standard error, whichever comes first.

    moment: whose parts the expected file has as strftime() names them; None: it has none."""
    # Where a script has no file, and what an error begins with, is the tool's own word.
    err = re.sub(r"^-e:", "stdin:", re.sub(r"(^|: )error: ", r"\1ERROR: ", err, flags=re.M), flags=re.M)
    attaching = re.match(r"\^?(?:Attaching|Attached) (\d+) probes?", wanted)
    if attaching:
        armed = re.search(r"^sites (\d+) of (\d+) armed", err, re.M)
        return bool(armed) and armed.group(1) == armed.group(2)
    both = (out + err, err + out)
    if kind in ("EXPECT", "EXPECT_NONE"):
        found = re.search(rf"^\s*{re.escape(wanted)}\s*$", both[0], re.M)
        return bool(found) == (kind == "EXPECT")
    if kind in ("EXPECT_REGEX", "EXPECT_REGEX_NONE"):
        return any(re.search(wanted, each, re.M) for each in both) == (kind == "EXPECT_REGEX")
    out = re.sub(r"^Attaching probes\.\.\.\n", "", out).strip()
    expected = open(wanted).read().strip()
    if moment is not None:
        expected = time.strftime(expected, time.localtime(moment))
    if kind == "EXPECT_FILE":
        return out == expected
    is_lines = wanted.endswith(".ndjson")
    def read(text):
        return [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    try:
        return read(out) == read(expected)
    except ValueError:
        return False


def is_same(test, out, err, status):
    return all(is_met(kind, wanted, out, err, test.time) for kind, wanted in test.expects) and (status != 2 or test.will_fail)


def reason_of(err):
    for pattern in (r"error: (.*)", r"armed \((.*)\)", r"fastsdt-trace: (?!engine user|bpftrace )(.*)"):
        found = re.search(pattern, err)
        if found:
            return re.sub(r"; a command to be traced goes behind --|; see fastsdt-trace --help|process \d+: ", "", found.group(1))
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="tests whose SUITE.NAME has this pattern")
    parser.add_argument("--verbose", action="store_true", help="show what each of the others printed")
    parser.add_argument("--record", default="", help="write the table to this file")
    parser.add_argument("--folder", default=os.path.expanduser("~/.cache/fastsdt/bpftrace-tests"), help="where sources and programs are")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at once")
    parser.add_argument("--sources", default="", help="bpftrace's sources, if not those of Debian's newest suite")
    options = parser.parse_args()
    options.record = options.record and os.path.abspath(options.record)
    if not options.sources:
        newest = dict(os.environ, FASTSDT_SUITE="sid")
        got = subprocess.run([f"{source}/scripts/common/upstream-source.sh", "bpftrace", options.folder], check=False, env=newest)
        if got.returncode != 0:
            sys.exit(got.returncode)
    folder = os.path.abspath(options.sources) if options.sources else f"{options.folder}/bpftrace"
    into = f"{options.folder}/programs"
    build(folder, into)
    with open(f"{into}/bpftrace", "w") as file:
        file.write(WRAPPER)
    os.chmod(f"{into}/bpftrace", 0o755)
    # BEGIN's comm, and what pidof finds, is the tool's name.
    os.makedirs(f"{into}/tool", exist_ok=True)
    if not os.path.lexists(f"{into}/tool/bpftrace"):
        os.symlink(shutil.which("fastsdt-trace"), f"{into}/tool/bpftrace")
    # Programs that scripts run, and no bpftrace to which scripts could be handed over.
    os.makedirs(f"{into}/path", exist_ok=True)
    for each in glob.glob("/usr/bin/*") + glob.glob("/usr/sbin/*"):
        name = os.path.basename(each)
        if not name.startswith("bpftrace") and not os.path.lexists(f"{into}/path/{name}"):
            os.symlink(each, f"{into}/path/{name}")
    os.environ["PATH"] = f"{into}/path"
    os.environ["LIKE"] = "0.27" if is_literal(folder) else "0.17"
    os.chdir(into)
    rows, counts = [], {"same": 0, "other": 0, "kernel": 0}
    chosen = [test for test in read_tests(folder) if re.search(options.only, f"{test.suite}.{test.name}")]
    scripts = []
    for test in chosen:
        script = test.command
        for name in re.findall(r"runtime/scripts/\S+\.bt", script):
            script += open(name).read()
        scripts.append(script)
    files = threading.Lock() # of tests that write the same one
    def run_alone(test):
        with files if test.suite == "file-output" else contextlib.nullcontext():
            return run(test, into)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    results = [None if test.concerns_us(script) else pool.submit(run_alone, test) for test, script in zip(chosen, scripts)]
    for test, script, result in zip(chosen, scripts, results):
        if not result:
            rows.append((test, "kernel", test.concerns_us(script)))
            counts["kernel"] += 1
            continue
        out, err, status = result.result()
        same = is_same(test, out, err, status)
        counts["same" if same else "other"] += 1
        reason = "" if same else REASONS.get(f"{test.suite}.{test.name}") or reason_of(err)
        rows.append((test, "same" if same else "other", reason))
        print(f"{'same ' if same else 'OTHER'} {test.suite}.{test.name}{': ' + reason if reason else ''}", flush=True)
        if options.verbose and not same:
            print(f"    {test.command}\n    before {test.before!r} after {test.after!r} expect {test.expects!r}\n    status {status} out {out!r} err {err!r}")
    print(f"{counts['same']} the same, {counts['other']} other, {counts['kernel']} of the kernel or bpftrace")
    if options.record:
        record(options.record, rows, counts, version_of(folder))
    return 1 if any(result == "other" and not reason for _, result, reason in rows) else 0


def version_of(folder):
    numbers = [re.search(rf"bpftrace_VERSION_{part} (\d+)", open(f"{folder}/CMakeLists.txt").read()) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(number.group(1) for number in numbers if number)


def record(path, rows, counts, version):
    cell = lambda text: text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*").replace("_", "\\_")
    concern = counts["same"] + counts["other"]
    suites = {}
    for test, result, _ in rows:
        suites.setdefault(test.suite, collections.Counter())[result] += 1
    kernel = collections.Counter(reason for _, result, reason in rows if result == "kernel")
    with open(path, "w") as file:
        file.write(f"""# bpftrace's own runtime tests

Which of bpftrace's tests pass here? `tests/long/bpftrace-tests.py --record docs/bpftrace-tests.md` runs the runtime tests of bpftrace {version}
(`--sources` may name others than those of Debian's newest suite) in fastsdt-trace, as root, where no bpftrace is installed to which it could hand a
script over. A test is a command, and a pattern that the output must have. A program that a test starts before or after bpftrace is the traced
command here. Where a test expects `Attaching N probes`, the line about the armed sites is looked at instead. The script prints each test's result.

Of {concern + counts['kernel']} tests {concern} have only probes and words of programs: usdt, uprobe, uretprobe, BEGIN, END, interval and profile. **{counts['same']} of these {concern} give what bpftrace's
tests expect.** *auto* gives scripts with probes of the kernel to bpftrace.

## Not the same

| test | why |
|---|---|
""")
        for test, result, reason in rows:
            if result == "other":
                file.write(f"| {cell(test.suite)}: {cell(test.name)} | {cell(reason)} |\n")
        file.write("\n## Of the kernel, or of bpftrace itself\n\n| tests | why they are left to bpftrace |\n|---|---|\n")
        for reason, number in kernel.most_common():
            file.write(f"| {number} | {cell(reason)} |\n")
        file.write("\n## Each suite\n\n| suite | same | not the same | left to bpftrace |\n|---|---|---|---|\n")
        for suite, of in suites.items():
            file.write(f"| {cell(suite)} | {of['same']} | {of['other']} | {of['kernel']} |\n")


if __name__ == "__main__":
    sys.exit(main())

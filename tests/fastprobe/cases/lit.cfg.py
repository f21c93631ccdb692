# SPDX-License-Identifier: BSD-2-Clause
"""The cases of fastprobe, for lit. ../suite.sh runs it for one plugin; it says what the parameters are.

In RUN lines:
  %cc, %cxx      the compiler with the plugin
  %fp-KEY=VALUE  an argument of the plugin
  %lto           -flto, and what the link needs for it
  %run           before a program: runs it, on arm64 in qemu
  %entries FILE  prints what stands at each entry (../entries.py)
  %check-NAME    FileCheck with the prefixes NAME and ALL, and each of those followed by -X86 or -ARM64, -GCC or -CLANG,
                 or both: NAME-X86-GCC
  %only-NAME     the same without ALL
Features: gcc or clang, x86-64 or arm64, asan, tsan, split-stack, coverage, return-thunks, function-types, kcfi, ifunc (the compiler can link such programs), gdb.
"""
import os
import shutil
import subprocess

import lit.formats

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.realpath(os.path.join(here, "..", "..", ".."))
param = lit_config.params.get
kind, target, plugin = param("kind"), param("target"), param("plugin")
arm64 = target == "arm64"
sysroot = param("sysroot", "")

config.name = param("name", "fastprobe")
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".cpp"]
config.test_source_root = here
config.test_exec_root = param("work")
config.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # leaks are not the subject
config.environment["PATH"] = os.environ["PATH"]

# Turns off what some distributions' compilers, such as Ubuntu's, do by default.
plain = "-U_FORTIFY_SOURCE -fno-stack-protector -fno-stack-clash-protection " + (
    "-mbranch-protection=none" if arm64 else "-fcf-protection=none")
base = f"-w -I{top}/include {plain} {param('flags', '')} -fplugin={plugin}"
lto = "-flto"
if kind == "clang":  # the linker makes the code, and loads the pass
    lto += f" -fuse-ld=lld -B{os.path.dirname(param('cc').split()[0])} -Wl,-mllvm,-load={plugin[:-3]}-pass.so"
objdump = "aarch64-linux-gnu-objdump" if arm64 else "objdump"
run = f"qemu-aarch64 -cpu max -L {sysroot}/usr/aarch64-linux-gnu" if arm64 else f"chroot {sysroot}" if sysroot else ""
ends = ["", "-ARM64" if arm64 else "-X86"]
ends += [end + "-" + kind.upper() for end in ends]


filecheck = f"bash {here}/../filecheck.sh {param('filecheck')} {','.join(ends)} %s"
config.substitutions += [
    ("%cc", f"{param('cc')} {base}"),
    ("%cxx", f"{param('cxx')} {base}"),
    ("%fp-", "-fplugin-arg-fastprobe-"),
    ("%lto", lto),
    ("%run ", (run if param("run") != "no" else "true") + " "),
    ("%entries", f"python3 {here}/../entries.py --objdump {objdump}"),
    ("%check-", f"{filecheck} ALL,"),
    ("%only-", f"{filecheck} "),
]


# The address of an ifunc: on arm64 at -O0, clang 14 makes code for it that GNU ld refuses.
program = b"""static int f(void) { return 0; }
static int (*choose(void))(void) { return f; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { int (*volatile p)(void) = %s; return p(); }"""


def links(*flags, function=b"f"):
    return subprocess.run([*param("cc").split(), *flags, "-x", "c", "-", "-o", os.devnull], input=program % function,
                          capture_output=True, cwd=param("work")).returncode == 0


config.available_features |= {kind, target}
for feature, *flags in (["asan", "-fsanitize=address,undefined"], ["tsan", "-fsanitize=thread"],
                        ["split-stack", "-fsplit-stack"], ["coverage", "--coverage"],
                        ["function-types", "-fsanitize=function", "-fsanitize-trap=function"], ["kcfi", "-fsanitize=kcfi"],
                        ["return-thunks", "-mfunction-return=thunk-extern", "-c"]):
    if links(*flags):
        config.available_features.add(feature)
if links("-O0", function=b"chosen"):
    config.available_features.add("ifunc")
if shutil.which("gdb-multiarch" if arm64 else "gdb"):
    config.available_features.add("gdb")

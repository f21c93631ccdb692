# SPDX-License-Identifier: BSD-2-Clause
"""Puts two shared objects into the wheel: libfastsdt-trace, as cmake builds it in the folder FASTSDT_BUILD or in build/python, and probes.so.
The version is that of fastsdt.h, the address that of CMakeLists.txt."""
import os
import re
import shlex
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
SONAME = "libfastsdt-trace.so.0"


def library() -> str:
    build = os.environ.get("FASTSDT_BUILD") or os.path.join(TOP, "build", "python")
    if "FASTSDT_BUILD" not in os.environ:
        parts = [f"-DFASTSDT_{part}=OFF" for part in ("PLUGINS", "MAN", "TESTS", "BENCHMARKS", "EXAMPLES")]
        subprocess.run(["cmake", "-S", TOP, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DFASTSDT_TOOLS=ON", *parts], check=True)
    subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "fastsdt_trace_api"], check=True)
    return os.path.join(build, "lib", SONAME)


class Build(build_py):
    def run(self) -> None:
        super().run()
        folder = os.path.join(self.build_lib, "fastsdt")
        # Without a build ID: tools would take the objects of all probes for one file.
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-O2", "-nostdlib", "-s", "-Wl,--build-id=none",
                        "-I", os.path.join(TOP, "include"), os.path.join(HERE, "probes.c"), "-o", os.path.join(folder, "probes.so")], check=True)
        subprocess.run(["strip", "--strip-unneeded", "-o", os.path.join(folder, SONAME), library()], check=True)


class Wheel(bdist_wheel):
    """For any Python 3 of this platform: the library is no extension module."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


def stated(pattern: str, *path: str) -> str:
    with open(os.path.join(TOP, *path)) as text:
        return re.search(pattern, text.read()).group(1)


setup(version=stated(r'#define FASTSDT_VERSION_STRING "(.*)"', "include", "fastsdt.h"), url=stated(r'HOMEPAGE_URL "(.*)"', "CMakeLists.txt"), cmdclass={"build_py": Build, "bdist_wheel": Wheel})

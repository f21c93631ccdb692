# SPDX-License-Identifier: BSD-2-Clause
"""Puts two shared objects into the wheel, libfastsdt-trace and libfastsdt-probes, and the page that flame graphs are drawn in, as cmake builds them
in the folder FASTSDT_BUILD or in build/python.
The version is that of fastsdt.h, the address that of CMakeLists.txt."""
import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

PAGE = os.path.join("tools", "fastsdt-trace", "page.html")
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
LIBRARIES = {"libfastsdt-trace.so.0": "fastsdt_trace_api", "libfastsdt-probes.so.0": "fastsdt_probes_api"}  # and their targets


def libraries() -> str:
    """The folder of the build."""
    build = os.environ.get("FASTSDT_BUILD") or os.path.join(TOP, "build", "python")
    if "FASTSDT_BUILD" not in os.environ:
        parts = [f"-DFASTSDT_{part}=OFF" for part in ("PLUGINS", "MAN", "TESTS", "BENCHMARKS", "EXAMPLES")]
        subprocess.run(["cmake", "-S", TOP, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DFASTSDT_TOOLS=ON", "-DFASTSDT_PROBES=ON", *parts],
                       check=True)
    subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", *LIBRARIES.values(), "fastsdt_page"], check=True)
    return build


class Build(build_py):
    def run(self) -> None:
        super().run()
        folder = libraries()
        for soname in LIBRARIES:
            subprocess.run(["strip", "--strip-unneeded", "-o", os.path.join(self.build_lib, "fastsdt", soname), os.path.join(folder, "lib", soname)],
                           check=True)
        shutil.copy(os.path.join(folder, PAGE), os.path.join(self.build_lib, "fastsdt"))


class Wheel(bdist_wheel):
    """For any Python 3 of this platform: the library is no extension module."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Binary(Distribution):
    """Its files are for one platform: auditwheel wants its libraries there."""

    def has_ext_modules(self) -> bool:
        return True


def stated(pattern: str, *path: str) -> str:
    with open(os.path.join(TOP, *path)) as text:
        return re.search(pattern, text.read()).group(1)


setup(
    distclass=Binary,
    version=stated(r'#define FASTSDT_VERSION_STRING "(.*)"', "include", "fastsdt.h"),
    url=stated(r'HOMEPAGE_URL "(.*)"', "CMakeLists.txt"),
    cmdclass={"build_py": Build, "bdist_wheel": Wheel},
)

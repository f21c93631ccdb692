# SPDX-License-Identifier: BSD-2-Clause
"""The headers of fastsdt, and its tools where with_tools is set: what they link to is the system's."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class Fastsdt(ConanFile):
    name = "fastsdt"
    description = "USDT probe sites that Linux can trace cheaply"
    license = "BSD-2-Clause"
    topics = ("usdt", "tracing", "probes", "bpf")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_tools": [True, False]}
    default_options = {"with_tools": False}
    # The folder above: the sources are where this file is.
    _sources = ("CMakeLists.txt", "LICENSE", "include", "cmake", "linker", "lib", "uprobes", "engine", "api", "reader", "tools", "probes", "share",
                "docs", "fastprobe", "gcc-plugin", "llvm-pass")

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "fastsdt.h"))
        self.version = re.search(r'#define FASTSDT_VERSION_STRING "(.*)"', header).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for name in self._sources:
            if os.path.isdir(os.path.join(top, name)):
                copy(self, f"{name}/*", top, self.export_sources_folder)
            else:
                copy(self, name, top, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            self.output.warning("probes are off on other systems than Linux")

    def package_id(self):
        if not self.info.options.with_tools:
            self.info.clear()  # headers are the same for every compiler

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TOOLS", "SERVE", "PROBES"):
            toolchain.cache_variables[f"FASTSDT_{part}"] = "ON" if self.options.with_tools else "OFF"
        for part in ("PLUGINS", "MAN", "TESTS", "BENCHMARKS", "EXAMPLES"):
            toolchain.cache_variables[f"FASTSDT_{part}"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    # The project's own CMake files are used: they have fastsdt_target().
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/fastsdt"]
        self.cpp_info.includedirs = ["include", os.path.join("include", "fastsdt", "compat")]
        self.cpp_info.bindirs = ["bin"] if self.options.with_tools else []
        self.cpp_info.libdirs = []
        if self.options.with_tools:
            self.buildenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))

// SPDX-License-Identifier: BSD-2-Clause
// args_dump ARCH < argument strings, one per line: which tracers accept all of each, as "libbpf bcc gdb systemtap"
// with a dash for those that do not. For comparison with the tracers themselves.
#include "arch/args.h"

#include <cstdio>
#include <iostream>
#include <string>

int main(int argc, char** argv)
{
    using namespace fastsdt;
    Arch arch = Arch::unknown;
    for (Arch a : {Arch::x86_64, Arch::i386, Arch::arm64, Arch::arm, Arch::riscv, Arch::s390, Arch::powerpc})
        if (argc == 2 && name(a) == argv[1])
            arch = a;
    if (arch == Arch::unknown)
        return 2;
    for (std::string line; std::getline(std::cin, line);) {
        const auto arguments = parse_arguments(line, arch);
        for (Tracer tracer : tracers) {
            bool accepts = arguments.size() <= most_arguments || tracer != Tracer::libbpf;
            for (const Argument& argument : arguments)
                accepts &= argument.reading(tracer).verdict < ReadingVerdict::rejects;
            std::printf("%s ", accepts ? std::string(name(tracer)).c_str() : "-");
        }
        std::printf("\n");
    }
}

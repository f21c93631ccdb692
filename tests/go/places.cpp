// SPDX-License-Identifier: BSD-2-Clause
// go_places FILE: where go_code() has each function of a Go program, in hexadecimal: its address, its entry, its exits.
#include "movable/go_code.h"

#include <cstdio>

int main(int argc, char** argv)
{
    using namespace fastsdt;
    int status = argc == 2 ? 0 : 2;
    const auto print = [](const Image& image) {
        for (const Function& function : image.functions()) {
            const GoCode code = go_code(image, function);
            std::printf("%llx %llx", static_cast<unsigned long long>(function.address),
                        static_cast<unsigned long long>(code.entry));
            if (!code.exits)
                std::printf(" unknown");
            else
                for (const GoCode::Exit& exit : *code.exits)
                    std::printf(" %llx", static_cast<unsigned long long>(exit.address));
            std::printf("\n");
        }
    };
    if (status == 0)
        Image::each(argv[1], print, [&](const Error&) { status = 1; });
    return status;
}

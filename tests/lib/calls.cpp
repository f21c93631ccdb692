// SPDX-License-Identifier: BSD-2-Clause
// Prints what a file asks of prctl(), of syscall() and of the kernel: calls.sh.
#include "elf/call_constants.h"

#include <cstdio>

int main(int argc, char** argv)
{
    using namespace fastsdt;
    if (argc != 2)
        return 2;
    const auto print = [](const char* name, const Calls& calls) {
        std::printf("%s", name);
        for (const uint32_t number : calls.numbers)
            std::printf(" %u", number);
        std::printf("%s\n", calls.others ? " others" : "");
    };
    Image::each(
        argv[1],
        [&](const Image& image) {
            print("prctl", calls_of(image, "prctl"));
            print("syscall", calls_of(image, "syscall"));
            print("direct", system_calls_of(image));
        },
        [](const Error&) {});
}

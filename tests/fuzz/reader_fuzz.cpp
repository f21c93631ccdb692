// SPDX-License-Identifier: BSD-2-Clause
// Everything that fastsdt-check does with a file, for libFuzzer (fuzz.sh) and for replay.cpp.
#include "findings.h"
#include "image.h"
#include "notes.h"
#include "plan.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace fastsdt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    // A copy of its own on the heap, so that a read past the end is seen. libdwfl reads the same bytes from a file.
    const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                       reinterpret_cast<const std::byte*>(data) + size);
    static const int fd = ::memfd_create("input", MFD_CLOEXEC);
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != ssize_t(size))
        std::abort();
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    try {
        Image::each(
            path, bytes,
            [](const Image& image) {
                const Notes notes = read_notes(image);
                Options options;
                options.functions = true;
                const Report report(image, notes, options);
                for (const Kernel& kernel : options.kernels)
                    plan(image, notes, kernel);
                for (const Site& site : report.sites)
                    image.place(site.probe->address);
                image.build_id();
            },
            [](const std::string&) {});
    } catch (const Unusable&) {}
    return 0;
}

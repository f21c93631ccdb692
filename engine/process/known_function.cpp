// SPDX-License-Identifier: BSD-2-Clause
#include "process/known_function.h"

#include "base/descriptor.h"
#include "base/unusable.h"
#include "elf/image.h"
#include "proc/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace fastsdt::engine {
namespace {

// From the file's lowest address on.
std::optional<uint64_t> offset_in(pid_t pid, const Mapping& mapping, const std::string& name)
{
    std::optional<uint64_t> found;
    const Descriptor file = open_mapped_file(pid, mapping);
    if (!file)
        return found;
    try {
        Image::each(
            fmt::format("/proc/self/fd/{}", file.get()),
            [&](const Image& image) {
                for (const Function& f : image.functions())
                    if (f.name == name || std::ranges::find(f.aliases, name) != f.aliases.end())
                        found = f.address - image.segments().front().address.value;
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // No ELF file that can be read.
    }
    return found;
}

} // namespace

uint64_t known_function(pid_t pid, const Mapping& mapping, const std::string& name)
{
    static std::mutex mutex;
    static std::map<std::tuple<std::string, uint64_t, std::string>, std::optional<uint64_t>> known;
    const std::lock_guard lock(mutex);
    const auto [found, fresh] = known.try_emplace({mapping.device, mapping.inode, name});
    if (fresh)
        found->second = offset_in(pid, mapping, name);
    return found->second ? mapping.start + *found->second : 0;
}

} // namespace fastsdt::engine

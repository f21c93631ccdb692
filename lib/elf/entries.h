// SPDX-License-Identifier: BSD-2-Clause
// Sections of entries whose texts are in another section: symbols and dynamic entries of 64-bit files in our own byte order,
// which the engine's processes have.
#pragma once
#include "elf/image.h"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fastsdt {

/// @tparam Entry  Elf64_Sym or Elf64_Dyn
template <class Entry> class Entries {
public:
    /// Without entries where the section is of another type than that.
    Entries(const Image& image, const Section& section)
    {
        constexpr bool symbols = std::is_same_v<Entry, Elf64_Sym>;
        const bool fits =
            symbols ? section.type == SHT_SYMTAB || section.type == SHT_DYNSYM : section.type == SHT_DYNAMIC;
        if (!fits || section.link >= image.sections().size())
            return;
        table_ = image.raw_contents(section);
        texts_ = image.raw_contents(image.sections()[section.link]);
    }

    size_t size() const { return table_.size() / sizeof(Entry); }
    Entry operator[](size_t index) const
    {
        Entry entry;
        std::memcpy(&entry, table_.data() + index * sizeof entry, sizeof entry);
        return entry;
    }
    /// Empty where no text that ends is there.
    std::string_view text(uint64_t offset) const
    {
        if (offset >= texts_.size())
            return {};
        const auto* const start = reinterpret_cast<const char*>(texts_.data()) + offset;
        const size_t most = texts_.size() - offset, length = strnlen(start, most);
        return length == most ? std::string_view() : std::string_view(start, length);
    }

private:
    std::span<const std::byte> table_, texts_;
};

/// The libraries that a file is linked with, as it names them. The image has to outlive them.
inline std::vector<std::string_view> needed_libraries(const Image& image)
{
    std::vector<std::string_view> names;
    for (const Section& section : image.sections()) {
        const Entries<Elf64_Dyn> entries(image, section);
        for (size_t i = 0; i < entries.size(); ++i)
            if (const Elf64_Dyn entry = entries[i]; entry.d_tag == DT_NEEDED)
                names.push_back(entries.text(entry.d_un.d_val));
    }
    return names;
}

} // namespace fastsdt

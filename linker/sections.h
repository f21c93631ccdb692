// SPDX-License-Identifier: BSD-2-Clause
// A linked ELF file as new bytes, in which sections have other contents, or which has more of them. Nothing that is loaded moves. Functions throw
// Unusable where a file cannot be written anew.
#pragma once
#include "elf/image.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fastsdt::sections {

using Bytes = std::span<const std::byte>;

bool in_file(const Section& section);
bool loaded(const Section& section);
/// Throws Unusable where it is false.
void require(bool condition, const char* message);
bool equal(Bytes a, Bytes b);
void append(std::vector<std::byte>& to, Bytes bytes);

/// Calls `use` with the file's image. The reader takes damaged files as far as it can; only a sound one can be rewritten.
void with_image(Bytes bytes, const std::function<void(const Image&)>& use);

/// New contents of sections, by number.
using Contents = std::map<size_t, std::vector<std::byte>>;
std::vector<std::byte> rewrite(const Image& file, const Contents& contents);

/// A section to add. Without contents of its own it is a name for bytes that the file has already.
struct NewSection {
    Section header; ///< its name, type, flags, address and alignment; size and offset too, if it has no contents
    std::vector<std::byte> contents;
};
/// The file with more sections. The contents, new names and headers go to its end; the old ones stay where they are, unused.
/// @param shorter  a section of which only the first part is to keep its header
std::vector<std::byte> with_sections(const Image& file, const std::vector<NewSection>& added,
                                     const Section* shorter = nullptr);

/// A place for a section that a file is to get without more bytes. A header over bytes that another section has would make strip
/// and objcopy of binutils move that section, and the program would not run. So it is a byte between sections, as the linker
/// would have taken, or the place where a section begins, and no byte. dwz accepts only the first.
struct Place {
    uint64_t address = 0, size = 0;
};
/// @param wanted  is taken if it is such a place  @return  empty: nothing is loaded
std::optional<Place> free_place(const Image& file, uint64_t wanted);

} // namespace fastsdt::sections

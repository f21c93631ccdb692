// SPDX-License-Identifier: BSD-2-Clause
// An ELF file as the rest of the library sees it: segments, sections, bytes by address. Nothing in a header is trusted.
#pragma once
#include "base/addresses.h"
#include "base/arch.h"
#include "base/unusable.h"
#include "elf/archive.h"
#include "elf/encoding.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

typedef struct Elf Elf;

namespace fastsdt {

/// A PT_LOAD segment. `offset` and `file_size` lie inside the file (clamped if they did not).
struct Segment {
    Vaddr address;
    uint64_t size = 0;
    FileOffset offset;
    uint64_t file_size = 0;
    bool writable = false;
    bool executable = false;
};

/// A section. In relocatable objects, where sections have no address yet, allocated ones are given distinct multiples
/// of 4096 (see Image::place).
struct Section {
    std::string_view name;
    size_t index = 0;
    uint32_t type = 0;
    uint64_t flags = 0;
    uint64_t address = 0;
    uint64_t offset = 0; ///< in the file
    uint64_t size = 0;   ///< in memory; the contents may be shorter, see Image::contents
    uint64_t align = 0;
    uint64_t entry_size = 0;
    uint32_t link = 0;
    uint32_t info = 0;

    bool operator==(const Section&) const = default;
};

/// Where a file has its headers and segments, unchecked, as its headers say: for code that rewrites the file.
struct FileLayout {
    struct Table {
        uint64_t offset = 0, entry_size = 0, count = 0;
        uint64_t size() const { return entry_size * count; }
    };
    struct Range {
        uint64_t offset = 0, size = 0;
    };
    uint64_t header_size = 0; ///< of the ELF header
    Table program_headers, section_headers;
    size_t section_names = 0;    ///< number of the section that has the others' names; 0: none
    std::vector<Range> segments; ///< of every type, in the order of the program headers
};

/// Limits the total size of the strings that are copied out of a file. A hostile file can make many names share the same bytes; in
/// a sound file they add up to less than the file.
class TextBudget {
public:
    explicit TextBudget(std::span<const std::byte> file) : left_(2 * file.size() + (1 << 16)) {}
    /// False: leave the text out.
    bool afford(uint64_t size)
    {
        if (size > left_) {
            exceeded_ = true;
            return false;
        }
        left_ -= size;
        return true;
    }
    void add(std::span<const std::byte> file) { left_ += 2 * file.size(); } ///< more files to copy from
    bool exceeded() const { return exceeded_; }

private:
    uint64_t left_;
    bool exceeded_ = false;
};

/// A defined function symbol.
struct Function {
    uint64_t address = 0; ///< ELF vaddr, without the Thumb bit
    uint64_t size = 0;
    std::string_view name{};
    std::vector<std::string_view> aliases{}; ///< other names of the address
    bool local = false;                      ///< no other file sees one of the names
    bool indirect = false;                   ///< an ifunc: what stands there chooses the function that will be called
};

/// Whether a symbol's name is that of a part which a compiler split off: "f.cold" of GCC and clang, "f.cold.1" of clang's outliner,
/// "f.__part.1" of -fbasic-block-sections.
bool is_part_name(std::string_view name);

class Image {
public:
    enum class Kind { executable, pie, shared, relocatable };

    /// Calls `visit` for the ELF file at `path`, or for each ELF member if it is an archive (thin ones too, by the rules of
    /// each_member()).
    /// The image and every view into it live until `visit` returns. Members that are no ELF files are passed
    /// over. `trouble` gets an error for each member of a thin archive that cannot be read.
    /// Throws Unusable.
    static void each(const std::string& path, const std::function<void(const Image&)>& visit,
                     const std::function<void(const Error&)>& trouble, Access access = {});

    /// The same for a file that is in memory already; `path` is its name (empty: messages do not name it), and where
    /// debug information is looked for.
    static void each(const std::string& path, std::span<const std::byte> file,
                     const std::function<void(const Image&)>& visit, const std::function<void(const Error&)>& trouble,
                     Access access = {});

    ~Image();
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    const std::string& path() const { return path_; }
    const std::string& member() const { return member_; } ///< name in the archive, or empty
    std::string name() const;                             ///< "path" or "path(member)"
    Access access() const { return access_; }             ///< to other files, too
    Kind kind() const { return kind_; }
    bool relocatable() const { return kind_ == Kind::relocatable; }
    Arch arch() const { return arch_; }
    uint16_t machine() const { return machine_; } ///< e_machine
    Encoding encoding() const { return encoding_; }
    /// The text is not in this file: made by objcopy --only-keep-debug or eu-strip -f.
    bool separate_debug() const { return separate_debug_; }
    /// An object of gcc -flto without machine code: gcc 10 and later.
    bool slim_lto() const;
    std::span<const std::byte> file() const { return file_; }
    /// Lower-case hexadecimal, or empty.
    std::string build_id() const;

    const std::vector<Segment>& segments() const { return segments_; }
    const std::vector<Section>& sections() const { return sections_; }
    const Section* section(std::string_view name) const;
    const FileLayout& layout() const { return layout_; }

    /// What the file holds for the section; shorter than its size if the file ends early, empty for SHT_NOBITS.
    std::span<const std::byte> raw_contents(const Section& section) const;
    /// The same with absolute relocations applied if this is a relocatable object. A field that refers to
    /// something defined elsewhere reads as undefined().
    std::span<const std::byte> contents(const Section& section) const;
    /// Relocation sections overlap, so that not all of them were applied.
    bool overlapping() const { return overlapping_; }
    /// All ones in the file's address size.
    uint64_t undefined() const { return encoding_.elf64 ? ~uint64_t(0) : 0xffffffffu; }

    const Segment* segment_at(uint64_t address) const;
    /// The allocated section that covers the address.
    const Section* section_at(uint64_t address) const;
    /// Bytes from the address to the end of its segment (relocatable: section), as far as the file has them; may be
    /// empty.
    std::span<const std::byte> bytes_at(uint64_t address) const;
    /// The address is in an executable segment (relocatable: section).
    bool executable_at(uint64_t address) const;
    bool writable_at(uint64_t address) const;
    bool mapped_at(uint64_t address) const
    {
        return relocatable() ? section_at(address) != nullptr : segment_at(address) != nullptr;
    }
    /// Offset in the file of the byte at `address`: what the kernel wants for a uprobe.
    std::optional<FileOffset> file_offset(Vaddr address) const;
    /// "0x401136", or ".text+0x36" in a relocatable object.
    std::string place(uint64_t address) const;

    /// Looks for the names that this file lacks, if it has no .symtab: in its separate debug file (elf/debug_file.h), in .gnu_debugdata, and in
    /// the table of a Go program.
    /// From then on functions() and files_with_symbols() have them. Costs little where there is nothing to find, and nothing the second time.
    /// What was found and could not be used: refused_names(), each without this file's own name.
    void find_names() const;
    const std::vector<Error>& refused_names() const { return refused_names_; }
    /// There is a .symtab, here or in what find_names() has found.
    bool has_all_names() const;
    /// This one, and what find_names() has found: the same addresses.
    std::vector<const Image*> files_with_symbols() const;
    /// Those that no symbol names, as find_names() has found them in the table of a Go program. By ascending address.
    std::span<const Function> functions_of_go() const;

    /// Functions by ascending address, one per address, from .symtab or else .dynsym, without versions ("@GLIBC_2.2.5"). What find_names()
    /// has found comes after that, so that a function that is exported is called as it is exported. Parts that the compiler split off
    /// (.cold) are not functions. @param parts  list those parts too; clang gives them symbols without a type
    std::vector<Function> functions(bool parts = false) const;

private:
    Image(std::string path, std::string member, std::span<const std::byte> file, Access access);
    void read_sections();
    void read_segments();
    void lay_out();
    bool position_independent_program() const;
    bool afford(const Section& section) const;
    void relocate(const Section& relocations, std::vector<std::byte>& bytes) const;
    std::string_view string_at(size_t table, uint64_t offset) const;
    void add_functions(bool parts, std::vector<Function>& to) const;
    struct Names; // what find_names() has found
    [[noreturn]] void unusable(std::string why, std::string cure = {}) const;

    std::string path_, member_;
    Access access_;
    std::span<const std::byte> file_;
    Elf* elf_ = nullptr;
    Kind kind_ = Kind::executable;
    Arch arch_ = Arch::unknown;
    uint16_t machine_ = 0;
    Encoding encoding_;
    bool separate_debug_ = false;
    bool interpreted_ = false; // has PT_INTERP
    FileLayout layout_;
    std::vector<Segment> segments_;         // by address
    std::vector<Section> sections_;         // by index; [0] is the null section
    std::vector<const Section*> allocated_; // by address
    std::map<size_t, size_t> relocations_of_, wide_indexes_of_;
    mutable std::map<size_t, std::vector<std::byte>> relocated_; // by section index
    mutable std::set<size_t> paid_;                              // sections whose size is in spent_
    mutable uint64_t spent_ = 0;
    mutable bool overlapping_ = false;
    mutable std::shared_ptr<const Names> names_;
    mutable std::vector<Error> refused_names_;
};

/// Of functions by ascending address the one that an address is in or behind: the last that begins there or before. nullptr: none does.
const Function* function_before(const std::vector<Function>& functions, uint64_t address);

/// "memcpy" of "memcpy@@GLIBC_2.14".
inline std::string_view without_version(std::string_view symbol)
{
    return symbol.substr(0, symbol.find('@', 1));
}

std::string_view name(Image::Kind kind);

} // namespace fastsdt

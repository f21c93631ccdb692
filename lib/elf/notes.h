// SPDX-License-Identifier: BSD-2-Clause
// The notes of an image: stapsdt notes (probes) and fastsdt records (what stands at a probe or at a function's entry).
#pragma once
#include "elf/image.h"
#include "elf/index.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

/// One stapsdt note. Views point into the image.
struct ProbeNote {
    uint64_t address = 0;      ///< ELF vaddr of the site: the note's pc, moved as tracers move it (see Notes::base)
    uint64_t note_address = 0; ///< the pc as the note has it
    uint64_t note_base = 0;    ///< the address .stapsdt.base had when the note was written
    uint64_t semaphore = 0;    ///< ELF vaddr, moved likewise; 0: none
    std::string_view provider, name, arguments;
    uint64_t trailing = 0; ///< bytes of the descriptor after the arguments' NUL; there should be none
};

/// Names and types of a probe's arguments, as a NAMES record has them. Views point into the image.
struct ArgumentNames {
    struct One {
        std::string_view type, name; ///< the name may be empty
        auto operator<=>(const One&) const = default;
    };
    std::string_view provider, name;
    std::vector<One> arguments;
    bool operator==(const ArgumentNames&) const = default;

    /// Bytes of all types and names.
    size_t size() const;
    /// "(int id, const char *item)"
    std::string signature() const;
    /// By argument, empty where one has none.
    std::vector<std::string> only_names() const;
};

/// One ELF note of any owner. Views point into the section's bytes.
struct RawNote {
    uint64_t offset = 0;              ///< in the section
    std::span<const std::byte> whole; ///< header, owner, descriptor and padding; the last note's padding may be missing
    std::string_view owner;           ///< without its NUL
    uint32_t type = 0;
    std::span<const std::byte> descriptor;
};

/// Where a walk over notes had to stop.
struct NoteFault {
    uint64_t offset = 0; ///< in the section, of the note that is damaged
    const char* what;    ///< one clause
};

/// Calls `visit` for each note of a section's bytes. The notes before a damaged one are visited; the rest is not.
std::optional<NoteFault> each_note(std::span<const std::byte> section, Encoding encoding,
                                   const std::function<void(const RawNote&)>& visit);

/// Zeros up to where the next note may begin.
void pad_notes(std::vector<std::byte>& notes);
/// Appends a note, as each_note() reads it. @param owner  without its NUL
void append_note(std::vector<std::byte>& notes, std::string_view owner, uint32_t type,
                 std::span<const std::byte> descriptor, Encoding encoding);

/// What the note sections of a file may cost. Those of a sound file do not overlap, so together they are no larger than it.
class NoteBudget {
public:
    explicit NoteBudget(const Image& image) : left_(image.file().size()) {}
    /// False: the sections overlap.
    bool afford(std::span<const std::byte> section)
    {
        if (section.size() > left_)
            return false;
        left_ -= section.size();
        return true;
    }

private:
    uint64_t left_;
};
inline constexpr char notes_overlap[] = "the note sections overlap";

inline constexpr std::string_view stapsdt_owner = "stapsdt";
inline constexpr uint32_t stapsdt_type = 3;
/// Whether the owner and type are those of stapsdt notes.
bool is_stapsdt(const RawNote& note);

/// The probe of a stapsdt note, with pc and semaphore as the note has them.
Result<ProbeNote> decode_stapsdt(const RawNote& note, Encoding encoding);

/// Something in the note sections that readers stumble over.
struct NoteTrouble {
    enum class Kind {
        malformed,  ///< sizes or strings that do not fit
        foreign,    ///< owner or type that does not belong into the section
        version,    ///< record of a version or type this reader does not know
        not_a_note, ///< section of that name whose type is not SHT_NOTE
        split,      ///< a further .note.stapsdt in a linked file
        index,      ///< INDEX note with wrong tables
        too_many,   ///< the rest was left out
    };
    Kind kind;
    std::string section;
    uint64_t offset = 0; ///< in the section
    std::string what;
};

struct Notes {
    std::vector<ProbeNote> probes;    ///< in the order of the file
    std::vector<Record> sites;        ///< by address
    std::vector<Record> entries;      ///< by address
    std::vector<Record> exits;        ///< by address of their function, then by their own
    std::vector<ArgumentNames> names; ///< by provider, name and number of arguments, each once
    /// Address of .stapsdt.base. Tracers add (this - note_base) to what a note says; libbpf only if neither is 0.
    std::optional<uint64_t> base;
    bool indexed = false; ///< there is an INDEX note
    std::vector<NoteTrouble> troubles;

    /// The record of a probe's site: the first one at the pc that its note has. nullptr: none.
    const Record* site_at(uint64_t note_address) const;
    /// The names of the probe's arguments, from a record for that number of arguments. nullptr: there is none.
    const ArgumentNames* names_of(const ProbeNote& probe, size_t arguments) const;
};

Notes read_notes(const Image& image);

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// All code of a file, decoded once: where instructions begin, what is jumped to or referred to, and what is odd about each function.
#pragma once
#include "elf/frames.h"
#include "elf/image.h"
#include "movable/instructions.h"

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct ZydisDecodedOperand_;

namespace fastsdt {

/// One byte of notes for each byte of code.
class Marks {
public:
    enum Mark : uint8_t {
        begins = 1, ///< an instruction of a frame
        target = 2, ///< is jumped to, returned to, or referred to as data
        start = 4,  ///< a frame's first byte
        called = 8, ///< a frame's first byte: it is called, or its address is taken
    };
    struct Piece {
        uint64_t address = 0;
        std::span<const std::byte> code;
        std::vector<uint8_t> marks;
        bool has(uint64_t at) const { return at - address < code.size(); }
    };

    /// False: segments or sections overlap.
    bool read(const Image& image);
    std::vector<Piece>& pieces() { return pieces_; }
    /// Empty where no code is.
    std::span<const std::byte> code_at(uint64_t address) const;
    bool has(uint64_t address) const { return piece_at(address) != nullptr; }
    uint8_t at(uint64_t address) const
    {
        const Piece* const piece = piece_at(address);
        return piece ? piece->marks[address - piece->address] : uint8_t(0);
    }
    void add(uint64_t address, uint8_t mark)
    {
        if (const Piece* const piece = piece_at(address))
            const_cast<Piece*>(piece)->marks[address - piece->address] |= mark;
    }

private:
    const Piece* piece_at(uint64_t address) const;
    std::vector<Piece> pieces_; // by address
    mutable size_t last_ = 0;
};

/// A frame, and what was found out about it.
struct CodePart : Frame {
    uint64_t entry = 0;         ///< behind a landing pad, if it begins with one
    bool broken = false;        ///< is not made of whole instructions, or its landing pads are not known
    bool loops = false;         ///< jumps to its own entry
    bool entered = false;       ///< others jump or call into it, or it has a second name inside
    bool taken = false;         ///< addresses inside are taken: by data, or by instructions
    bool refers_inside = false; ///< its own instructions take addresses inside
    bool by_data = false;       ///< data have addresses inside
    bool computed = false;      ///< has an indirect jump whose targets are not known
    bool restarts = false;      ///< and it may lead to the function's begin
    bool tables = false;        ///< has tables of offsets, which are read
    bool system_call = false;
    bool relocated = false; ///< the loader changes its instructions
    bool rseq = false;      ///< belongs to a restartable sequence
    bool patched = false;   ///< the program itself, or a tool for it, writes to its instructions
    bool special = false;   ///< by its name
    bool indirect = false;  ///< chooses a function while the program is loaded
    bool cold = false;      ///< by its name
    uint32_t owner = none;  ///< of a part that the compiler split off: the function's number
    static constexpr uint32_t none = ~uint32_t(0);
};

/// An indirect jump.
struct Computed {
    enum Kind : uint8_t { unknown, table, tail_call } kind = unknown;
    uint64_t address = 0;
    uint32_t body = 0;
    bool at_return = false; ///< nothing of the function is on the stack
    bool sums = false;      ///< arm64: to the sum of two registers
};

class Survey {
public:
    explicit Survey(const Image& image);

    /// What is wrong with the whole file.
    enum class Trouble : uint8_t { none, architecture, not_linked, overlaps, loader };
    Trouble trouble() const { return trouble_; }
    bool is_go_program() const { return go_; }
    /// Every instruction is a word, and a jump takes the place of one: arm64.
    bool of_words() const { return image_.arch() == Arch::arm64; }
    /// At an address, alone. False: none is there.
    bool decode(uint64_t address, Instruction& instruction) const
    {
        return Decoder(image_.arch()).decode(marks_.code_at(address), address, instruction);
    }
    const Image& image() const { return image_; }
    const Marks& marks() const { return marks_; }
    const Frames& frames() const { return frames_; }
    const std::vector<CodePart>& bodies() const { return bodies_; }
    /// Number of the body that covers the address.
    std::optional<uint32_t> body_at(uint64_t address) const;
    /// The function that a body belongs to: itself, or another that it is split off from.
    uint32_t group(uint32_t body) const { return bodies_[body].owner == CodePart::none ? body : bodies_[body].owner; }
    /// Parts of a function, without itself.
    std::vector<uint32_t> parts(uint32_t body) const;
    const Computed* computed_at(uint64_t address) const;
    /// The instruction before the one at `address`, in the same body.
    std::optional<uint64_t> previous(uint32_t body, uint64_t address) const;

private:
    struct Cross { // a jump from one body to another
        uint32_t from;
        uint64_t to;
    };
    struct Lea {
        uint32_t body;
        uint64_t to;
        auto operator<=>(const Lea&) const = default;
    };
    void sweep(uint32_t number);
    void sweep_gap(Marks::Piece& piece, uint64_t begin, uint64_t end);
    void note(const Instruction& instruction, uint64_t address, uint32_t from);
    void branch(uint64_t to, uint32_t from, bool call);
    void take(uint64_t address, uint32_t from); // `from` none: data
    bool may_be_table(uint64_t address) const;

    // survey_data.cpp: what is no code
    void read_symbols();
    void read_symbols(const Image& image, const Section& section);
    void read_relocations();
    void each_rela(const Section& section,
                   const std::function<void(const Elf64_Rela&, std::optional<uint64_t> value)>& visit) const;
    void read_starts();
    void read_words();
    void read_landing_pads();
    void read_patched();
    void read_sections();

    // tables.cpp
    void find_parts();
    std::vector<uint32_t> sole_sources(const std::vector<uint32_t>& owners) const;
    bool ends_own(const Cross& cross, const std::vector<uint32_t>& owners) const;
    void scan_tables();
    uint64_t scan(uint32_t body, uint64_t table, bool wide);
    void judge_computed();
    Computed::Kind kind_of(const Computed& jump);
    Computed::Kind kind_by_memory(const Computed& jump, const ZydisDecodedOperand_& from);
    void find_table(Computed& jump); // of arm64
    Computed::Kind kind_of_arm64(const Computed& jump) const;
    Computed::Kind leaves(const Computed& jump) const;

    const Image& image_;
    Trouble trouble_ = Trouble::none;
    bool go_ = false, fixed_ = false; // fixed_: linked to run at its addresses
    Frames frames_;
    Marks marks_;
    std::vector<CodePart> bodies_;
    std::vector<Cross> crosses_;
    std::vector<Lea> leas_;
    std::vector<Lea> inside_;      // arm64: of a body's own instructions, bases of tables perhaps
    std::vector<uint64_t> bases_;  // which are
    std::vector<uint64_t> tables_; // of offsets, that have entries
    std::vector<std::pair<uint64_t, uint64_t>> wide_tables_; // of addresses: begin and end
    std::vector<std::pair<uint64_t, uint64_t>> words_;     // data that are addresses inside functions: where, and which
    std::vector<Computed> computed_;                       // by address
    std::vector<std::pair<uint32_t, uint32_t>> parts_;     // owner and part
    std::vector<std::pair<uint64_t, uint64_t>> rseq_;      // sections with restartable sequences
    std::vector<std::pair<uint64_t, uint64_t>> patchable_; // sections with addresses of what is patched
    uint64_t budget_ = 0;                                  // bytes of tables that may still be read
};

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
#include "movable/survey.h"

#include "base/integers.h"

#include <algorithm>
#include <elf.h>

namespace fastsdt {

// Old linkers put constants into the segment that has the code, so sections say what is code.
bool Marks::read(const Image& image)
{
    uint64_t size = 0;
    Vaddr end;
    for (const Segment& segment : image.segments()) {
        if (segment.address < end && segment.size != 0)
            return false;
        end = segment.address + segment.size;
        size += segment.file_size;
        if (size > image.file().size() || end < segment.address)
            return false;
    }
    for (const Section& section : image.sections()) {
        constexpr uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
        if ((section.flags & code) != code || section.type == SHT_NOBITS || !image.executable_at(section.address))
            continue;
        const auto bytes = image.bytes_at(section.address);
        if (!bytes.empty() && section.size != 0)
            pieces_.push_back({section.address, bytes.first(std::min<size_t>(bytes.size(), section.size)), {}});
    }
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.address < b.address; });
    uint64_t reached = 0;
    for (const Piece& piece : pieces_) {
        if (piece.address < reached)
            return false;
        reached = piece.address + piece.code.size();
    }
    for (Piece& piece : pieces_)
        piece.marks.resize(piece.code.size());
    return true;
}

const Marks::Piece* Marks::piece_at(uint64_t address) const
{
    if (last_ < pieces_.size() && pieces_[last_].has(address))
        return &pieces_[last_];
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                        [](uint64_t at, const Piece& piece) { return at < piece.address; });
    if (after == pieces_.begin() || !std::prev(after)->has(address))
        return nullptr;
    last_ = size_t(std::prev(after) - pieces_.begin());
    return &pieces_[last_];
}

std::span<const std::byte> Marks::code_at(uint64_t address) const
{
    const Piece* const piece = piece_at(address);
    return piece ? piece->code.subspan(address - piece->address) : std::span<const std::byte>();
}

std::optional<uint32_t> Survey::body_at(uint64_t address) const
{
    const auto after = std::upper_bound(bodies_.begin(), bodies_.end(), address,
                                        [](uint64_t at, const CodePart& body) { return at < body.begin; });
    if (after == bodies_.begin() || address >= std::prev(after)->end)
        return {};
    return uint32_t(std::prev(after) - bodies_.begin());
}

std::vector<uint32_t> Survey::parts(uint32_t body) const
{
    std::vector<uint32_t> parts;
    for (auto part = std::lower_bound(parts_.begin(), parts_.end(), std::pair(body, uint32_t(0)));
         part != parts_.end() && part->first == body; ++part)
        parts.push_back(part->second);
    return parts;
}

const Computed* Survey::computed_at(uint64_t address) const
{
    const auto found = std::lower_bound(computed_.begin(), computed_.end(), address,
                                        [](const Computed& jump, uint64_t at) { return jump.address < at; });
    return found != computed_.end() && found->address == address ? &*found : nullptr;
}

std::optional<uint64_t> Survey::previous(uint32_t body, uint64_t address) const
{
    constexpr uint64_t longest = 15; // of x86-64
    for (uint64_t at = address; at > bodies_[body].begin && address - at < longest;)
        if (marks_.at(--at) & Marks::begins)
            return at;
    return {};
}

Survey::Survey(const Image& image) : image_(image), frames_(image), budget_(image.file().size())
{
    const bool known = image.arch() == Arch::x86_64 || image.arch() == Arch::arm64;
    if (!known || !image.encoding().elf64 || image.encoding().big_endian) {
        trouble_ = Trouble::architecture;
        return;
    }
    if (image.relocatable() || image.separate_debug()) {
        trouble_ = Trouble::not_linked;
        return;
    }
    if (!marks_.read(image)) {
        trouble_ = Trouble::overlaps;
        return;
    }
    fixed_ = image.kind() == Image::Kind::executable;
    for (const Frame& frame : frames_.all()) {
        const auto code = marks_.code_at(frame.begin);
        if (code.empty())
            continue;
        CodePart body{frame};
        body.broken = frame.end - frame.begin > code.size();
        Instruction first;
        const bool landing = decode(frame.begin, first) && first.landing;
        body.entry = landing ? frame.begin + first.length : frame.begin;
        body.end = std::min(frame.end, frame.begin + code.size());
        bodies_.push_back(body);
        marks_.add(frame.begin, Marks::start);
    }
    read_sections();
    if (trouble_ != Trouble::none)
        return;
    // The code first: what is no code marks functions by where their instructions begin.
    size_t next = 0;
    for (Marks::Piece& piece : marks_.pieces()) {
        uint64_t at = piece.address;
        const uint64_t end = piece.address + piece.code.size();
        for (; next < bodies_.size() && bodies_[next].begin < end; ++next) {
            sweep_gap(piece, at, bodies_[next].begin);
            sweep(uint32_t(next));
            at = bodies_[next].end;
        }
        sweep_gap(piece, at, end);
    }
    read_symbols();
    read_patched();
    if (trouble_ != Trouble::none)
        return;
    read_relocations();
    if (fixed_)
        read_words();
    read_landing_pads();
    scan_tables(); // which may lead to parts
    find_parts();
    judge_computed();
}

void Survey::sweep(uint32_t number)
{
    CodePart& body = bodies_[number];
    Rows rows(frames_.cies()[body.cie], body);
    auto code = marks_.code_at(body.begin).first(size_t(body.end - body.begin));
    Decoder decoder(image_.arch());
    Instruction instruction;
    for (uint64_t address = body.begin; address < body.end;) {
        if (!decoder.decode(code, address, instruction)) {
            body.broken = true; // data, perhaps: go on at the next byte, for what is jumped to
            ++address, code = code.subspan(1);
            continue;
        }
        marks_.add(address, Marks::begins);
        note(instruction, address, number);
        if (instruction.jumps() && !instruction.direct)
            computed_.push_back({Computed::unknown, address, number, frames_.at_return(rows.at(address).cfa)});
        body.system_call = body.system_call || instruction.system_call;
        address += instruction.length, code = code.subspan(instruction.length);
    }
}

// Code without frames, padding and data: which of them is not known. So jumps are looked for at every byte, too.
void Survey::sweep_gap(Marks::Piece& piece, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    const auto code = piece.code.subspan(begin - piece.address, end - begin);
    Decoder decoder(image_.arch());
    Instruction instruction;
    for (size_t at = 0; at < code.size();) {
        if (decoder.decode(code.subspan(at), begin + at, instruction)) {
            note(instruction, begin + at, CodePart::none);
            at += instruction.length;
        } else {
            ++at;
        }
    }
    for (size_t at = 0; at + 2 <= code.size() && !of_words(); ++at) {
        const auto opcode = unsigned(code[at]);
        const bool narrow = opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0;
        const bool wide =
            opcode == 0xe8 || opcode == 0xe9 || ((opcode & 0xf0) == 0x80 && at > 0 && code[at - 1] == std::byte(0x0f));
        if (narrow)
            marks_.add(begin + at + 2 + uint64_t(int64_t(int8_t(code[at + 1]))), Marks::target);
        else if (wide && at + 5 <= code.size())
            marks_.add(begin + at + 5 + uint64_t(int64_t(int32_t(load(&code[at + 1], 4, false)))), Marks::target);
    }
}

/// @param from  body that has the instruction, or none
void Survey::note(const Instruction& instruction, uint64_t address, uint32_t from)
{
    const uint64_t next = address + instruction.length;
    if (instruction.calls())
        marks_.add(next, Marks::target);
    if (instruction.direct) {
        branch(instruction.target, from, instruction.calls());
        return;
    }
    const uint64_t to = instruction.refers_to;
    if (instruction.reference == Instruction::address) {
        if (of_words() && from != CodePart::none && to > bodies_[from].begin && to < bodies_[from].end)
            inside_.push_back({from, to});
        else if (marks_.has(to))
            take(to, from);
        if (from != CodePart::none && may_be_table(to))
            leas_.push_back({from, to});
    } else if (instruction.reference == Instruction::data
               && marks_.has(to)) { // data among the code, and how far they reach is not known
        marks_.add(to, Marks::target);
        if (const auto body = body_at(to); body && from != CodePart::none)
            bodies_[*body].broken = true;
    }
    if (!fixed_)
        return;
    for (uint8_t i = 0; i < instruction.number_count; ++i)
        if (marks_.has(instruction.numbers[i]))
            take(instruction.numbers[i], from);
}

void Survey::branch(uint64_t to, uint32_t from, bool call)
{
    if (!marks_.has(to))
        return;
    marks_.add(to, call ? Marks::target | Marks::called : Marks::target);
    if (from != CodePart::none && to >= bodies_[from].begin && to < bodies_[from].end) {
        CodePart& body = bodies_[from];
        if (!call)
            body.loops = body.loops || to == body.begin || to == body.entry;
        else
            body.entered = body.entered || to != body.begin;
        return;
    }
    const bool inside = !(marks_.at(to) & Marks::start);
    if (from != CodePart::none && !call)
        crosses_.push_back({from, to});
    else if (inside)
        if (const auto body = body_at(to))
            bodies_[*body].entered = true;
}

void Survey::take(uint64_t address, uint32_t from)
{
    marks_.add(address, Marks::target | Marks::called);
    const auto number = body_at(address);
    if (!number || bodies_[*number].begin == address)
        return;
    CodePart& body = bodies_[*number];
    body.taken = true;
    body.refers_inside = body.refers_inside || from == *number;
    body.by_data = body.by_data || from == CodePart::none;
}

// Its first entry leads to code.
bool Survey::may_be_table(uint64_t address) const
{
    const auto bytes = image_.bytes_at(address);
    return bytes.size() >= 4 && marks_.has(address + uint64_t(int64_t(int32_t(load(bytes.data(), 4, false)))));
}

} // namespace fastsdt

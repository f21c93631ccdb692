// SPDX-License-Identifier: BSD-2-Clause
// .eh_frame is a list of records. A CIE has what many functions share, an FDE one range of addresses and a program, which tells line by
// line how unwinding changes:
//
//     FDE 0x1130..0x1162     push %rbx       advance 1; def_cfa_offset 16     from 0x1131 on the caller's stack pointer is sp + 16
//                            ...
//                            pop %rbx        advance 40; def_cfa_offset 8
//
// Frames reads the list once, sorts it by address and leaves out what overlaps. Rows runs the program of one of them, forwards. Programs
// are not trusted: an instruction that is not known ends the rows with an unknown one, and states are remembered 64 deep.
#include "elf/frames.h"

#include "base/integers.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fastsdt {
namespace {

// Encodings of pointers: DW_EH_PE_* of the LSB core specification.
constexpr uint8_t omitted = 0xff, format_mask = 0x0f, how_mask = 0x70, indirect = 0x80, absolute = 0x00,
                  pc_relative = 0x10;

/// Reads what stands at an ELF vaddr; behind the end everything is 0, and good() says so.
class Cursor {
public:
    Cursor(std::span<const std::byte> bytes, uint64_t address) : bytes_(bytes), address_(address) {}

    bool good() const { return good_; }
    size_t at() const { return at_; }
    bool more() const { return good_ && at_ < bytes_.size(); }
    std::span<const std::byte> rest() const { return good_ ? bytes_.subspan(at_) : std::span<const std::byte>(); }

    uint64_t fixed(size_t size)
    {
        if (!take(size))
            return 0;
        return load(&bytes_[at_ - size], size, false);
    }
    std::span<const std::byte> block(uint64_t size)
    {
        if (!take(size))
            return {};
        return bytes_.subspan(at_ - size_t(size), size_t(size));
    }
    void spoil() { good_ = false; }
    uint64_t uleb() { return leb(false); }
    int64_t sleb() { return int64_t(leb(true)); }
    std::string_view text()
    {
        const auto rest = this->rest();
        const auto* const start = reinterpret_cast<const char*>(rest.data());
        const size_t length = strnlen(start, rest.size());
        if (!take(length + 1))
            return {};
        return {start, length};
    }
    /// @param plain  without what it is relative to
    uint64_t pointer(uint8_t encoding, bool plain = false)
    {
        const uint64_t here = address_ + at_;
        uint64_t value = 0;
        switch (encoding & format_mask) {
        case 0x0:
        case 0x4:
        case 0xc: value = fixed(8); break;
        case 0x1: value = uleb(); break;
        case 0x2: value = fixed(2); break;
        case 0x3: value = fixed(4); break;
        case 0x9: value = uint64_t(sleb()); break;
        case 0xa: value = uint64_t(int64_t(int16_t(fixed(2)))); break;
        case 0xb: value = uint64_t(int64_t(int32_t(fixed(4)))); break;
        default: good_ = false;
        }
        if (plain || value == 0)
            return value;
        if (encoding & indirect)
            good_ = false;
        else if ((encoding & how_mask) == pc_relative)
            value += here;
        else if ((encoding & how_mask) != absolute)
            good_ = false;
        return value;
    }

private:
    bool take(uint64_t size)
    {
        good_ = good_ && size <= bytes_.size() - at_;
        if (good_)
            at_ += size_t(size);
        return good_;
    }
    uint64_t leb(bool is_signed)
    {
        uint64_t value = 0;
        for (unsigned shift = 0; more() && shift < 64; shift += 7) {
            const uint64_t byte = fixed(1);
            value |= (byte & 0x7f) << shift;
            if (!(byte & 0x80)) {
                if (is_signed && byte & 0x40 && shift + 7 < 64)
                    value |= ~uint64_t(0) << (shift + 7);
                return value;
            }
        }
        good_ = false;
        return 0;
    }

    std::span<const std::byte> bytes_;
    uint64_t address_;
    size_t at_ = 0;
    bool good_ = true;
};

// The System V ABI of x86-64, figure 3.36; DWARF for the Arm 64-bit Architecture, section 4.1.
constexpr FrameRules rules_x86_64{.frame_pointer = 6, .stack_pointer = 7, .return_address = 16, .pushed = 8};
constexpr FrameRules rules_arm64{.frame_pointer = 29, .stack_pointer = 31, .return_address = 30};

std::optional<Cie> cie_of(Cursor entry, const FrameRules& rules)
{
    Cie cie;
    cie.rules = &rules;
    const uint64_t version = entry.fixed(1);
    const std::string_view augmentation = entry.text();
    if (version != 1 && version != 3)
        return {};
    cie.code_factor = entry.uleb();
    cie.data_factor = entry.sleb();
    const uint64_t return_column = version == 1 ? entry.fixed(1) : entry.uleb();
    if (!entry.good() || return_column != rules.return_address)
        return {};
    if (!augmentation.empty()) {
        if (augmentation.front() != 'z')
            return {};
        cie.augmented = true;
        entry.uleb(); // how many bytes follow: those that the letters stand for
        for (const char letter : augmentation.substr(1))
            switch (letter) {
            case 'R': cie.pointers = uint8_t(entry.fixed(1)); break;
            case 'L': cie.lsda = uint8_t(entry.fixed(1)); break;
            case 'P': entry.pointer(uint8_t(entry.fixed(1)), true); break;
            case 'S': cie.signal = true; break;
            case 'B': break; // arm64: which key signs return addresses
            default: return {};
            }
    }
    cie.program = entry.rest();
    return entry.good() ? std::optional(cie) : std::nullopt;
}

} // namespace

Frames::Frames(const Image& image) : rules_(image.arch() == Arch::arm64 ? rules_arm64 : rules_x86_64)
{
    for (const Section& section : image.sections()) {
        if (section.name != ".eh_frame")
            continue;
        const auto bytes = image.raw_contents(section);
        std::unordered_map<uint64_t, std::optional<size_t>> numbers; // of CIEs, by offset
        const auto number_of = [&](uint64_t offset) -> std::optional<size_t> {
            const auto [found, fresh] = numbers.try_emplace(offset);
            if (!fresh || offset > bytes.size() || bytes.size() - offset < 8)
                return found->second;
            const uint64_t length = load(&bytes[offset], 4, false);
            // They may overlap in a damaged file: together they must not become more than the file.
            constexpr uint64_t longest = 1024;
            if (load(&bytes[offset + 4], 4, false) != 0 || length < 4 || length > longest
                || length > bytes.size() - offset - 4)
                return {};
            auto cie = cie_of(Cursor(bytes.subspan(offset + 8, length - 4), section.address + offset + 8), rules_);
            if (cie) {
                Rows rows(*cie, {0, 0, 0, 0, cie->program});
                cie->first = rows.at(0);
                found->second = cies_.size();
                cies_.push_back(*cie);
            }
            return found->second;
        };
        for (uint64_t at = 0; bytes.size() - at >= 8;) {
            const uint64_t length = load(&bytes[at], 4, false), body = at + 4;
            if (length > bytes.size() - body) // 0xffffffff too: entries of more than 4 GB
                break;
            at = body + length;
            if (length < 4) // 0: the end of what one object has
                continue;
            const uint64_t back = load(&bytes[body], 4, false);
            if (back == 0 || back > body)
                continue;
            const auto number = number_of(body - back);
            if (!number)
                continue;
            const Cie& cie = cies_[*number];
            // What the loader fills in is not in the file.
            if ((cie.pointers & how_mask) == absolute && image.kind() != Image::Kind::executable)
                continue;
            Cursor entry(bytes.subspan(body + 4, length - 4), section.address + body + 4);
            Frame frame;
            frame.begin = entry.pointer(cie.pointers);
            frame.end = frame.begin + entry.pointer(cie.pointers, true);
            frame.cie = *number;
            frame.signal = cie.signal;
            bool known = true;
            if (cie.augmented) {
                Cursor augmentation(entry.block(entry.uleb()), section.address + body + 4);
                if (cie.lsda != omitted) {
                    // Its address counts, so it is read where it stands.
                    const uint64_t offset = uint64_t(entry.rest().data() - bytes.data());
                    const uint64_t size = augmentation.rest().size();
                    Cursor pointer(augmentation.rest(), section.address + offset - size);
                    frame.lsda = pointer.pointer(cie.lsda);
                    known = pointer.good();
                }
            }
            frame.program = entry.rest();
            if (entry.good() && known && frame.begin < frame.end)
                frames_.push_back(frame);
        }
    }
    keep_alone();
    for (Frame& frame : frames_) {
        Rows rows(cies_[frame.cie], frame);
        frame.first = rows.at(frame.begin).cfa;
        frame.outermost = rows.outermost();
    }
}

void Frames::keep_alone()
{
    std::sort(frames_.begin(), frames_.end(), [](const Frame& a, const Frame& b) { return a.begin < b.begin; });
    std::vector<Frame> alone;
    uint64_t reached = 0; // by all before
    for (size_t i = 0; i < frames_.size(); ++i) {
        const bool overlaps =
            frames_[i].begin < reached || (i + 1 < frames_.size() && frames_[i + 1].begin < frames_[i].end);
        reached = std::max(reached, frames_[i].end);
        if (!overlaps)
            alone.push_back(frames_[i]);
    }
    frames_ = std::move(alone);
}

Rows::Rows(const Cie& cie, const Frame& frame)
    : cie_(cie), program_(frame.program), location_(frame.begin), now_(cie.first), outermost_(cie.first.outermost)
{}

// One instruction: DW_CFA_* of the DWARF standard, section 6.4.2.
struct Rows::Step {
    Rows& rows;
    Cursor next; ///< not good any more where the instruction is not known

    void define(uint64_t reg, int64_t offset)
    {
        const FrameRules& rules = *rows.cie_.rules;
        rows.now_.cfa = {reg == rules.stack_pointer       ? Cfa::stack_pointer
                             : reg == rules.frame_pointer ? Cfa::frame_pointer
                                                          : Cfa::other,
                         offset};
    }

    void keep(uint64_t reg, Row::Saved how, int64_t offset)
    {
        if (reg == rows.cie_.rules->frame_pointer)
            rows.now_.frame_pointer = how, rows.now_.offset = offset;
        if (reg == rows.cie_.rules->return_address)
            rows.now_.return_address = how, rows.now_.return_offset = offset;
    }

    void as_first(uint64_t reg)
    {
        if (reg == rows.cie_.rules->frame_pointer)
            rows.now_.frame_pointer = rows.cie_.first.frame_pointer, rows.now_.offset = rows.cie_.first.offset;
        if (reg == rows.cie_.rules->return_address)
            rows.now_.return_address = rows.cie_.first.return_address,
            rows.now_.return_offset = rows.cie_.first.return_offset, rows.now_.outermost = rows.cie_.first.outermost;
    }

    int64_t factored(uint64_t number) const { return int64_t(number * uint64_t(rows.cie_.data_factor)); }

    // A number from the frame pointer, and nothing more; with `load`: the word there.
    std::optional<int64_t> from_frame_pointer(std::span<const std::byte> expression, bool load) const
    {
        constexpr uint64_t breg0 = 0x70, deref = 0x06;
        Cursor cursor(expression, 0);
        if (cursor.fixed(1) != breg0 + rows.cie_.rules->frame_pointer)
            return {};
        const int64_t offset = cursor.sleb();
        if (load && cursor.fixed(1) != deref)
            return {};
        return cursor.good() && !cursor.more() ? std::optional(offset) : std::nullopt;
    }

    // Where the CFA is. False: the instruction is of something else.
    bool of_cfa(unsigned code)
    {
        switch (code) {
        case 0x0c: { // def_cfa
            const uint64_t reg = next.uleb();
            define(reg, int64_t(next.uleb()));
            return true;
        }
        case 0x0d: define(next.uleb(), rows.now_.cfa.offset); return true;   // def_cfa_register
        case 0x0e: rows.now_.cfa.offset = int64_t(next.uleb()); return true; // def_cfa_offset
        case 0x0f: {                                                         // def_cfa_expression
            const auto offset = from_frame_pointer(next.block(next.uleb()), true);
            rows.now_.cfa = offset ? Cfa{Cfa::at_frame_pointer, *offset} : Cfa{};
            return true;
        }
        case 0x12: { // def_cfa_sf
            const uint64_t reg = next.uleb();
            define(reg, factored(uint64_t(next.sleb())));
            return true;
        }
        case 0x13: rows.now_.cfa.offset = factored(uint64_t(next.sleb())); return true; // def_cfa_offset_sf
        default: return false;
        }
    }

    // Where a register is. False: the instruction is of something else.
    bool of_register(unsigned code)
    {
        switch (code) {
        case 0x05: { // offset_extended
            const uint64_t reg = next.uleb();
            keep(reg, Row::at_cfa, factored(next.uleb()));
            return true;
        }
        case 0x06: as_first(next.uleb()); return true; // restore_extended
        case 0x07: {                                   // undefined
            const uint64_t reg = next.uleb();
            keep(reg, Row::lost, 0);
            rows.now_.outermost = reg == rows.cie_.rules->return_address || rows.now_.outermost;
            rows.outermost_ = rows.now_.outermost || rows.outermost_;
            return true;
        }
        case 0x08: keep(next.uleb(), Row::unchanged, 0); return true; // same_value
        case 0x09:                                                    // register
        case 0x14:                                                    // val_offset
        case 0x15:                                                    // val_offset_sf
            keep(next.uleb(), Row::lost, 0);
            next.uleb();
            return true;
        case 0x10: { // expression
            const uint64_t reg = next.uleb();
            const auto offset = from_frame_pointer(next.block(next.uleb()), false);
            keep(reg, offset ? Row::at_frame_pointer : Row::lost, offset.value_or(0));
            return true;
        }
        case 0x11: { // offset_extended_sf
            const uint64_t reg = next.uleb();
            keep(reg, Row::at_cfa, factored(uint64_t(next.sleb())));
            return true;
        }
        case 0x16: // val_expression
            keep(next.uleb(), Row::lost, 0);
            next.block(next.uleb());
            return true;
        case 0x2f: { // GNU_negative_offset_extended
            const uint64_t reg = next.uleb();
            keep(reg, Row::at_cfa, factored(0 - next.uleb()));
            return true;
        }
        default: return false;
        }
    }

    /// Returns how far it advances.
    uint64_t run()
    {
        const auto code = unsigned(next.fixed(1)), low = code & 0x3f;
        switch (code >> 6) {
        case 1: return low;
        case 2: keep(low, Row::at_cfa, factored(next.uleb())); return 0; // offset
        case 3: as_first(low); return 0;                                 // restore
        default: break;
        }
        if (of_cfa(code) || of_register(code))
            return 0;
        switch (code) {
        case 0x00: return 0; // nop
        case 0x02: return next.fixed(1);
        case 0x03: return next.fixed(2);
        case 0x04: return next.fixed(4);
        case 0x0a: // remember_state
            if (rows.remembered_.size() < 64)
                rows.remembered_.push_back(rows.now_);
            else
                next.spoil();
            return 0;
        case 0x0b: // restore_state
            if (!rows.remembered_.empty()) {
                rows.now_ = rows.remembered_.back();
                rows.remembered_.pop_back();
            } else {
                next.spoil();
            }
            return 0;
        case 0x2d: return 0;              // AARCH64_negate_ra_state: how the return address is signed
        case 0x2e: next.uleb(); return 0; // GNU_args_size
        default: next.spoil(); return 0;  // set_loc too, which nobody writes
        }
    }
};

const Row& Rows::at(uint64_t address)
{
    end_ = UINT64_MAX;
    while (!program_.empty()) {
        Step step{*this, Cursor(program_, 0)};
        const uint64_t location = location_ + step.run() * cie_.code_factor;
        if (!step.next.good() || location < location_) {
            now_ = {};
            program_ = {};
            break;
        }
        if (location > address && location != location_) { // for a later address
            end_ = location;
            break;
        }
        location_ = location;
        program_ = step.next.rest();
    }
    return now_;
}

// The format is GCC's: gcc/except.cc, output_one_function_exception_table().
bool each_landing_pad(const Image& image, const Frame& frame, uint64_t& budget,
                      const std::function<void(uint64_t address)>& visit)
{
    if (frame.lsda == 0)
        return true;
    Cursor table(image.bytes_at(frame.lsda), frame.lsda);
    const auto start = uint8_t(table.fixed(1));
    const uint64_t base = start == omitted ? frame.begin : table.pointer(start);
    if (table.fixed(1) != omitted) // where types are
        table.uleb();
    const auto encoding = uint8_t(table.fixed(1));
    const uint64_t length = table.uleb();
    const auto sites = table.block(length);
    if (!table.good() || table.at() > budget)
        return false;
    budget -= table.at();
    for (Cursor site(sites, 0); site.more();) {
        site.pointer(encoding, true);
        site.pointer(encoding, true);
        const uint64_t pad = site.pointer(encoding, true);
        site.uleb(); // action
        if (!site.good())
            return false;
        if (pad != 0)
            visit(base + pad);
    }
    return true;
}

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
#include "record.h"

#include "base/layouts.h"

#include <fastsdt/note.h>

namespace fastprobe {
namespace {

using fastsdt::Shape;
constexpr Shape nop1{FASTSDT_SHAPE_nop1};
constexpr Shape nop1_nop10{FASTSDT_SHAPE_nop1_nop10};
constexpr unsigned char nop10_bytes[] = {FASTSDT_BYTES_nop10};

/// The shape of a layout that was added.
Shape shape(Arch arch, Decision::Add add)
{
    if (add == Decision::Add::nop1_nop10)
        return nop1_nop10;
    return {nop1.id, nop1.patch_offset, uint8_t(layout_size(arch, Decision::Add::nop))};
}

Shape shape(Arch arch, const EntryRecord& record)
{
    if (record.added != Decision::Add::nothing)
        return shape(arch, record.added);
    if (record.found == First::nop)
        return shape(arch, Decision::Add::nop);
    if (record.found == First::frame_push)
        return {uint8_t(arch == Arch::x86_64 ? FASTSDT_LAYOUT_PUSH : FASTSDT_LAYOUT_STP), 0, 0};
    if (record.found == First::other_push)
        return {FASTSDT_LAYOUT_PUSH, 0, 0};
    return {FASTSDT_LAYOUT_OTHER, 0, 0};
}

/// @param byte5  the lead or the result   @param operand  the last word
std::vector<Field> note(unsigned type, const Shape& shape, unsigned bound, unsigned byte5, unsigned flags,
                        Field address, Field operand)
{
    constexpr unsigned descriptor = 8 + 2 * 8;
    std::vector<Field> fields = {{4, sizeof FASTSDT_NOTE_OWNER}, {4, descriptor}, {4, type}};
    for (char c : FASTSDT_NOTE_OWNER) // and the 0 at its end
        fields.push_back({1, static_cast<unsigned char>(c)});
    for (unsigned byte : {unsigned{FASTSDT_NOTE_VERSION}, unsigned{shape.id}, unsigned{shape.patch_offset},
                          unsigned{shape.patch_length}, bound, byte5})
        fields.push_back({1, byte});
    fields.push_back({2, flags});
    fields.push_back(address);
    fields.push_back(operand);
    return fields;
}

unsigned number(Result::Where where)
{
    switch (where) {
    case Result::Where::other: break;
    case Result::Where::none: return FASTSDT_RESULT_NONE;
    case Result::Where::one_register: return FASTSDT_RESULT_REGISTER;
    case Result::Where::pair: return FASTSDT_RESULT_PAIR;
    case Result::Where::vector: return FASTSDT_RESULT_VECTOR;
    case Result::Where::memory: return FASTSDT_RESULT_MEMORY;
    }
    return FASTSDT_RESULT_OTHER;
}

} // namespace

Result::Where where_of(unsigned integers, unsigned vectors, unsigned others)
{
    if (others == 0 && vectors == 0 && (integers == 1 || integers == 2))
        return integers == 1 ? Result::Where::one_register : Result::Where::pair;
    return others == 0 && integers == 0 && vectors == 1 ? Result::Where::vector : Result::Where::other;
}

unsigned layout_size(Arch arch, Decision::Add add)
{
    switch (add) {
    case Decision::Add::nothing: return 0;
    case Decision::Add::nop: return arch == Arch::x86_64 ? 1 : 4;
    case Decision::Add::nop1_nop10: return 1 + sizeof nop10_bytes;
    }
    return 0;
}

std::string layout_text(Decision::Add add)
{
    if (add == Decision::Add::nothing)
        return "";
    std::string text = "nop"; // the assembler knows the native one; on x86 it is 0x90
    if (add == Decision::Add::nop1_nop10) {
        text += "\n\t.byte ";
        for (size_t i = 0; i < sizeof nop10_bytes; i++)
            text += (i ? "," : "") + std::to_string(nop10_bytes[i]);
    }
    return text;
}

std::vector<Field> record_fields(Arch arch, const EntryRecord& record)
{
    const unsigned flags = (record.returns_twice ? FASTSDT_ENTRY_RETURNS_TWICE : 0)
        | (record.added != Decision::Add::nothing ? FASTSDT_ENTRY_ADDED : 0)
        | (record.missed ? FASTSDT_ENTRY_MISSED : 0) | (record.exits ? FASTSDT_ENTRY_EXITS : 0);
    return note(FASTSDT_NOTE_ENTRY, shape(arch, record), record.bound, record.lead, flags, {8, 0, Field::Is::function},
                {8, record.stack_bytes.value_or(~uint64_t{0})});
}

std::vector<Field> record_fields(Arch arch, const ExitRecord& record)
{
    unsigned flags = record.tail_call ? FASTSDT_EXIT_TAIL_CALL : 0;
    if (record.result.sign == Result::Sign::is_signed)
        flags |= FASTSDT_EXIT_SIGNED;
    if (record.result.sign == Result::Sign::is_unsigned)
        flags |= FASTSDT_EXIT_UNSIGNED;
    if (record.result.size < 256)
        flags |= static_cast<unsigned>(record.result.size) << FASTSDT_EXIT_SIZE_SHIFT;
    return note(FASTSDT_NOTE_EXIT, shape(arch, record.added), record.bound, number(record.result.where), flags,
                {8, 0, Field::Is::layout}, {8, 0, Field::Is::function});
}

unsigned exit_padding(Arch arch, Decision::Add add)
{
    const Shape s = shape(arch, add);
    return add == Decision::Add::nop1_nop10 ? s.patch_offset + s.patch_length - 1 : 0;
}

std::string record_text(const std::vector<Field>& fields, const std::string& label, const std::string& function,
                        const std::string& section)
{
    std::string text = ".pushsection " FASTSDT_NOTE_SECTION ",\"?o\",\"note\"," + section + "\n\t.balign 4";
    unsigned size = 0; // of the fields on the line that is being written
    for (const Field& field : fields) {
        text += field.size == size ? "," : "\n\t." + (field.size > 1 ? std::to_string(field.size) : "") + "byte ";
        size = field.size;
        switch (field.is) {
        case Field::Is::value: text += std::to_string(field.value); break;
        case Field::Is::layout: text += label; break;
        case Field::Is::function: text += function; break;
        }
    }
    return text + "\n\t.popsection";
}

} // namespace fastprobe

// SPDX-License-Identifier: BSD-2-Clause
#include "process/declared.h"

#include <utility>

namespace fastsdt::engine {

// False: a record of so many bytes has no such bits, or no number has them.
static bool place_bits(Shape::Member& member, uint64_t first, uint64_t bits, size_t record)
{
    member.offset = size_t(first / 8);
    member.first_bit = unsigned(first % 8);
    member.bits = unsigned(bits);
    return bits <= 64 && first <= 8 * record && member.first_bit + member.bits <= 64;
}

void add_member(Shape& record, Shape::Member member, uint64_t first, uint64_t bits)
{
    if (!member.shape || (bits && !place_bits(member, first, bits, record.size))) {
        record.lacks_members = true;
        return;
    }
    const size_t size = bits ? (member.first_bit + member.bits + 7) / 8 : member.shape->size;
    record.lacks_members = record.lacks_members || member.offset > record.size || size > record.size - member.offset;
    if (member.offset <= record.size)
        record.members.push_back(std::move(member));
}

} // namespace fastsdt::engine

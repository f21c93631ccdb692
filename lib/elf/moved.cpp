// SPDX-License-Identifier: BSD-2-Clause
#include "elf/moved.h"

#include <fastsdt/note.h>

#include <algorithm>

namespace fastsdt {

Moved::Moved(const Image& image) : image_(image)
{
    if (image.relocatable())
        return;
    functions_ = image.functions(true);
    bolted_ = image.section(".note.bolt_info");
    complete_ = std::any_of(functions_.begin(), functions_.end(), [](const Function& f) { return f.local; });
}

bool Moved::rewritten(uint64_t address) const
{
    const Section* const section = image_.section_at(address);
    return section && section->name.starts_with(".bolt.org.");
}

bool Moved::function_at(uint64_t address) const
{
    return std::binary_search(functions_.begin(), functions_.end(), Function{.address = address},
                              [](const Function& a, const Function& b) { return a.address < b.address; });
}

bool Moved::in_function(uint64_t address) const
{
    const auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                        [](uint64_t a, const Function& f) { return a < f.address; });
    return after != functions_.begin() && address - std::prev(after)->address < std::prev(after)->size;
}

bool Moved::stale(const Record& record, uint64_t by) const
{
    if (image_.relocatable())
        return false;
    if (record.type == FASTSDT_NOTE_SITE)
        return rewritten(record.address + by) && !in_function(record.address + by);
    const bool exit = record.type == FASTSDT_NOTE_EXIT;
    const uint64_t function = (exit ? record.operand : record.address) + by;
    // An exit without its function is a mistake of who wrote the record, unless somebody has moved functions.
    const bool asks = rewritten(function) || (complete_ && (!exit || bolted_));
    return asks && image_.executable_at(function) && !function_at(function);
}

} // namespace fastsdt

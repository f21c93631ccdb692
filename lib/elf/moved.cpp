// SPDX-License-Identifier: BSD-2-Clause
#include "elf/moved.h"

#include <fastsdt/note.h>

#include <algorithm>

namespace fastsdt {
namespace {
constexpr std::string_view before = ".bolt.org."; // what BOLT puts before the names of sections that it wrote anew
}

Moved::Moved(const Image& image) : image_(image)
{
    const auto& sections = image.sections();
    if (std::any_of(sections.begin(), sections.end(), [](const Section& s) { return s.name.starts_with(before); }))
        functions_ = image.functions(true);
}

bool Moved::rewritten(uint64_t address) const
{
    const Section* const section = image_.section_at(address);
    return section && section->name.starts_with(before);
}

bool Moved::function_at(uint64_t address) const
{
    return std::binary_search(functions_.begin(), functions_.end(), Function{.address = address},
                              [](const Function& a, const Function& b) { return a.address < b.address; });
}

bool Moved::in_function(uint64_t address) const
{
    const Function* const function = function_before(functions_, address);
    return function && address - function->address < function->size;
}

bool Moved::stale(const Record& record, uint64_t by) const
{
    if (image_.relocatable())
        return false;
    if (record.type == FASTSDT_NOTE_SITE)
        return rewritten(record.address + by) && !in_function(record.address + by);
    const uint64_t function = (record.type == FASTSDT_NOTE_EXIT ? record.operand : record.address) + by;
    return rewritten(function) && image_.executable_at(function) && !function_at(function);
}

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
#include "elf/inlined.h"

#include "base/descriptor.h"
#include "elf/debug_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

namespace fastsdt {
namespace {

// A hostile file may have as many as it likes.
constexpr size_t most_ranges = size_t(1) << 20;
constexpr unsigned deepest = 64;

std::string attribute_text(Dwarf_Die& die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char* const text = dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute));
    return text ? text : "";
}

// A function of one file has no name for the linker: what is around it is put in front.
std::string qualified_name(Dwarf_Die function)
{
    std::string name = attribute_text(function, DW_AT_name);
    Dwarf_Attribute attribute;
    Dwarf_Die* around = nullptr;
    if (Dwarf_Die declared; dwarf_formref_die(dwarf_attr(&function, DW_AT_specification, &attribute), &declared))
        function = declared; // within its namespace or class
    const int count = dwarf_getscopes_die(&function, &around);
    for (int i = 1; i < count; ++i)
        if (const int tag = dwarf_tag(&around[i]);
            tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
            if (const std::string scope = attribute_text(around[i], DW_AT_name); !scope.empty())
                name.insert(0, scope + "::");
    std::free(around);
    return name;
}

std::string source_of(Dwarf_Die& unit, uint64_t address)
{
    Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
    int number = 0;
    const char* const file = line && dwarf_lineno(line, &number) == 0 ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    return file && number ? fmt::format("{}:{}", file, number) : "";
}

// Where the function that has the inlined one calls it.
std::string source_of_call(Dwarf_Die& unit, Dwarf_Die& inlined)
{
    const auto number = [&](unsigned name) {
        Dwarf_Attribute attribute;
        Dwarf_Word value = 0;
        return dwarf_formudata(dwarf_attr(&inlined, name, &attribute), &value) == 0 ? value : 0;
    };
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0)
        return {};
    const Dwarf_Word line = number(DW_AT_call_line);
    const char* const file = dwarf_filesrc(files, number(DW_AT_call_file), nullptr, nullptr);
    return file && line ? fmt::format("{}:{}", file, line) : "";
}

} // namespace

struct Inlined::State {
    explicit State(const std::string& path) : file(open_debug_file(path))
    {
        if (file)
            dwarf = dwarf_begin(file.get(), DWARF_C_READ);
        if (!dwarf)
            return;
        // Not by dwarf_addrdie(): clang writes no .debug_aranges.
        Dwarf_Off next = 0;
        size_t header = 0;
        for (Dwarf_Off offset = 0; dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0;
             offset = next)
            if (Dwarf_Die unit; dwarf_offdie(dwarf, offset + header, &unit))
                add(units, unit);
        sort(units);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { dwarf_end(dwarf); }

    struct Range {
        Dwarf_Addr start, end;
        Dwarf_Off die;
    };
    using Ranges = std::vector<Range>; // by start

    static void add(Ranges& to, Dwarf_Die& die)
    {
        Dwarf_Addr base = 0, start = 0, end = 0;
        for (ptrdiff_t at = 0; to.size() < most_ranges && (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0;)
            to.push_back({start, end, dwarf_dieoffset(&die)});
    }
    static void sort(Ranges& ranges)
    {
        std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
    }
    bool find(const Ranges& in, uint64_t address, Dwarf_Die& die) const
    {
        const auto behind = std::upper_bound(in.begin(), in.end(), address,
                                             [](uint64_t value, const Range& range) { return value < range.start; });
        return behind != in.begin() && address < std::prev(behind)->end
            && dwarf_offdie(dwarf, std::prev(behind)->die, &die);
    }
    static void add_functions(Ranges& to, Dwarf_Die& parent, unsigned depth)
    {
        Dwarf_Die child;
        if (dwarf_child(&parent, &child) != 0)
            return;
        do {
            if (dwarf_tag(&child) == DW_TAG_subprogram)
                add(to, child);
            else if (dwarf_tag(&child) == DW_TAG_namespace && depth < deepest)
                add_functions(to, child, depth + 1);
        } while (dwarf_siblingof(&child, &child) == 0);
    }
    // A unit may have a program's functions, all of them (LTO): they are looked through once.
    const Ranges& functions_of(Dwarf_Die& unit)
    {
        const auto [found, fresh] = functions.try_emplace(dwarf_dieoffset(&unit));
        if (fresh) {
            add_functions(found->second, unit, 0);
            sort(found->second);
        }
        return found->second;
    }

    // The function is the same for each place where it is inlined.
    std::string name_of(Dwarf_Die& inlined)
    {
        Dwarf_Attribute attribute;
        Dwarf_Die function;
        if (!dwarf_formref_die(dwarf_attr(&inlined, DW_AT_abstract_origin, &attribute), &function))
            return {};
        const auto [found, fresh] = names.try_emplace(dwarf_dieoffset(&function));
        if (fresh)
            found->second = attribute_text(function, DW_AT_linkage_name);
        if (fresh && found->second.empty())
            found->second = qualified_name(function);
        return found->second;
    }

    const Descriptor file;
    Dwarf* dwarf = nullptr;
    Ranges units;
    std::map<Dwarf_Off, Ranges> functions; // of units that were asked for
    std::map<Dwarf_Off, std::string> names;
};

Inlined::Inlined(std::string path) : path_(std::move(path)) {}

Inlined::~Inlined() = default;

Inlined::Place Inlined::at(uint64_t address)
{
    if (!state_)
        state_ = std::make_unique<State>(path_);
    Place place;
    Dwarf_Die unit, die;
    if (!state_->find(state_->units, address, unit))
        return place;
    const auto innermost = [&]() -> std::string& {
        return place.inlined.empty() ? place.source : place.inlined.back().source;
    };
    bool found = state_->find(state_->functions_of(unit), address, die);
    for (unsigned depth = 0; found && depth < deepest; ++depth) {
        Dwarf_Die child;
        found = dwarf_child(&die, &child) == 0;
        while (found && dwarf_haspc(&child, address) <= 0)
            found = dwarf_siblingof(&child, &child) == 0;
        if (!found)
            break;
        die = child;
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            if (std::string name = state_->name_of(die); !name.empty()) {
                innermost() = source_of_call(unit, die);
                place.inlined.push_back({std::move(name), {}});
            }
    }
    innermost() = source_of(unit, address);
    std::reverse(place.inlined.begin(), place.inlined.end());
    return place;
}

} // namespace fastsdt

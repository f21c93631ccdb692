// SPDX-License-Identifier: BSD-2-Clause
#include "process/debug_types.h"

#include "process/btf_types.h"
#include "process/declared.h"
#include "process/match.h"
#include "base/demangle.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "elf/return_probes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <fnmatch.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

constexpr size_t most_entries = 20'000'000; // of a damaged file

std::optional<uint64_t> number(Dwarf_Die& die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dwarf_attr_integrate(&die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return std::nullopt;
    return value;
}

std::string die_name(Dwarf_Die& die)
{
    Dwarf_Attribute attribute;
    const char* const name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
    return name ? name : "";
}

bool type_of(Dwarf_Die& die, Dwarf_Die& type)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type) != nullptr;
}

bool is_struct_tag(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool is_go(Dwarf_Die& die)
{
    Dwarf_Die unit;
    return dwarf_diecu(&die, &unit, nullptr, nullptr) && dwarf_srclang(&unit) == DW_LANG_Go;
}

std::string record_name(Dwarf_Die& die)
{
    const std::string name = die_name(die);
    if (name == "string" && is_go(die))
        return name;
    const char* const kind = dwarf_tag(&die) == DW_TAG_union_type ? "union" : "struct";
    return name.empty() ? kind : fmt::format("{} {}", kind, name);
}

bool is_float(Dwarf_Die& type)
{
    return dwarf_tag(&type) == DW_TAG_base_type && number(type, DW_AT_encoding) == uint64_t(DW_ATE_float);
}

// Of what the entry has for its type.
std::string type_name(Dwarf_Die& die, int depth = 0)
{
    Dwarf_Die type;
    if (!type_of(die, type))
        return "void";
    if (depth > deepest_type)
        return "?";
    const auto qualified = [&](const char* word) {
        Dwarf_Die of;
        const std::string name = type_name(type, depth + 1);
        return type_of(type, of) && dwarf_tag(&of) == DW_TAG_pointer_type ? fmt::format("{} {}", name, word)
                                                                          : fmt::format("{} {}", word, name);
    };
    switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type: return type_name(type, depth + 1) + '*';
    case DW_TAG_reference_type: return type_name(type, depth + 1) + '&';
    case DW_TAG_rvalue_reference_type: return type_name(type, depth + 1) + "&&";
    case DW_TAG_const_type: return qualified("const");
    case DW_TAG_volatile_type: return qualified("volatile");
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: return type_name(type, depth + 1);
    case DW_TAG_enumeration_type: return fmt::format("enum {}", die_name(type));
    case DW_TAG_subroutine_type: return type_name(type, depth + 1) + " ()";
    default:
        if (is_struct_tag(dwarf_tag(&type)))
            return record_name(type);
        const std::string name = die_name(type);
        return name.empty() ? "?" : name;
    }
}

// Without typedefs and qualifiers.
bool plain(Dwarf_Die& die)
{
    for (int depth = 0; depth < deepest_type; ++depth)
        switch (dwarf_tag(&die)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type: {
            Dwarf_Die next;
            if (!type_of(die, next))
                return false;
            die = next;
            break;
        }
        default: return true;
        }
    return false;
}

ShapePtr shape_of(Dwarf_Die die, int depth, size_t& members);

ShapePtr target_of(Dwarf_Die& pointer, int depth, size_t& members)
{
    Dwarf_Die type;
    if (!type_of(pointer, type) || !plain(type))
        return nullptr;
    // By its name, so that a list of itself is no circle.
    if (is_struct_tag(dwarf_tag(&type)) && !die_name(type).empty())
        return plain_shape(Shape::Kind::record, 0, record_name(type));
    return shape_of(type, depth, members);
}

ShapePtr array_of(Dwarf_Die& die, int depth, size_t& members)
{
    Dwarf_Die type, child;
    if (!type_of(die, type) || dwarf_hasattr(&die, DW_AT_GNU_vector))
        return nullptr;
    ShapePtr shape = shape_of(type, depth, members);
    std::vector<uint64_t> counts;
    if (dwarf_child(&die, &child) == 0)
        do {
            if (dwarf_tag(&child) != DW_TAG_subrange_type || counts.size() >= size_t(deepest_type))
                continue;
            const auto count = number(child, DW_AT_count), last = number(child, DW_AT_upper_bound);
            counts.push_back(count ? *count : last && *last + 1 != 0 ? *last + 1 : 0);
        } while (dwarf_siblingof(&child, &child) == 0);
    for (size_t i = counts.size(); shape && i-- > 0;) {
        if (shape->size == 0 || counts[i] > largest_type / shape->size)
            return nullptr;
        shape = array_shape(shape, size_t(counts[i]));
    }
    return shape;
}

// By itself, or by the typedef that its type is.
bool is_over_aligned(Dwarf_Die die)
{
    for (int depth = 0; depth < deepest_type; ++depth) {
        Dwarf_Die type;
        if (number(die, DW_AT_alignment).value_or(0) > 8)
            return true;
        if (!type_of(die, type) || dwarf_tag(&type) != DW_TAG_typedef)
            return false;
        die = type;
    }
    return true;
}

ShapePtr record_of(Dwarf_Die& die, int depth, size_t& members)
{
    Shape record{.kind = Shape::Kind::record, .size = size_t(number(die, DW_AT_byte_size).value_or(0))};
    record.name = record_name(die);
    record.lacks_members = is_over_aligned(die);
    Dwarf_Die child, type;
    if (record.size > largest_type || dwarf_child(&die, &child) != 0)
        return nullptr;
    do {
        // Where such a record is on the stack depends on its alignment.
        record.lacks_members =
            record.lacks_members || dwarf_tag(&child) == DW_TAG_inheritance || is_over_aligned(child);
        if (dwarf_tag(&child) != DW_TAG_member || !type_of(child, type))
            continue;
        const auto at = number(child, DW_AT_data_member_location);
        const auto bits = number(child, DW_AT_bit_size), first = number(child, DW_AT_data_bit_offset);
        if (!at && !bits && dwarf_tag(&die) != DW_TAG_union_type && !first)
            continue; // a static member
        Shape::Member member;
        member.name = die_name(child);
        ++members;
        member.shape = shape_of(type, depth, members);
        member.offset = size_t(at.value_or(0));
        if (member.shape && bits == uint64_t(0))
            continue;
        add_member(record, std::move(member), first.value_or(8 * at.value_or(0)), bits.value_or(0));
    } while (dwarf_siblingof(&child, &child) == 0);
    return std::make_shared<const Shape>(std::move(record));
}

// With its constants, and a sign if one of them has: not every compiler says of which type they are.
Shape enumeration_of(Dwarf_Die& die)
{
    Shape found{.kind = Shape::Kind::enumeration,
                .size = size_t(number(die, DW_AT_byte_size).value_or(4)),
                .name = die_name(die).empty() ? "enum" : "enum " + die_name(die)};
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return found;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Sword value = 0;
        if (dwarf_tag(&child) != DW_TAG_enumerator
            || dwarf_formsdata(dwarf_attr(&child, DW_AT_const_value, &attribute), &value) != 0)
            continue;
        found.is_signed = found.is_signed || (value < 0 && dwarf_whatform(&attribute) != DW_FORM_udata);
        found.constants.emplace_back(die_name(child), value);
    } while (dwarf_siblingof(&child, &child) == 0);
    return found;
}

ShapePtr shape_of(Dwarf_Die die, int depth, size_t& members)
{
    if (depth > deepest_type || members > most_members || !plain(die))
        return nullptr;
    const uint64_t size = number(die, DW_AT_byte_size).value_or(0);
    switch (dwarf_tag(&die)) {
    case DW_TAG_base_type: {
        const uint64_t encoding = number(die, DW_AT_encoding).value_or(0);
        const bool is_char = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;
        const bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
        if (encoding == DW_ATE_float && (size == 4 || size == 8))
            return real_shape(size_t(size));
        const bool is_integer = is_char || is_signed || encoding == DW_ATE_unsigned || encoding == DW_ATE_boolean
            || encoding == DW_ATE_UTF || encoding == DW_ATE_address;
        if (size == 0 || size > 8 || !is_integer)
            return nullptr;
        return std::make_shared<const Shape>(Shape{
            .size = size_t(size), .is_signed = is_signed, .name = is_char && die_name(die) == "char" ? "char" : ""});
    }
    case DW_TAG_enumeration_type:
        return size && size <= 8 ? integer_shape(size_t(size), enumeration_of(die).is_signed) : nullptr;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: return pointer_shape(target_of(die, depth + 1, members));
    case DW_TAG_array_type: return array_of(die, depth + 1, members);
    case DW_TAG_subroutine_type: return is_go(die) ? pointer_shape(nullptr) : nullptr; // Go's are addresses of closures
    default: return is_struct_tag(dwarf_tag(&die)) ? record_of(die, depth + 1, members) : nullptr;
    }
}

ShapePtr shape_of(const Dwarf_Die& die)
{
    size_t members = 0;
    return shape_of(die, 0, members);
}

} // namespace

/// What is declared in a file, by name. Read when the first is wanted.
class DebugFiles::File {
public:
    explicit File(const std::string& path) : file_(open_debug_file(path))
    {
        if (file_)
            dwarf_ = dwarf_begin(file_.get(), DWARF_C_READ);
        if (dwarf_)
            read();
        if (functions.empty())
            btf_ = std::make_unique<BtfFile>(path);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { dwarf_end(dwarf_); }

    std::optional<Dwarf_Die> find(const std::map<std::string, Dwarf_Off>& among, const std::string& name)
    {
        const auto found = among.find(name);
        Dwarf_Die die;
        if (found == among.end() || !dwarf_offdie(dwarf_, found->second, &die))
            return std::nullopt;
        return die;
    }

    std::map<std::string, Dwarf_Off> types, functions, variables;
    std::vector<Dwarf_Off> enumerations;

    /// nullptr: DWARF declares functions
    const BtfFile* btf() const { return btf_.get(); }
    ShapePtr record(const std::string& name)
    {
        const auto found = find(types, name);
        return found ? shape_of(*found) : btf_ ? btf_->record(name) : nullptr;
    }
    ShapePtr variable(const std::string& name)
    {
        auto found = find(variables, name);
        Dwarf_Die type;
        if (!found)
            return btf_ ? btf_->variable(name) : nullptr;
        return type_of(*found, type) ? shape_of(type) : nullptr;
    }

    Declared declared()
    {
        Declared all;
        for (const auto& [name, offset] : types)
            if (Dwarf_Die die; dwarf_offdie(dwarf_, offset, &die))
                if (ShapePtr shape = shape_of(die))
                    all.records.emplace(name, std::move(shape));
        for (const Dwarf_Off offset : enumerations) {
            Dwarf_Die die;
            if (!dwarf_offdie(dwarf_, offset, &die) || !dwarf_haschildren(&die))
                continue;
            const auto shape = std::make_shared<const Shape>(enumeration_of(die));
            for (const auto& [name, value] : shape->constants)
                all.constants.emplace(name, std::pair(value, shape));
            if (shape->name != "enum")
                all.records.emplace(shape->name, shape);
        }
        return all;
    }

private:
    void read()
    {
        Dwarf_Off offset = 0, next = 0;
        size_t header = 0;
        for (; dwarf_nextcu(dwarf_, offset, &next, &header, nullptr, nullptr, nullptr) == 0; offset = next) {
            Dwarf_Die unit, child;
            if (dwarf_offdie(dwarf_, offset + header, &unit) && dwarf_child(&unit, &child) == 0)
                children(child, 0);
        }
    }

    void children(Dwarf_Die child, int depth)
    {
        do {
            if (++entries_ > most_entries)
                return;
            const int tag = dwarf_tag(&child);
            Dwarf_Die inner;
            if (tag == DW_TAG_namespace && depth < deepest_type && dwarf_child(&child, &inner) == 0)
                children(inner, depth + 1);
            else
                add(child, tag);
        } while (dwarf_siblingof(&child, &child) == 0);
    }

    void add(Dwarf_Die& die, int tag)
    {
        const Dwarf_Off offset = dwarf_dieoffset(&die);
        if ((is_struct_tag(tag) || tag == DW_TAG_typedef) && !dwarf_hasattr(&die, DW_AT_declaration)) {
            if (const std::string name = die_name(die); !name.empty())
                types.try_emplace(is_struct_tag(tag) ? record_name(die) : name, offset);
        } else if (tag == DW_TAG_enumeration_type) {
            enumerations.push_back(offset);
        } else if (tag == DW_TAG_subprogram && !dwarf_hasattr(&die, DW_AT_declaration)) {
            Dwarf_Attribute attribute;
            if (const char* const linked = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute)))
                functions.try_emplace(linked, offset);
            functions.try_emplace(die_name(die), offset);
        } else if (tag == DW_TAG_variable && !dwarf_hasattr(&die, DW_AT_declaration)) {
            variables.try_emplace(die_name(die), offset);
        }
    }

    const Descriptor file_;
    Dwarf* dwarf_ = nullptr;
    std::unique_ptr<BtfFile> btf_;
    size_t entries_ = 0;
};

Declared declared_in(const std::string& path)
{
    return DebugFiles::File(path).declared();
}

DebugFiles::DebugFiles(const ProcessView& view) : root_(view.pid() ? view.path("") : "") {}
DebugFiles::~DebugFiles() = default;

std::string DebugFiles::path_of(const Probe& probe) const
{
    std::string path = resolve(probe.file);
    if (path.starts_with('/') && access((root_ + path).c_str(), R_OK) == 0)
        path = root_ + path;
    return path;
}

DebugFiles::File* DebugFiles::file_of(const Probe& probe)
{
    const auto [found, fresh] = files_.try_emplace(probe.file);
    if (!fresh)
        return found->second.get();
    if (is_pattern(probe.file))
        return nullptr;
    const std::string path = path_of(probe);
    if (!path.empty())
        found->second = std::make_unique<File>(path);
    return found->second.get();
}

ShapePtr DebugFiles::record(const Probe& probe, const std::string& name)
{
    File* const file = file_of(probe);
    return file ? file->record(name) : nullptr;
}

// Of the function that the probe means: overloads have their parameters in other places. Empty: it is not one.
std::string DebugFiles::linked_name(File& file, const Probe& probe)
{
    if (!probe.source_name)
        return probe.name;
    std::vector<std::string> named;
    for (const auto& [linked, die] : file.functions)
        if (has_source_name(linked, probe.name))
            named.push_back(linked);
    return named.size() == 1 ? named.front() : "";
}

// Of what the entry has for its type. Whether C++ passes a class by its address follows from its constructors: compilers say it.
static DebugTypes::Value value_of(Dwarf_Die& die)
{
    DebugTypes::Value value;
    Dwarf_Die type;
    value.type = type_name(die);
    value.of_go = is_go(die);
    value.is_void = !type_of(die, type);
    if (value.is_void || !plain(type))
        return value;
    value.is_float = is_float(type);
    value.shape = shape_of(type);
    if (!is_struct_tag(dwarf_tag(&type)))
        return value;
    Dwarf_Die unit;
    const auto convention = number(type, DW_AT_calling_convention);
    const int language = dwarf_diecu(&type, &unit, nullptr, nullptr) ? dwarf_srclang(&unit) : -1;
    const bool is_c =
        language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 || language == DW_LANG_C11;
    value.by_reference = convention == uint64_t(DW_CC_pass_by_reference);
    if (!is_c && !value.of_go && !convention)
        value.shape = nullptr;
    return value;
}

static bool is_result(Dwarf_Die& parameter)
{
    Dwarf_Attribute attribute;
    bool is = false;
    return dwarf_formflag(dwarf_attr(&parameter, DW_AT_variable_parameter, &attribute), &is) == 0 && is;
}

// One result as it is. Of several a structure: of one that has no name, "~r0", the member is r0.
static DebugTypes::Value together(const std::vector<DebugTypes::Parameter>& results)
{
    if (results.size() == 1)
        return results[0];
    DebugTypes::Value all{.of_go = true, .type = "results"};
    std::vector<ShapePtr> shapes;
    std::vector<std::string> names;
    for (const DebugTypes::Parameter& one : results) {
        const std::string name = one.name.starts_with('~') ? one.name.substr(1) : one.name;
        if (!one.shape) {
            all.type = fmt::format("{} ({})", name, one.type);
            return all;
        }
        shapes.push_back(one.shape);
        names.push_back(name);
    }
    all.shape = tuple_shape(shapes, names);
    return all;
}

std::optional<DebugTypes::Signature> DebugFiles::signature(const Probe& probe)
{
    File* const file = file_of(probe);
    if (!file || probe.offset != 0) // in the middle of a function they may be anywhere
        return std::nullopt;
    if (const BtfFile* const btf = file->btf())
        return probe.source_name ? std::nullopt : btf->signature(probe.name);
    auto function = file->find(file->functions, linked_name(*file, probe));
    // A compiler that passes arguments as it likes, or not at all, says so.
    if (!function || number(*function, DW_AT_calling_convention) == uint64_t(DW_CC_nocall))
        return std::nullopt;
    Signature found{.parameters = {}, .result = value_of(*function)};
    std::vector<Parameter> results; // of Go, which lists them behind
    Dwarf_Die child;
    if (dwarf_child(&*function, &child) == 0)
        do {
            if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
                auto& all = is_result(child) ? results : found.parameters;
                Parameter one{value_of(child), die_name(child)};
                // Go 1.26 has some results twice.
                if (all.empty() || all.back().name != one.name || !one.name.starts_with("~r"))
                    all.push_back(std::move(one));
            }
        } while (dwarf_siblingof(&child, &child) == 0);
    if (!results.empty())
        found.result = together(results);
    if (const std::string name = die_name(*function); name.find("[go.shape.") != name.npos) {
        found.has_dictionary = true;
        if (name.find(".(") != name.npos || name.find("].") != name.npos) // a method's, or of a function in it
            found.has_dictionary.reset();
    }
    return found;
}

std::string DebugFiles::why_undeclared(const Probe& probe)
{
    bool is_go = false, has = false, fits = false; // by its name, as a pattern
    if (!is_pattern(probe.file))
        Image::each(
            path_of(probe),
            [&](const Image& image) {
                is_go = is_go_program(image);
                if (!is_go)
                    return;
                image.find_names();
                for (const Function& each : image.functions()) {
                    has = has || each.name == probe.name || std::ranges::count(each.aliases, probe.name);
                    fits = fits || fnmatch(probe.name.c_str(), std::string(each.name).c_str(), 0) == 0;
                }
            },
            [](const Error&) {});
    if (!is_go)
        return {};
    const File* const file = file_of(probe);
    if (!has && fits)
        return fmt::format("{} means several functions: arguments have names, and results types, where one is named",
                           probe.name);
    if (!has)
        return fmt::format("{0} has no function {1}; fastsdt-trace --list {0} shows the names", probe.file, probe.name);
    if (!file || file->functions.empty())
        return fmt::format(
            "{} has no debug information, which tells the names and types of arguments and results: it was "
            "stripped, or built with -ldflags=-w or -s: build it without, or take arg0 and retval, which are registers",
            probe.file);
    return fmt::format("the debug information of {} does not tell the arguments and results of {}; arg0 and retval are "
                       "registers",
                       probe.file, probe.name);
}

ShapePtr DebugFiles::variable(const Probe& probe, const std::string& name)
{
    File* const file = file_of(probe);
    return file ? file->variable(name) : nullptr;
}

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
#include "process/btf_types.h"

#include "process/declared.h"
#include "elf/image.h"

#ifdef FASTSDT_HAVE_LIBBPF
#include <bpf/btf.h>
#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::engine {
namespace {

class Types {
public:
    explicit Types(const btf* all) : all_(all) {}

    const btf_type* type(unsigned id) const { return btf__type_by_id(all_, id); } // nullptr: there is none
    std::string name(unsigned offset) const
    {
        const char* const found = btf__name_by_offset(all_, offset);
        return found ? found : "";
    }
    std::string name(const btf_type* of) const { return name(of->name_off); }
    // Without typedefs and qualifiers. nullptr: void, or not known
    const btf_type* plain(unsigned id) const
    {
        for (int depth = 0; depth < deepest_type; ++depth) {
            const btf_type* const of = type(id);
            if (!of || btf_is_void(of))
                return nullptr;
            if (!btf_is_mod(of) && !btf_is_typedef(of) && !btf_is_type_tag(of))
                return of;
            id = of->type;
        }
        return nullptr;
    }
    std::string record_name(const btf_type* of) const
    {
        const char* const kind = btf_is_union(of) ? "union" : "struct";
        return of->name_off ? fmt::format("{} {}", kind, name(of)) : kind;
    }
    // pahole writes an integer of that name unless it is told --btf_gen_floats.
    bool is_float(const btf_type* of) const
    {
        const std::string named = btf_is_int(of) ? name(of) : "";
        return btf_is_float(of) || named.find("float") != named.npos || named.find("double") != named.npos
            || named.starts_with("_Float");
    }
    // As bpftrace -lv writes it.
    std::string type_name(unsigned id, int depth = 0) const
    {
        const btf_type* const of = type(id);
        if (!of || depth > deepest_type)
            return "?";
        switch (btf_kind(of)) {
        case BTF_KIND_UNKN: return "void";
        case BTF_KIND_PTR: return type_name(of->type, depth + 1) + '*';
        case BTF_KIND_CONST: return fmt::format("const {}", type_name(of->type, depth + 1));
        case BTF_KIND_VOLATILE: return fmt::format("volatile {}", type_name(of->type, depth + 1));
        case BTF_KIND_RESTRICT:
        case BTF_KIND_TYPE_TAG: return type_name(of->type, depth + 1);
        case BTF_KIND_FUNC_PROTO: return type_name(of->type, depth + 1) + " ()";
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64: return fmt::format("enum {}", name(of));
        case BTF_KIND_FWD: return fmt::format("{} {}", btf_kflag(of) ? "union" : "struct", name(of));
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION: return record_name(of);
        default: return of->name_off ? name(of) : "?";
        }
    }
    ShapePtr shape(unsigned id)
    {
        members_ = 0;
        return shape(id, 0);
    }

private:
    ShapePtr shape(unsigned id, int depth)
    {
        const btf_type* const of = depth > deepest_type || members_ > most_members ? nullptr : plain(id);
        if (!of)
            return nullptr;
        if (is_float(of))
            return of->size == 4 || of->size == 8 ? real_shape(of->size) : nullptr;
        switch (btf_kind(of)) {
        case BTF_KIND_INT: {
            const uint8_t encoding = btf_int_encoding(of);
            if (of->size == 0 || of->size > 8 || btf_int_offset(of) != 0 || btf_int_bits(of) != 8 * of->size)
                return nullptr;
            return std::make_shared<const Shape>(Shape{.size = of->size,
                                                       .is_signed = (encoding & BTF_INT_SIGNED) != 0,
                                                       .name = of->size == 1 && name(of) == "char" ? "char" : ""});
        }
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64: return of->size && of->size <= 8 ? integer_shape(of->size, is_signed(of)) : nullptr;
        case BTF_KIND_PTR: return pointer_shape(target(of->type, depth + 1));
        case BTF_KIND_ARRAY: {
            const struct btf_array* const array = btf_array(of); // a function, too
            const ShapePtr one = shape(array->type, depth + 1);
            return one && one->size && array->nelems <= largest_type / one->size ? array_shape(one, array->nelems)
                                                                                 : nullptr;
        }
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION: return record(of, depth + 1);
        default: return nullptr;
        }
    }
    // Files of before kflag have no sign; a constant has.
    static bool is_signed(const btf_type* of)
    {
        if (btf_kflag(of))
            return true;
        for (unsigned i = 0; btf_is_enum(of) && i < btf_vlen(of); ++i)
            if (btf_enum(of)[i].val < 0)
                return true;
        return false;
    }
    // By its name, so that a list of itself is no circle.
    ShapePtr target(unsigned id, int depth)
    {
        const btf_type* const of = plain(id);
        if (of && btf_is_composite(of) && of->name_off)
            return plain_shape(Shape::Kind::record, 0, record_name(of));
        return of ? shape(id, depth) : nullptr;
    }
    // .BTF says neither that a structure is aligned to more than its members want, nor that an array is a vector. Both are passed in other
    // places, so a structure that may be such a one is not known there; its members are.
    static bool may_pass_otherwise(const Shape& record)
    {
        return record.size % 16 == 0 || std::ranges::any_of(record.members, [](const Shape::Member& each) {
                   const bool is_array =
                       each.shape->kind == Shape::Kind::array || each.shape->kind == Shape::Kind::text;
                   return is_array && (each.shape->size == 8 || each.shape->size % 16 == 0);
               });
    }
    ShapePtr record(const btf_type* of, int depth)
    {
        Shape record{.kind = Shape::Kind::record, .size = of->size, .name = record_name(of)};
        if (of->size > largest_type)
            return nullptr;
        for (unsigned i = 0; i < btf_vlen(of); ++i) {
            const btf_member& each = btf_members(of)[i];
            const uint64_t bits = btf_member_bitfield_size(of, i), first = btf_member_bit_offset(of, i);
            Shape::Member member{.name = name(each.name_off), .offset = size_t(first / 8)};
            ++members_;
            if (bits || first % 8 == 0)
                member.shape = shape(each.type, depth);
            add_member(record, std::move(member), first, bits);
        }
        record.lacks_members = record.lacks_members || may_pass_otherwise(record);
        return std::make_shared<const Shape>(std::move(record));
    }

    const btf* const all_;
    size_t members_ = 0;
};

DebugTypes::Value value_of(Types& types, unsigned id)
{
    DebugTypes::Value value;
    value.type = types.type_name(id);
    value.is_void = id == 0;
    const btf_type* const of = types.plain(id);
    if (!of)
        return value;
    value.is_float = types.is_float(of);
    if (!btf_is_array(of)) // no parameter of C is an array: it is a vector
        value.shape = types.shape(id);
    return value;
}

} // namespace

void BtfFile::Free::operator()(btf* all) const
{
    btf__free(all);
}

BtfFile::BtfFile(const std::string& path)
{
    try {
        Image::each(
            path,
            [&](const Image& image) {
                // Not by btf__parse_elf(), which writes to the standard error where a file lacks the section.
                const Section* const section = image.section(".BTF");
                if (const auto bytes = section ? image.contents(*section) : std::span<const std::byte>();
                    !bytes.empty())
                    btf_.reset(btf__new(bytes.data(), static_cast<uint32_t>(bytes.size())));
            },
            [](const Error&) {});
    } catch (const Unusable&) { // a name like libc.so.6, which each process has a file for
        return;
    }
    if (!btf_)
        return;
    const Types types(btf_.get());
    for (unsigned id = 1; id < btf__type_cnt(btf_.get()); ++id) {
        const btf_type* const of = types.type(id);
        const std::string name = types.name(of);
        if (name.empty())
            continue;
        if (btf_is_composite(of))
            types_.try_emplace(types.record_name(of), id);
        else if (btf_is_typedef(of))
            types_.try_emplace(name, id);
        else if (btf_is_var(of))
            variables_.try_emplace(name, of->type);
        else if (const btf_type* const prototype = btf_is_func(of) ? types.type(of->type) : nullptr;
                 prototype && btf_is_func_proto(prototype))
            if (const auto [found, fresh] = functions_.try_emplace(name, of->type); !fresh && found->second != of->type)
                found->second = 0;
    }
}

ShapePtr BtfFile::record(const std::string& name) const
{
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : Types(btf_.get()).shape(found->second);
}

ShapePtr BtfFile::variable(const std::string& name) const
{
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : Types(btf_.get()).shape(found->second);
}

std::optional<DebugTypes::Signature> BtfFile::signature(const std::string& function) const
{
    const auto found = functions_.find(function);
    if (found == functions_.end() || found->second == 0)
        return std::nullopt;
    Types types(btf_.get());
    const btf_type* const prototype = types.type(found->second);
    DebugTypes::Signature signature{.parameters = {}, .result = value_of(types, prototype->type)};
    for (unsigned i = 0; i < btf_vlen(prototype); ++i) {
        const btf_param& each = btf_params(prototype)[i];
        if (each.type == 0) // "..."
            break;
        signature.parameters.push_back({value_of(types, each.type), types.name(each.name_off)});
    }
    return signature;
}

} // namespace fastsdt::engine

#else // without libbpf there is no reader, and what .BTF declares is not known

namespace fastsdt::engine {

void BtfFile::Free::operator()(btf*) const {}
BtfFile::BtfFile(const std::string&) {}
ShapePtr BtfFile::record(const std::string&) const
{
    return nullptr;
}
ShapePtr BtfFile::variable(const std::string&) const
{
    return nullptr;
}
std::optional<DebugTypes::Signature> BtfFile::signature(const std::string&) const
{
    return std::nullopt;
}

} // namespace fastsdt::engine

#endif

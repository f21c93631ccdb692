// SPDX-License-Identifier: BSD-2-Clause
#include "script/declarations.h"

#include <algorithm>
#include <array>

namespace fastsdt::engine {
namespace {

constexpr size_t most_elements = size_t(1) << 20; ///< of an array
constexpr std::string_view attribute = "__attribute__";

/// C's types and bpftrace's names for them.
struct BaseType {
    std::string_view name;
    size_t size;
    bool is_signed;
};
constexpr std::array<BaseType, 36> base_types = {{
    {"int8", 1, true},     {"int16", 2, true},      {"int32", 4, true},     {"int64", 8, true},
    {"uint8", 1, false},   {"uint16", 2, false},    {"uint32", 4, false},   {"uint64", 8, false},
    {"int8_t", 1, true},   {"int16_t", 2, true},    {"int32_t", 4, true},   {"int64_t", 8, true},
    {"uint8_t", 1, false}, {"uint16_t", 2, false},  {"uint32_t", 4, false}, {"uint64_t", 8, false},
    {"s8", 1, true},       {"s16", 2, true},        {"s32", 4, true},       {"s64", 8, true},
    {"u8", 1, false},      {"u16", 2, false},       {"u32", 4, false},      {"u64", 8, false},
    {"__s8", 1, true},     {"__s32", 4, true},      {"__s64", 8, true},     {"__u8", 1, false},
    {"__u16", 2, false},   {"__u32", 4, false},     {"__u64", 8, false},    {"size_t", 8, false},
    {"ssize_t", 8, true},  {"uintptr_t", 8, false}, {"intptr_t", 8, true},  {"off_t", 8, true},
}};
/// Words of which C makes integers.
constexpr std::array<std::string_view, 6> integer_words = {"unsigned", "signed", "char", "short", "int", "long"};

template <size_t N> bool one_of(std::string_view word, const std::array<std::string_view, N>& words)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace

bool Declarations::is_type(std::string_view word)
{
    return word == "bool" || word == "_Bool" || word == "float" || word == "double" || word == "string"
        || word == "struct" || word == "union" || word == "enum" || word == "void" || word == "const"
        || word.ends_with("_t") || one_of(word, integer_words)
        || std::any_of(base_types.begin(), base_types.end(), [&](const BaseType& t) { return t.name == word; });
}

// struct a { ... }; union a { ... }; enum a { ... };
void Declarations::declaration()
{
    advance();
    const bool is_enum = is_word("enum");
    const Span start = token_.where;
    if (is_enum)
        enumeration();
    else
        type_name(true);
    if (last_word_ != "}" && !is("}"))
        fail(start, "a structure is declared as struct NAME { MEMBERS }");
    while (!is_enum && lexer_.ahead(attribute)) {
        advance();
        attributes(nullptr);
    }
    if (lexer_.peek() == ';')
        lexer_.skip();
}

// __attribute__((packed)), __attribute__((aligned(1))). Others are refused. @param record  what has them; none: the last one
void Declarations::attributes(ShapePtr* record)
{
    while (is_word(attribute)) {
        const bool ends_here = record == nullptr;
        advance();
        expect("(", attribute);
        expect("(", "\"(\"");
        if (!is_word("packed") && !is_word("aligned"))
            kernel_only(token_.where, fmt::format("{} is no attribute here: packed is", found()));
        if (is_word("packed")) {
            const ShapePtr packed = last_record_.packed();
            script_.records[packed->name] = packed;
            if (record)
                *record = packed;
            advance();
        } else { // of one that is packed: it changes nothing
            advance();
            expect("(", "\"aligned\"");
            if (token_.kind != Token::Kind::number || token_.number != 1)
                kernel_only(token_.where, "aligned(1) is the only alignment here");
            advance();
            expect(")", "the alignment");
        }
        expect(")", "the attribute");
        if (ends_here) { // what follows may be a probe, which is no word
            if (!is(")"))
                expect(")", "the attribute");
            return;
        }
        expect(")", "the attribute");
    }
}

void Declarations::enumeration()
{
    advance();
    Shape made{.kind = Shape::Kind::enumeration, .size = 4, .name = "enum"};
    if (token_.kind == Token::Kind::identifier) {
        made.name += " " + std::string(token_.word);
        advance();
    }
    expect("{", "\"enum\"");
    for (int64_t next = 0; !is("}"); ++next) {
        if (token_.kind != Token::Kind::identifier)
            fail(token_.where, fmt::format("the name of a constant is wanted, and not {}", found()));
        const std::string name(token_.word);
        advance();
        if (accept("=")) {
            const bool minus = accept("-");
            if (token_.kind != Token::Kind::number)
                fail(token_.where, "a constant is a number");
            next = minus ? -static_cast<int64_t>(token_.number) : static_cast<int64_t>(token_.number);
            advance();
        }
        made.constants.emplace_back(name, next);
        made.is_signed = made.is_signed || next < 0;
        if (next < INT32_MIN || next > UINT32_MAX)
            made.size = 8;
        if (!is("}"))
            expect(",", "a constant");
    }
    const auto shape = std::make_shared<const Shape>(std::move(made));
    script_.records[shape->name] = shape;
    for (const auto& [name, value] : shape->constants)
        script_.constants[name] = {value, shape};
}

// A type: "unsigned int", "struct a", "struct { ... }" without the stars behind it. `stays`: the brace at the end of a
// structure is left, since no word follows it.
ShapePtr Declarations::type_name(bool stays)
{
    while (is_word("const") || is_word("volatile"))
        advance();
    const Token token = token_;
    if (is_word("struct") || is_word("union"))
        return record_name(stays);
    if (one_of(token.word, integer_words))
        return integer_name();
    advance();
    if (token.word == "enum") {
        const auto known = script_.records.find("enum " + std::string(token_.word));
        advance();
        return known != script_.records.end() ? known->second : integer_shape(4, false);
    }
    if (token.word == "bool" || token.word == "_Bool")
        return bool_shape();
    if (token.word == "float" || token.word == "double")
        return real_shape(token.word == "float" ? 4 : 8);
    if (token.word == "string") // string[64]: array_of() has its size
        return plain_shape(Shape::Kind::text, 0);
    if (token.word == "void")
        return nullptr;
    for (const BaseType& type : base_types)
        if (type.name == token.word)
            return integer_shape(type.size, type.is_signed);
    return plain_shape(Shape::Kind::record, 0, std::string(token.word)); // a typedef
}

ShapePtr Declarations::integer_name()
{
    size_t size = 4;
    bool is_signed = true, is_char = false;
    for (; token_.kind == Token::Kind::identifier && one_of(token_.word, integer_words); advance()) {
        is_char = is_char || token_.word == "char";
        is_signed = is_signed && token_.word != "unsigned";
        size = token_.word == "char" ? 1 : token_.word == "short" ? 2 : token_.word == "long" ? 8 : size;
    }
    if (is_char && is_signed)
        return std::make_shared<const Shape>(Shape{.size = 1, .is_signed = true, .name = "char"});
    return integer_shape(size, is_signed);
}

ShapePtr Declarations::record_name(bool stays)
{
    const Depth depth(*this);
    const bool is_union = is_word("union");
    std::string name(token_.word);
    advance();
    if (token_.kind == Token::Kind::identifier) {
        name += ' ' + std::string(token_.word);
        advance();
    } else if (!is("{")) {
        fail(token_.where, fmt::format("the name of a structure is wanted, and not {}", found()));
    }
    if (!is("{"))
        return plain_shape(Shape::Kind::record, 0, name);
    RecordBuilder record(name, is_union);
    advance();
    while (!is("}")) {
        if (token_.kind != Token::Kind::identifier)
            fail(token_.where, fmt::format("the type of a member is wanted, and not {}", found()));
        const Span where = token_.where;
        const ShapePtr type = type_name();
        if (is(";")) { // a structure without a name
            record.add("", complete(type, where));
        } else {
            do
                member(record, type);
            while (accept(","));
        }
        if (!is("}"))
            expect(";", "a member");
    }
    ShapePtr made = record.done();
    script_.records[name] = made;
    last_record_ = std::move(record);
    if (!stays) {
        advance();
        attributes(&made);
    }
    return made;
}

ShapePtr Declarations::complete(const ShapePtr& shape, Span where)
{
    if (!shape)
        fail(where, "a member has a type with a size");
    if (shape->kind != Shape::Kind::record || shape->size != 0)
        return shape;
    const auto known = script_.records.find(shape->name);
    if (known == script_.records.end())
        kernel_only(where, fmt::format("{} is not declared before it is the type of a member", shape->name));
    return known->second;
}

ShapePtr Declarations::stars(ShapePtr type)
{
    while (accept("*")) {
        type = pointer_shape(type);
        while (is_word("const") || is_word("volatile"))
            advance();
    }
    return type;
}

void Declarations::member(RecordBuilder& record, const ShapePtr& base)
{
    const Span where = token_.where;
    ShapePtr type = stars(base);
    std::string name;
    if (token_.kind == Token::Kind::identifier) {
        name = token_.word;
        advance();
    } else if (!is(":")) {
        fail(token_.where, fmt::format("the name of a member is wanted, and not {}", found()));
    }
    const auto number = [&] {
        if (token_.kind != Token::Kind::number || token_.number > most_elements)
            fail(token_.where, fmt::format("a number is wanted, and not {}", found()));
        const auto found = static_cast<size_t>(token_.number);
        advance();
        return found;
    };
    if (accept(":")) {
        type = complete(type, where);
        const size_t bits = number();
        if (!type->is_integer() || bits > type->size * 8)
            fail(where, "a bit field is a part of an integer");
        record.add_bits(std::move(name), type, unsigned(bits));
        return;
    }
    std::vector<size_t> counts;
    while (accept("[")) {
        counts.push_back(is("]") ? 0 : number());
        expect("]", "the number of elements");
    }
    type = complete(type, where);
    for (size_t i = counts.size(); i-- > 0;) {
        if (type->size != 0 && counts[i] > most_elements / type->size)
            fail(where, "an array of that size is no member");
        type = array_shape(type, counts[i]);
    }
    record.add(std::move(name), type);
}

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
// What bytes mean: C's types, as a script declares them or as a program's debug information has them, tuples, and what the tool makes of
// numbers and bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// Bytes of a string in tables, its NUL among them: longer ones are cut (bpftrace: BPFTRACE_STRLEN, 64 by default).
inline constexpr size_t string_size = 64;

struct Shape;
using ShapePtr = std::shared_ptr<const Shape>;

struct Shape {
    enum class Kind {
        integer,     ///< `size` bytes
        boolean,     ///< 1 byte, 0 or 1
        enumeration, ///< of 4 bytes, `constants`
        pointer,     ///< to `of`
        array,       ///< `count` of `of`
        text,        ///< an array of char, of `size` bytes
        record,      ///< a structure or a union: `members`
        tuple,       ///< `members` without names; integers take 8 bytes each
        buffer,      ///< of buf(): the length, 8 bytes, and so many bytes
        network,     ///< an address: 4 or 16 bytes, of ntop() behind 8 with their number
        mac,         ///< 6 bytes
        // Of numbers:
        symbol, ///< an address
        time,   ///< nanoseconds since the boot, printed as `name` tells strftime()
        error,  ///< of errno
        signal, ///< a signal's number
        user,   ///< a number of a user
        real,   ///< a floating-point number of 4 or 8 bytes: these
    } kind = Kind::integer;
    struct Member {
        std::string name = {};
        size_t offset = 0;
        ShapePtr shape = {};
        unsigned first_bit = 0, bits = 0; ///< of a bit field: from the byte `offset` on; 0: it is none
    };
    size_t size = 8;
    bool is_signed = false;     ///< integer
    bool is_packed = false;     ///< record: it may be at any address
    bool lacks_members = false; ///< record: some are of types that nobody knows here
    size_t count = 0;           ///< of an array. Of a text without `of`: what sizeof() says, if it is not its size
    ShapePtr of = {};           ///< none of a pointer: void
    std::string name = {};      ///< of a record: "struct x"; a record without members is looked up by it
    std::vector<Member> members = {};
    std::vector<std::pair<std::string, int64_t>> constants = {};

    bool is_integer() const { return kind == Kind::integer || kind == Kind::boolean || kind == Kind::enumeration; }
    bool is_number() const { return is_integer() || kind == Kind::pointer; }
};

/// They mean the same bytes the same way. What is known by its name only is compared by it.
bool is_same(const ShapePtr& one, const ShapePtr& other);

ShapePtr integer_shape(size_t size, bool is_signed);
ShapePtr bool_shape();
ShapePtr real_shape(size_t size);
/// A string that a tuple has room for. @param size  what sizeof() says of it
ShapePtr text_shape(size_t size);
ShapePtr pointer_shape(ShapePtr of);
/// Of char: a text.
ShapePtr array_shape(ShapePtr of, size_t count);
/// One that has a name or a size only.
ShapePtr plain_shape(Shape::Kind kind, size_t size, std::string name = {});
/// Elements one after the other, each at a multiple of 8. @param names  of a record's members
ShapePtr tuple_shape(const std::vector<ShapePtr>& elements, const std::vector<std::string>& names = {});
/// Go's string: a structure of an address and a length, whose name is "string".
bool is_go_string(const ShapePtr& shape);
/// What sizeof() says, as bpftrace counts it: elements of tuples have their own sizes and alignment.
size_t size_in_c(const Shape& shape);

/// Builds a record member by member, as C lays it out.
class RecordBuilder {
public:
    explicit RecordBuilder(std::string name, bool is_union) : is_union_(is_union) { shape_.name = std::move(name); }
    void add(std::string name, const ShapePtr& shape);
    void add_bits(std::string name, const ShapePtr& shape,
                  unsigned bits); ///< without a name and with 0 bits: the next begins a new unit
    ShapePtr done();
    /// The same members as __attribute__((packed)) has them.
    ShapePtr packed() const;

private:
    Shape shape_{.kind = Shape::Kind::record, .size = 0};
    size_t bits_ = 0, alignment_ = 1; ///< so far
    bool is_union_;
};

size_t alignment_of(const Shape& shape);

} // namespace fastsdt::engine

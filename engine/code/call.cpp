// SPDX-License-Identifier: BSD-2-Clause
// A stub that calls a compiled function: what the function gets. code/x86/call.cpp and code/arm64/call.cpp save what it may change, and call it.
#include "code/compiler.h"
#include "maps/hit.h"

#include <algorithm>

namespace fastsdt::engine {

// Stores an argument in the frame's Hit. False: no stub can read this argument.
bool Compiler::fill_argument(size_t index)
{
    const size_t size = code_.size(), labels = code_.labels(), colds = cold_.size();
    bool readable = true;
    try {
        if (site_->kind == Probe::Kind::exit)
            leaf(Value::retval, Role::result);
        else if (const ir::Argument which{ir::no_value, unsigned(index)}; in_memory(which))
            memory_argument(which);
        else
            argument(which, Role::result);
    } catch (const Refusal&) {
        code_.rewind(size, labels);
        cold_.resize(colds, {});
        constant(Role::result, 0);
        readable = false;
    }
    store_frame(key_bytes_ + offsetof(Hit, arguments) + 8 * index, Role::result);
    return readable;
}

void Compiler::fill_hit(size_t count)
{
    uint64_t readable = 0;
    for (size_t i = 0; i < count; ++i)
        readable |= uint64_t(fill_argument(i)) << i;
    const auto word = [&](size_t offset, uint64_t value) {
        constant(Role::result, int64_t(value));
        store_frame(key_bytes_ + offset, Role::result);
    };
    word(offsetof(Hit, probe), site_->probe);
    word(offsetof(Hit, address), site_->address);
    word(offsetof(Hit, count), count);
    word(offsetof(Hit, readable), readable);
}

// A forked child calls nothing. Go's functions have no idea of how little their stacks have for C's.
void Compiler::call_function(const Statement& statement)
{
    if (site_->go)
        throw Refusal({State::cannot_move, 0, "is in a Go program, whose stacks are too small for C functions"});
    load_near(Role::result, arena_.mark);
    jump_if_zero(Role::result, out_);
    fill_hit(site_->kind == Probe::Kind::usdt        ? std::min(arguments_.size(), most_hit_arguments)
                 : site_->kind == Probe::Kind::entry ? register_arguments(machine_.arch)
                                                     : 1);
    call_compiled(statement);
}

} // namespace fastsdt::engine

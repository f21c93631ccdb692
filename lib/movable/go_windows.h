// SPDX-License-Identifier: BSD-2-Clause
// Which instructions of a Go function can be moved: at the places that go_code.h has. Its code has no unwinding information, and
// is made by one compiler:
//
//     f:  cmp 0x10(%r14),%rsp      the stack's check, as cmd/internal/obj/x86/obj6.go makes it: stacksplit()
//         jbe grow                              <- the window of the entry, which is hit behind this
//         push %rbp; mov %rsp,%rbp              <- and this, where the branch is a short one
//         sub $N,%rsp                           <- debuggers break here, or, where there is no frame, at the mov: then the window begins at f
//         ...
//         add $N,%rsp; pop %rbp; ret                <- that of a return
//
// On arm64 one word is replaced, as cmd/internal/obj/arm64/obj7.go makes it: str x30, [sp, #-N]! or its like behind the check, and ret.
//
// Behind the check at least 800 bytes below the function's frame are free (runtime/stack.go: stackGuard less stackSmall), and a stub takes fewer.
// So functions without one are left out. What is moved cannot fault, since the runtime has no idea of a stub's address; nothing leads into it; and no
// goroutine waits there but one that was preempted between any two instructions: engine/process/goroutines.h. A word has none between.
#pragma once
#include "elf/image.h"
#include "movable/go_runtime.h"
#include "movable/movable.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fastsdt {

/// All of the program's Go code is read once. The image has to outlive it.
class GoWindows {
public:
    explicit GoWindows(const Image& image);

    bool is_understood() const { return runtime_.has_value(); }
    /// Whether a function is Go's; others of a program may be C's.
    bool has(uint64_t function) const { return runtime_ && runtime_->text.has(function); }
    /// As Movable's.
    Window entry(uint64_t function) const;
    std::vector<Window> exits(uint64_t function) const;

private:
    struct Body;
    Obstacle read(uint64_t function, Body& body) const;
    bool of_words() const { return image_.arch() == Arch::arm64; }
    Window entry_of(const Body& body) const;
    Window entry_word(const Body& body) const;
    Window exit_of(const Body& body, size_t at_return, uint64_t least) const;
    Obstacle obstacle_to(const Body& body, uint64_t start, uint64_t end) const;
    bool is_padding(const Body& body, uint64_t from, uint64_t to) const;

    const Image& image_;
    const std::optional<GoRuntime> runtime_;
    std::vector<Function> functions_;
    std::vector<uint64_t> entered_; // addresses in functions that others jump to, sorted
};

} // namespace fastsdt

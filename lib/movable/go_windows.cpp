// SPDX-License-Identifier: BSD-2-Clause
#include "movable/go_windows.h"

#include "base/bytes.h"
#include "base/integers.h"
#include "elf/go_table.h"
#include "movable/go_code.h"
#include "movable/instructions.h"

#include <algorithm>
#include <span>

namespace fastsdt {
namespace {

constexpr uint64_t jump_size = 5, word_size = 4;

using Bytes = std::span<const std::byte>;

// A jump under a condition that the stack's check has: jbe, or jb where the difference may be negative.
size_t branch_length(Bytes code, unsigned condition)
{
    return starts_with(code, {0x70 | condition}) ? 2 : starts_with(code, {0x0f, 0x80 | condition}) ? 6 : 0;
}

// Bytes of the check that a function begins with. 0: it has none that is understood.
size_t check_length(Bytes code)
{
    constexpr unsigned below = 2, below_or_equal = 6;
    size_t at = 0;
    bool of_rsp = true;
    const auto rest = [&] { return code.subspan(std::min(at, code.size())); };
    if (starts_with(rest(), {0x4c, 0x8d, 0x64, 0x24})) { // lea -N(%rsp), %r12
        at += 5;
        of_rsp = false;
    } else if (starts_with(rest(), {0x4c, 0x8d, 0xa4, 0x24})) {
        at += 8;
        of_rsp = false;
    } else if (starts_with(rest(), {0x49, 0x89, 0xe4})) { // mov %rsp, %r12; sub $N, %r12; jb
        at += 3;
        of_rsp = false;
        if (!starts_with(rest(), {0x49, 0x81, 0xec}))
            return 0;
        at += 7;
        const size_t branch = branch_length(rest(), below);
        if (!branch)
            return 0;
        at += branch;
    }
    if (!starts_with(rest(), {of_rsp ? 0x49u : 0x4du, 0x3b, 0x66, 0x10})) // cmp 0x10(%r14), %rsp or %r12
        return 0;
    at += 4;
    const size_t branch = branch_length(rest(), below_or_equal);
    return branch && at + branch < code.size() ? at + branch : 0;
}

// The same of arm64: cmd/internal/obj/arm64/obj7.go. What is compared is computed in the register behind the guard's, of a constant in x27 perhaps.
size_t check_length_of_words(Bytes code)
{
    constexpr uint32_t compare_mask = 0xfffffc1f, compare = 0xeb00001f, compare_sp = 0xeb2063ff; // cmp x17, x16
    constexpr uint32_t condition = 0xff00001f, lower_or_same = 0x54000009;
    constexpr size_t longest_check = 10 * word_size;
    constexpr unsigned x27 = 27, none = 31;
    const auto word = [&](size_t at) { return uint32_t(load(code.data() + at, word_size, false)); };
    if (code.size() < 2 * word_size || !loads_go_guard(word(0)))
        return 0;
    const unsigned guard = word(0) & 31, right = guard << 16;
    for (size_t at = word_size; at < std::min(longest_check, code.size() / word_size * word_size); at += word_size) {
        if ((word(at) & condition) == lower_or_same) {
            const uint32_t before = word(at - word_size);
            const bool compared = before == (compare_sp | right) || (before & compare_mask) == (compare | right);
            return compared && at + word_size < code.size() ? at + word_size : 0;
        }
        const unsigned to = word(at) & 31;
        if (!leaves_if_lower(word(at)) && to != guard + 1 && to != x27 && to != none)
            return 0;
    }
    return 0;
}

// Bytes of an instruction that begins with these, and an offset or a number of one byte or of four behind them. 0: it is another
size_t length_of(Bytes code, std::initializer_list<unsigned> with_byte, std::initializer_list<unsigned> with_four)
{
    const size_t length = starts_with(code, with_byte) ? with_byte.size() + 1
        : starts_with(code, with_four)                 ? with_four.size() + 4
                                                       : 0;
    return length <= code.size() ? length : 0;
}

// sub $N, %rsp, and add $N, %rsp. The assembler writes 128 as less -128.
size_t makes_frame(Bytes code)
{
    return starts_with(code, {0x48, 0x83, 0xc4, 0x80}) ? 4 : length_of(code, {0x48, 0x83, 0xec}, {0x48, 0x81, 0xec});
}

size_t drops_frame(Bytes code)
{
    return starts_with(code, {0x48, 0x83, 0xec, 0x80}) ? 4 : length_of(code, {0x48, 0x83, 0xc4}, {0x48, 0x81, 0xc4});
}

// push %rbp; mov %rsp, %rbp
bool sets_frame_pointer(Bytes code)
{
    return starts_with(code, {0x55, 0x48, 0x89, 0xe5});
}

// cmd/internal/obj/x86/obj6.go makes these of a function's beginning and of each RET, as a whole: no case of a switch begins inside.
// push %rbp; mov %rsp, %rbp; sub $N, %rsp. Until Go 1.20: sub $N, %rsp; mov %rbp, N-8(%rsp).
bool is_prologue(Bytes code)
{
    if (sets_frame_pointer(code))
        return makes_frame(code.subspan(4)) != 0;
    const size_t frame = makes_frame(code);
    return frame != 0 && length_of(code.subspan(frame), {0x48, 0x89, 0x6c, 0x24}, {0x48, 0x89, 0xac, 0x24}) != 0;
}

// add $N, %rsp; pop %rbp; ret. Until Go 1.20: mov N-8(%rsp), %rbp; add $N, %rsp; ret. Or only the end of it. A nop in front of a ret keeps it
// from the end of 32 bytes.
bool is_epilogue(Bytes code)
{
    const size_t old = length_of(code, {0x48, 0x8b, 0x6c, 0x24}, {0x48, 0x8b, 0xac, 0x24});
    const size_t frame = drops_frame(code.subspan(old));
    Bytes rest = code.subspan(old + frame);
    const bool pops = old == 0 && starts_with(rest, {0x5d});
    rest = rest.subspan(pops ? 1 : 0);
    return (pops || frame != 0) && (starts_with(rest, {0xc3}) || starts_with(rest, {0x90, 0xc3}));
}

} // namespace

struct GoWindows::Body {
    struct Step {
        uint64_t address = 0;
        uint8_t length = 0;
        Instruction::Flow flow = Instruction::next;
        bool leads_out = false; // a direct jump
        bool computed = false;  // an indirect one
        uint64_t end() const { return address + length; }
    };
    const Function* function = nullptr;
    uint64_t entry = 0; // behind the check
    std::vector<Step> steps;
    std::vector<uint64_t> targets; // within it, sorted
    bool computed = false;         // has an indirect jump: a switch's, to where its cases begin
    uint64_t end() const { return function->address + function->size; }
};

GoWindows::GoWindows(const Image& image) : image_(image), runtime_(go_runtime(image))
{
    if (!runtime_)
        return;
    functions_ = image.functions();
    std::erase_if(functions_, [&](const Function& one) { return !has(one.address); });
    if (of_words()) // linkers of C count the padding in
        for (Function& one : functions_)
            one.size = go_code_end(image, one.address, one.address + one.size) - one.address;
    for (const Function& one : functions_) {
        const uint64_t end = one.address + one.size;
        GoInstructions instruction(image, one.address, end);
        while (instruction.next()) // until data, or assembly of the newest processors: see read()
            if (instruction->direct && (instruction->target < one.address || instruction->target >= end)) {
                const Function* const other = function_before(functions_, instruction->target);
                if (!other || other->address != instruction->target)
                    entered_.push_back(instruction->target);
            }
    }
    std::sort(entered_.begin(), entered_.end());
}

// What stands there, as far as it is about the whole function.
Obstacle GoWindows::read(uint64_t function, Body& body) const
{
    body.function = function_before(functions_, function);
    if (!body.function || body.function->address != function || body.function->size == 0)
        return Obstacle::inside;
    // Assembly may have anything in r14. dropm leaves with nothing there: until Go 1.20, from where on it has no check either.
    const auto stays = [](std::string_view name) { return name.ends_with(".abi0") || name == "runtime.dropm"; };
    const auto overlaps = [&](const GoRange& range) { return function < range.end && range.start < body.end(); };
    const auto& aliases = body.function->aliases;
    if (stays(body.function->name) || std::any_of(aliases.begin(), aliases.end(), stays) || overlaps(runtime_->hashed)
        || std::any_of(runtime_->preemption.begin(), runtime_->preemption.end(), overlaps))
        return Obstacle::special;
    const Bytes code = image_.bytes_at(function);
    const Bytes all = code.first(std::min<size_t>(code.size(), body.function->size));
    const size_t check = of_words() ? check_length_of_words(all) : check_length(all);
    if (check == 0)
        return Obstacle::unchecked;
    body.entry = function + check;
    GoInstructions instruction(image_, function, body.end());
    while (instruction.next()) {
        const bool inside = instruction->direct && instruction->target - function < body.function->size;
        const bool computed = instruction->jumps() && !instruction->direct;
        body.steps.push_back({instruction.address(), instruction->length, instruction->flow,
                              instruction->direct && !instruction->calls() && !inside, computed});
        body.computed = body.computed || computed;
        if (inside)
            body.targets.push_back(instruction->target);
    }
    if (!instruction.whole())
        return Obstacle::not_instructions;
    std::sort(body.targets.begin(), body.targets.end());
    return Obstacle::none;
}

// Whether a jump may take the place of [start, end), whose instructions can be moved.
Obstacle GoWindows::obstacle_to(const Body& body, uint64_t start, uint64_t end) const
{
    if (end - start < jump_size)
        return Obstacle::too_short;
    if (end - start > longest_window)
        return Obstacle::instruction;
    for (const auto* const targets : {&body.targets, &entered_})
        if (const auto next = std::upper_bound(targets->begin(), targets->end(), start);
            next != targets->end() && *next < end)
            return Obstacle::target;
    return start % smallest_page > smallest_page - jump_size ? Obstacle::page : Obstacle::none;
}

namespace {

// Nothing that the runtime would have to know of happens there.
bool moves(const Image& image, uint64_t address)
{
    const Motion motion = motion_of(image, image.bytes_at(address), address);
    return motion.moves == Moves::anywhere && motion.faults == 0;
}

} // namespace

// One word has no inside. It is str x30, [sp, #-N]!, or sub x20, sp, #N, or loads an N of 32 bits into x27: debuggers break there, and write a word
// too.
Window GoWindows::entry_word(const Body& body) const
{
    constexpr uint32_t store_mask = 0xffe00fff, store = 0xf8000ffe, sub_mask = 0xff8003ff, sub = 0xd10003f4;
    constexpr uint32_t constant_mask = 0x1c00001f, constant = 0x1000001b, with_pc_mask = 0x1f000000,
                       with_pc = 0x10000000;
    const auto word = uint32_t(load(image_.bytes_at(body.entry).data(), word_size, false));
    const bool makes_constant = (word & constant_mask) == constant && (word & with_pc_mask) != with_pc;
    if ((word & store_mask) != store && (word & sub_mask) != sub && !makes_constant)
        return refused(body.entry, Obstacle::instruction);
    if (std::binary_search(body.targets.begin(), body.targets.end(), body.entry))
        return refused(body.entry, Obstacle::loop);
    Window window;
    window.address = body.entry;
    window.length = word_size;
    return window;
}

// Debuggers break where the line table says that the first instructions end, and write there without asking anybody. In the middle of a jump that
// would make it lead anywhere. Until Go 1.20 that is behind the check, where the window begins. Later it is behind push %rbp; mov %rsp, %rbp, or
// between these where the function has no frame. So of the check its branch moves too, in front of the hit, and its comparison where that is too
// few bytes yet; it reads the thread's g, which is always there.
Window GoWindows::entry_of(const Body& body) const
{
    if (of_words())
        return entry_word(body);
    Window window;
    window.address = body.entry;
    auto step = std::find_if(body.steps.begin(), body.steps.end(),
                             [&](const Body::Step& one) { return one.address == body.entry; });
    if (const Bytes code = image_.bytes_at(body.entry); sets_frame_pointer(code)) {
        constexpr uint64_t push = 1, push_and_move = 4;
        const uint64_t breakpoint = body.entry + (makes_frame(code.subspan(push_and_move)) ? push_and_move : push);
        for (auto before = step; before != body.steps.begin() && breakpoint - window.address < jump_size;)
            window.address = (--before)->address;
        window.at = uint8_t(body.entry - window.address);
    }
    uint64_t end = body.entry;
    for (; end - window.address < jump_size; ++step) {
        if (step == body.steps.end())
            return refused(body.entry, Obstacle::too_short);
        if (step->flow != Instruction::next || !moves(image_, step->address))
            return refused(body.entry, Obstacle::instruction);
        end = step->end();
    }
    // A switch's cases begin behind that.
    if (end != body.entry && body.computed && !is_prologue(image_.bytes_at(body.entry)))
        return refused(body.entry, Obstacle::computed_jump);
    window.length = uint8_t(end - window.address);
    window.obstacle = obstacle_to(body, window.address, end);
    return window;
}

// What stands between functions.
bool GoWindows::is_padding(const Body& body, uint64_t from, uint64_t to) const
{
    const Bytes bytes = image_.bytes_at(from);
    const auto next = std::upper_bound(functions_.begin(), functions_.end(), body.function->address,
                                       [](uint64_t address, const Function& one) { return address < one.address; });
    return from == body.end() && to <= runtime_->text.end && (next == functions_.end() || to <= next->address)
        && bytes.size() >= to - from
        && std::all_of(bytes.begin(), bytes.begin() + ptrdiff_t(to - from),
                       [](std::byte b) { return b == std::byte{0xcc}; });
}

// As few instructions before a return as will do, and padding behind it where they are too short. @param least  where the first may begin
Window GoWindows::exit_of(const Body& body, size_t at_return, uint64_t least) const
{
    const Body::Step& ret = body.steps[at_return];
    if (of_words()) {
        Window window;
        window.address = ret.address;
        window.length = word_size;
        window.leaves = true;
        return window;
    }
    Obstacle why = Obstacle::too_short;
    for (size_t i = at_return;; --i) {
        const Body::Step& first = body.steps[i];
        if (i != at_return && (first.flow != Instruction::next || !moves(image_, first.address))) {
            why = why == Obstacle::too_short ? Obstacle::instruction : why;
            break;
        }
        uint64_t end = std::max(ret.end(), first.address + jump_size);
        const bool padded = end == ret.end() || is_padding(body, ret.end(), end);
        const bool shaped = !body.computed || is_epilogue(image_.bytes_at(first.address));
        const Obstacle obstacle = !padded ? Obstacle::too_short
            : !shaped                     ? Obstacle::computed_jump
                                          : obstacle_to(body, first.address, end);
        if (obstacle == Obstacle::none) {
            Window window;
            window.address = first.address;
            window.length = uint8_t(end - first.address);
            window.at = uint8_t(ret.address - first.address);
            window.leaves = true;
            return window;
        }
        why = obstacle;
        if (i == 0 || body.steps[i - 1].address < least || obstacle == Obstacle::target
            || std::binary_search(body.targets.begin(), body.targets.end(), first.address))
            break; // who jumps to it would land inside of a longer one
    }
    return refused(ret.address, why);
}

Window GoWindows::entry(uint64_t function) const
{
    Body body;
    const Obstacle obstacle = read(function, body);
    return obstacle == Obstacle::none ? entry_of(body) : refused(function, obstacle);
}

std::vector<Window> GoWindows::exits(uint64_t function) const
{
    Body body;
    if (const Obstacle obstacle = read(function, body); obstacle != Obstacle::none)
        return {refused(function, obstacle)};
    const Window entry = entry_of(body);
    const uint64_t least = entry.obstacle == Obstacle::none ? entry.address + entry.length : body.entry;
    std::vector<Window> exits;
    for (size_t i = 0; i < body.steps.size(); ++i) {
        const Body::Step& step = body.steps[i];
        if (step.flow == Instruction::ret)
            exits.push_back(exit_of(body, i, least));
        else if (step.leads_out)
            exits.push_back(refused(
                step.address, step.flow == Instruction::branch ? Obstacle::conditional_exit : Obstacle::unknown_exit));
    }
    if (exits.empty() && body.computed)
        return {refused(function, Obstacle::computed_jump)};
    return exits;
}

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// Which instructions may give way to a jump. A probe where no nop was compiled needs five bytes (arm64: four) of code, which go to the stub
// and run there:
//
//     entry:  push %rbp            1 byte     |
//             mov  %rsp, %rbp      3 bytes    | replaced by jmp stub         stub: count; push; mov; push; jmp back
//             push %rbx            1 byte     |
//             sub  $0x18, %rsp     4 bytes    stays; here the stub goes on
//
// That is safe only if nobody ever arrives, or stands, between them. So the whole file is read once (Survey): where each function ends, which
// jumps lead where, whose addresses are taken. Movable then asks, for a function's entry, for each of its exits (the jump takes the place of
// what stands before a return, or of the return and the padding behind it) and for a probe's one-byte site. The first reason that is found
// against it is the Obstacle. Whatever is not understood is one: an indirect jump without a table, a byte that is no instruction.
#include "movable/movable.h"

#include "base/addresses.h"
#include "movable/go_windows.h"
#include "movable/instructions_arm64.h"
#include "movable/survey.h"

#include <algorithm>

namespace fastsdt {
std::string_view text(Obstacle obstacle)
{
    switch (obstacle) {
    case Obstacle::none: return "can be moved";
    case Obstacle::other_architecture: return "is neither x86-64 nor arm64 code";
    case Obstacle::not_linked: return "is in a file that is not linked, or has no code";
    case Obstacle::damaged: return "is in a file whose headers contradict each other";
    case Obstacle::loader: return "is in the dynamic linker, which runs before it has relocated itself";
    case Obstacle::no_frame: return "has no unwinding information";
    case Obstacle::inside: return "begins in the middle of what has unwinding information";
    case Obstacle::part: return "is a part of another function";
    case Obstacle::not_instructions: return "is not made of whole instructions from begin to end";
    case Obstacle::between_instructions: return "is not where an instruction begins";
    case Obstacle::not_nop: return "is not a nop";
    case Obstacle::stack: return "begins with something on the stack";
    case Obstacle::signal: return "is called or returned to for a signal";
    case Obstacle::outermost: return "has no caller";
    case Obstacle::special: return "is one of the functions that must stay as they are";
    case Obstacle::resolver: return "chooses a function while the program is loaded";
    case Obstacle::restartable: return "has a restartable sequence or a system call whose place is compared";
    case Obstacle::relocated: return "has instructions that the loader changes";
    case Obstacle::patched: return "has a place that the program patches itself (XRay, -fpatchable-function-entry)";
    case Obstacle::computed_jump: return "has an indirect jump whose targets are not known";
    case Obstacle::target: return "has a jump target inside the bytes that would be replaced";
    case Obstacle::loop: return "jumps back to its entry";
    case Obstacle::page: return "would be replaced across two pages";
    case Obstacle::instruction: return "has an instruction there that cannot be moved";
    case Obstacle::too_short: return "has too few bytes there";
    case Obstacle::go_program: return "is in a Go program, and has no instruction of five bytes there";
    case Obstacle::unchecked: return "is a Go function without a check of its stack; --engine kernel traces it";
    case Obstacle::go_runtime:
        return "is in a Go program of a version whose runtime is not known, or whose list of goroutines is not found; "
               "--engine kernel traces it";
    case Obstacle::entered: return "is entered elsewhere than at its begin";
    case Obstacle::taken: return "has instructions whose addresses are taken";
    case Obstacle::falls_through: return "runs into what stands behind it";
    case Obstacle::conditional_exit: return "leaves by a conditional jump";
    case Obstacle::unknown_exit: return "has a jump or return that may not be an exit";
    case Obstacle::never_returns: return "never returns";
    case Obstacle::holds_site: return "has another probe's site inside the bytes that would be replaced";
    }
    return {};
}

struct Movable::Code {
    explicit Code(const Image& image) : survey(image)
    {
        if (survey.is_go_program())
            go.emplace(image);
    }

    Obstacle of_file() const;
    Obstacle of_body(const CodePart& body) const;
    Obstacle find(uint64_t function, uint32_t& number) const;
    Window window(uint32_t number, uint64_t start, uint64_t reach) const;
    Window longer(uint32_t number, uint64_t start, uint64_t reach) const;
    uint64_t padding(uint32_t number, uint64_t at, uint64_t least) const;
    bool is_exclusive(uint32_t number, uint64_t address) const;
    bool is_target(uint64_t address) const { return survey.marks().at(address) & Marks::target; }
    bool leads_out(uint32_t number, uint64_t to) const;
    Obstacle add_exits(uint32_t number, std::vector<Window>& exits) const;
    Window exit_at(uint32_t number, const Instruction& instruction, uint64_t address, bool at_return) const;

    bool is_go(uint64_t function) const { return go && go->has(function); }
    // Of a Go program that is not understood: which of its functions are Go's is not known, but that those have no frames.
    Obstacle without_frame(Obstacle obstacle) const
    {
        return obstacle == Obstacle::no_frame && go && !go->is_understood() ? Obstacle::go_runtime : obstacle;
    }

    Survey survey;
    std::optional<GoWindows> go;
};

Obstacle Movable::Code::of_file() const
{
    switch (survey.trouble()) {
    case Survey::Trouble::none: return Obstacle::none;
    case Survey::Trouble::architecture: return Obstacle::other_architecture;
    case Survey::Trouble::not_linked: return Obstacle::not_linked;
    case Survey::Trouble::overlaps: return Obstacle::damaged;
    case Survey::Trouble::loader: return Obstacle::loader;
    }
    return Obstacle::damaged;
}

Obstacle Movable::Code::of_body(const CodePart& body) const
{
    if (body.broken)
        return Obstacle::not_instructions;
    if (body.signal)
        return Obstacle::signal;
    if (body.outermost)
        return Obstacle::outermost;
    if (body.special)
        return Obstacle::special;
    if (body.indirect)
        return Obstacle::resolver;
    if (body.relocated)
        return Obstacle::relocated;
    if (body.patched)
        return Obstacle::patched;
    // A handler looks whether it interrupted what is between two labels.
    if (body.rseq || (body.system_call && body.taken))
        return Obstacle::restartable;
    return Obstacle::none;
}

Obstacle Movable::Code::find(uint64_t function, uint32_t& number) const
{
    if (const Obstacle obstacle = of_file(); obstacle != Obstacle::none)
        return obstacle;
    const auto found = survey.body_at(function);
    if (!found)
        return Obstacle::no_frame;
    number = *found;
    const CodePart& body = survey.bodies()[number];
    if (body.begin != function)
        return Obstacle::inside;
    if (body.owner != CodePart::none || body.cold)
        return Obstacle::part;
    if (const Obstacle obstacle = of_body(body); obstacle != Obstacle::none)
        return obstacle;
    return survey.frames().at_return(body.first) ? Obstacle::none : Obstacle::stack;
}

// Where what stands behind a return or jump and is never run ends, with `least` bytes or more. 0: there is less.
uint64_t Movable::Code::padding(uint32_t number, uint64_t at, uint64_t least) const
{
    const uint64_t begin = at;
    Instruction instruction;
    while (at - begin < least) {
        const auto body = survey.body_at(at);
        if ((body && *body != number) || !survey.decode(at, instruction) || !instruction.padding)
            return 0;
        at += instruction.length;
    }
    // Padding is longer than one function's last nop: what begins behind it must not begin within.
    for (uint64_t byte = begin; byte < at; ++byte) {
        const auto body = survey.body_at(byte);
        if (is_target(byte) || (body && *body != number))
            return 0;
    }
    return at;
}

// Between ldxr and stxr of arm64: what a stub stores would have the second fail.
bool Movable::Code::is_exclusive(uint32_t number, uint64_t address) const
{
    constexpr uint64_t longest_sequence = 16 * 4; // bytes
    const Survey& of = survey;
    if (!of.of_words())
        return false;
    const uint64_t begin =
        std::max(of.bodies()[number].begin, address < longest_sequence ? 0 : address - longest_sequence);
    for (uint64_t at = address; at > begin;) {
        const uint32_t word = arm64::word_of(of.marks().code_at(at -= 4));
        if (arm64::loads_exclusive(word) || arm64::ends_exclusive(word))
            return arm64::loads_exclusive(word);
    }
    return false;
}

// Whole instructions from `start` on, at least to `reach`.
Window Movable::Code::window(uint32_t number, uint64_t start, uint64_t reach) const
{
    const CodePart& body = survey.bodies()[number];
    const unsigned jump_size = survey.of_words() ? 4 : 5;
    Window window;
    window.address = start;
    uint64_t at = start;
    unsigned count = 0;
    Instruction instruction;
    if (is_exclusive(number, start))
        return refused(start, Obstacle::instruction);
    while (at < reach || at - start < jump_size) {
        if (window.calls)
            return refused(start, Obstacle::instruction);
        if (window.leaves) {
            if (at < reach)
                return refused(start, Obstacle::target);
            at = padding(number, at, jump_size - (at - start));
            if (at == 0)
                return refused(start, Obstacle::too_short);
            break;
        }
        if (at >= body.end)
            return refused(start, Obstacle::too_short);
        if (!survey.decode(at, instruction))
            return refused(start, Obstacle::not_instructions);
        const Motion motion = motion_of(survey.image(), survey.marks().code_at(at), at);
        window.faults |= motion.faults;
        switch (motion.moves) {
        case Moves::never: return refused(start, Obstacle::instruction);
        case Moves::anywhere: break;
        case Moves::as_call: window.calls = true; break;
        case Moves::as_leaving: window.leaves = true; break;
        case Moves::as_exit: {
            const Computed* const jump = survey.computed_at(at);
            if (!jump || jump->kind != Computed::tail_call)
                return refused(start, Obstacle::instruction);
            window.leaves = true;
            break;
        }
        }
        at += instruction.length;
        ++count;
    }
    if (at - start > longest_window)
        return refused(start, Obstacle::instruction);
    window.length = uint8_t(at - start);
    for (uint64_t byte = start + 1; byte < at; ++byte)
        if (is_target(byte))
            return refused(start, Obstacle::target);
    if (start % smallest_page > smallest_page - jump_size)
        return refused(start, Obstacle::page);
    if (survey.is_go_program() && count > 1)
        return refused(start, Obstacle::go_program);
    return window;
}

// The same, or with instructions before, as few as will do.
Window Movable::Code::longer(uint32_t number, uint64_t start, uint64_t reach) const
{
    Window first = window(number, start, reach);
    if (survey.of_words())
        return first;
    const uint64_t probed = start;
    for (Window next = first; next.obstacle != Obstacle::none;) {
        const auto before = survey.previous(number, start);
        Instruction instruction;
        if (is_target(start) || !before || probed - *before >= longest_window || !survey.decode(*before, instruction)
            || (instruction.ends_block() && !instruction.branches())) // what branches goes on here, too
            return first;
        start = *before;
        next = window(number, start, reach);
        next.at = uint8_t(probed - start);
        if (next.obstacle == Obstacle::none)
            return next;
    }
    return first;
}

bool Movable::Code::leads_out(uint32_t number, uint64_t to) const
{
    const auto body = survey.body_at(to);
    if (body && survey.group(*body) == survey.group(number))
        return false;
    // What the compiler knows to be unreachable leads to the end, where another part may begin.
    const auto before = survey.body_at(to - 1);
    return !before || survey.group(*before) != survey.group(number) || survey.bodies()[*before].end != to
        || (body && survey.marks().at(to) & Marks::called);
}

Window Movable::Code::exit_at(uint32_t number, const Instruction& instruction, uint64_t address, bool at_return) const
{
    const uint64_t end = address + instruction.length;
    // arm64 has an instruction that is for nothing else, and LLVM does not always say that the stack is as it was.
    bool known = at_return || (survey.of_words() && instruction.returns());
    if (instruction.direct) { // to another function's begin, or to the linkage table
        const uint64_t to = instruction.target;
        const auto body = survey.body_at(to);
        const Section* const section = survey.image().section_at(to);
        const bool linkage = section && section->name.starts_with(".plt");
        known =
            known && (linkage || (body ? survey.bodies()[*body].begin == to : survey.marks().at(to) & Marks::called));
    } else if (instruction.jumps()) {
        const Computed* const jump = survey.computed_at(address);
        known = jump && jump->kind == Computed::tail_call;
    }
    if (!known)
        return refused(address, Obstacle::unknown_exit);
    Window window = longer(number, address, end);
    window.tail_call = instruction.jumps();
    if (window.obstacle != Obstacle::none)
        window.address = address;
    return window;
}

// The ways out of one body, by address. What is returned concerns all of them.
Obstacle Movable::Code::add_exits(uint32_t number, std::vector<Window>& exits) const
{
    const CodePart& body = survey.bodies()[number];
    if (const Obstacle obstacle = of_body(body); obstacle != Obstacle::none)
        return obstacle;
    if (body.entered)
        return Obstacle::entered;
    if (body.taken)
        return Obstacle::taken;
    Rows rows(survey.frames().cies()[body.cie], body);
    bool open = true; // the next instruction runs after this one
    Instruction instruction;
    for (uint64_t at = body.begin; at < body.end; at += instruction.length) {
        if (!survey.decode(at, instruction))
            return Obstacle::not_instructions;
        const bool leaves = instruction.returns() || instruction.jumps();
        if (!instruction.padding)
            open = !leaves && !instruction.calls() && !instruction.stops;
        const bool out = instruction.direct && !instruction.calls() && leads_out(number, instruction.target);
        if (instruction.returns() || (instruction.jumps() && (out || !instruction.direct))) {
            const Computed* const jump = survey.computed_at(at);
            if (jump && jump->kind == Computed::table)
                continue;
            exits.push_back(exit_at(number, instruction, at, survey.frames().at_return(rows.at(at).cfa)));
        } else if (out) {
            exits.push_back(refused(at, Obstacle::conditional_exit));
        }
    }
    return open ? Obstacle::falls_through : Obstacle::none;
}

Movable::Movable(const Image& image) : code_(std::make_unique<Code>(image)) {}
Movable::~Movable() = default;

Window Movable::entry(uint64_t function) const
{
    uint32_t number = 0;
    if (code_->is_go(function))
        return code_->go->entry(function);
    if (const Obstacle obstacle = code_->find(function, number); obstacle != Obstacle::none)
        return refused(function, code_->without_frame(obstacle));
    const CodePart& body = code_->survey.bodies()[number];
    // Labels whose addresses data have are known; what is computed from an address of the function's own is not.
    if (body.restarts && (!body.by_data || body.refers_inside))
        return refused(function, Obstacle::computed_jump);
    if (body.loops)
        return refused(function, Obstacle::loop);
    return code_->window(number, body.entry, body.entry);
}

std::vector<Window> Movable::exits(uint64_t function) const
{
    uint32_t number = 0;
    if (code_->is_go(function))
        return code_->go->exits(function);
    if (const Obstacle obstacle = code_->find(function, number); obstacle != Obstacle::none)
        return {refused(function, code_->without_frame(obstacle))};
    if (code_->survey.bodies()[number].computed)
        return {refused(function, Obstacle::computed_jump)};
    std::vector<Window> exits;
    std::vector<uint32_t> bodies = code_->survey.parts(number);
    bodies.push_back(number);
    for (const uint32_t body : bodies)
        if (const Obstacle obstacle = code_->add_exits(body, exits); obstacle != Obstacle::none)
            exits.push_back(refused(code_->survey.bodies()[body].begin, obstacle));
    std::sort(exits.begin(), exits.end(), [](const Window& a, const Window& b) { return a.address < b.address; });
    return exits;
}

Window Movable::site(uint64_t address) const
{
    const Survey& survey = code_->survey;
    const Obstacle of_file = code_->of_file();
    Instruction instruction;
    if (survey.of_words()
        && (of_file == Obstacle::none || of_file == Obstacle::loader)) { // a nop can be replaced anywhere
        Window window = refused(address, Obstacle::not_nop);
        if (survey.decode(address, instruction) && instruction.nop) {
            window.length = instruction.length;
            window.obstacle = Obstacle::none;
        }
        return window;
    }
    const Window window = this->instruction(address);
    if (window.obstacle == Obstacle::none && !(survey.decode(address, instruction) && instruction.nop))
        return refused(address, Obstacle::not_nop);
    return window;
}

Window Movable::instruction(uint64_t address) const
{
    const Survey& survey = code_->survey;
    if (const Obstacle of_file = code_->of_file(); of_file != Obstacle::none)
        return refused(address, of_file);
    const auto number = survey.body_at(address);
    if (!number)
        return refused(address, Obstacle::no_frame);
    const CodePart& body = survey.bodies()[*number];
    const CodePart& function = survey.bodies()[survey.group(*number)];
    if (const Obstacle obstacle = code_->of_body(body); obstacle != Obstacle::none)
        return refused(address, obstacle);
    if (const Obstacle obstacle = code_->of_body(function); obstacle != Obstacle::none)
        return refused(address, obstacle);
    if (function.computed)
        return refused(address, Obstacle::computed_jump);
    Instruction instruction;
    if (!(survey.marks().at(address) & Marks::begins) || !survey.decode(address, instruction))
        return refused(address, Obstacle::between_instructions);
    Window window = code_->longer(*number, address, address + instruction.length);
    if (window.obstacle != Obstacle::none)
        window.address = address;
    return window;
}

std::optional<uint64_t> Movable::begin_of(uint64_t address) const
{
    const auto number = code_->survey.body_at(address);
    return number ? std::optional(code_->survey.bodies()[*number].begin) : std::nullopt;
}

} // namespace fastsdt

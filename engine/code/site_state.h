// SPDX-License-Identifier: BSD-2-Clause
// What a site is, or why it cannot be armed: every reason there is, with its data, and the one sentence for each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fastsdt::engine {

/// FASTSDT_TRACE_SITE_* of fastsdt/trace.h has a number for each that the library may meet (api/results.cpp).
enum class State {
    ready,               ///< it could be armed and is not
    armed,               ///< by us
    no_nop,              ///< nothing that can be exchanged at once: a nop1 or a push. Kernel only
    kernel,              ///< the kernel has a probe on the patchable instruction, or a debugger a breakpoint
    other_tracer,        ///< another running tracer's jump; number: its process
    other_run,           ///< by us for another script
    left_over,           ///< a jump of a tracer that has ended, or of a forked process' parent: arm() clears it away
    foreign,             ///< a jump of nobody whom we know
    changed,             ///< other bytes
    damaged,             ///< FASTSDT_STATE_DAMAGED: executing it breaks the stack pointer
    crosses_page,        ///< the bytes that change lie on two pages
    not_private,         ///< its text is mapped shared or writable, or not executable, or cannot be read
    too_far,             ///< no free memory within reach
    busy,                ///< a thread kept standing where the change would tear an instruction
    gone,                ///< its module is not mapped any more
    not_under_threads,   ///< its bytes cannot be exchanged at once, and threads run (self.cpp)
    stale_call,          ///< a kernel's call was there: a thread may stand before its rest, and threads run
    other_architecture,  ///< the file's code is not for this machine; detail: for which
    huge_pages,          ///< the text was copied into huge pages, so the file's notes do not describe it
    no_exit_sites,       ///< a function that was compiled without sites at its exits
    shared_nop,          ///< another probe of the script has the same nop
    no_argument,         ///< the probe has fewer arguments; number: the index that the script wants
    unreadable_argument, ///< number: its index; detail: what it is instead of an integer
    no_stack_record,     ///< of Go, whose arguments on the stack are not those of C
    no_stack_argument,   ///< number: the index of the sargN that it does not have
    exit_arguments,      ///< an exit, where arguments are not known any more
    tail_call,           ///< a tail call, where the result is not known yet
    no_result,           ///< the result is not in an integer register
    needs_system_call,   ///< detail: what needs one, and why none may be made
    no_clock,            ///< nsecs, and the processor's counter is no clock
    too_much_stack,      ///< keys and operands take more than so many bytes of it; number: how many
    too_long,            ///< jumps within the stub would not reach
    no_functions,        ///< a C function as handler: not where the processor has SME
    no_named_argument,   ///< the file does not say that an argument has the name; detail: the name
    cannot_move,         ///< has no nop, and its instructions cannot give way to a jump; detail: why
    overlaps,            ///< they would give way to another probe of the script
    not_guarded,         ///< and the kernel's probes cannot be kept away from them; detail: why
    no_stacks,           ///< no more: ustack(dwarf) is had on each architecture
    no_symbol,           ///< uaddr(): the site's file has no such symbol; detail: the name
    no_processor,        ///< no more: where the processor does not tell its number, the kernel is asked
    handles_faults, ///< its instructions may raise a signal that the process handles; number: the Fault, and was_armed
    by_kernel,      ///< a uprobe of ours is there: its hits count in the kernel
    not_in_kernel,  ///< detail: why the kernel's engine cannot have it
    no_goroutine,   ///< goid, and it is no function of a Go program whose runtime is known
    only_in_kernel, ///< detail: what the script wants that only the kernel's engine has
    not_by_itself,  ///< its instructions would have to move, and its own process traces it: its threads run
};

/// handles_faults, in its number: it was armed before the process came to handle the signal.
inline constexpr uint64_t was_armed = 0x100;

/// For sentences: what instructions do that may raise it, and which signals those are. @param faults  one Fault at least
struct FaultWords {
    std::string_view does, signals;
};
FaultWords words_of_fault(uint64_t faults);

struct SiteState {
    State state = State::ready;
    uint64_t number = 0;      ///< as the state says
    std::string detail = {};  ///< as the state says; text from files: as it is printed
    std::string instead = {}; ///< no_argument, no_named_argument: which arguments there are; empty: none, or not told
};

/// Whether arm() would arm it, or clear it away and arm it.
inline bool can_be_armed(const SiteState& state)
{
    return state.state == State::ready || state.state == State::left_over;
}

/// Whether its hits are recorded.
inline bool is_recorded(const SiteState& state)
{
    return state.state == State::armed || state.state == State::by_kernel;
}

/// What follows the number of sites in the line that sums up: "has no nop10", and "have no nop10" for two.
std::string text(const SiteState& state, size_t sites = 1);

/// Whether the code of an unmodified function is what keeps it from being armed: a pattern does not mean such functions.
bool is_of_code(const SiteState& state);
/// What is said of such a site behind "the code".
std::string words_of_code(const SiteState& state);

/// Thrown inside the compiler: the site gets no stub.
struct Refusal : std::runtime_error {
    explicit Refusal(SiteState why) : std::runtime_error(text(why)), state(std::move(why)) {}
    SiteState state;
};

} // namespace fastsdt::engine

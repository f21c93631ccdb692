// SPDX-License-Identifier: BSD-2-Clause
#include "code/site_state.h"

#include "code/machine.h"
#include "movable/fault.h"

#include <fmt/format.h>

#include <cstring>

namespace fastsdt::engine {

FaultWords words_of_fault(uint64_t faults)
{
    if (faults & fault_memory)
        return {"accesses memory", "SIGSEGV or SIGBUS"};
    if (faults & fault_floating)
        return {"calculates with floating point", "SIGFPE"};
    return {"has instructions that not every processor has", "SIGILL"};
}

static std::string text_of_faults(uint64_t faults, bool one)
{
    const FaultWords fault = words_of_fault(faults);
    const char* const its = one ? "its" : "their";
    const char* const has = one ? "has" : "have";
    if ((faults & was_armed) && !(faults & fault_division))
        return fmt::format("{} armed until the process handled {}, and {} code {}", one ? "was" : "were", fault.signals,
                           its, fault.does);
    return fmt::format("{} no {}, and {} code {}", has, own_machine.nop, its,
                       words_of_code({State::handles_faults, faults}));
}

bool is_of_code(const SiteState& state)
{
    return state.state == State::cannot_move || state.state == State::overlaps
        || (state.state == State::handles_faults && !(state.number & was_armed));
}

std::string words_of_code(const SiteState& state)
{
    if (state.state == State::cannot_move)
        return state.detail;
    if (state.state == State::overlaps)
        return "has too few bytes beside another probe";
    if (state.state != State::handles_faults)
        throw std::logic_error("no state of the code");
    if (state.number & fault_division)
        return "divides, which a handler of SIGFPE would see elsewhere";
    const FaultWords fault = words_of_fault(state.number);
    return fmt::format("{}, and the process handles {}", fault.does, fault.signals);
}

std::string text(const SiteState& state, size_t sites)
{
    const bool one = sites == 1;
    const char* const has = one ? "has" : "have";
    const char* const is = one ? "is" : "are";
    const char* const s = one ? "s" : ""; // of another verb
    const std::string only = state.instead.empty() ? "" : " (only " + state.instead + ")";
    switch (state.state) {
    case State::ready: return "not armed";
    case State::armed: return "armed";
    case State::no_nop: return fmt::format("{} no {}", has, own_machine.nop);
    case State::kernel: return "taken by the kernel";
    case State::other_tracer: return fmt::format("taken by tracer {}", state.number);
    case State::other_run: return "taken by another script of the same tracer";
    case State::left_over: return "left by a tracer that has ended";
    case State::foreign: return "taken by a jump that is not ours";
    case State::changed: return fmt::format("{} other bytes than {} file", has, one ? "its" : "their");
    case State::damaged: return "damaged by another tracer";
    case State::crosses_page: return fmt::format("cross{} a page", one ? "es" : "");
    case State::not_private: return fmt::format("{} not in private, executable memory", is);
    case State::too_far: return fmt::format("{} no free memory within reach", has);
    case State::busy: return fmt::format("{} a thread standing in {}", has, one ? "it" : "them");
    case State::gone: return fmt::format("{} not mapped any more", is);
    case State::not_under_threads:
        return fmt::format("lie{} so that {} cannot change while threads run", s, one ? "it" : "they");
    case State::stale_call: return fmt::format("{} the rest of a kernel's call", has);
    case State::other_architecture:
        return fmt::format("{} of an architecture that only the kernel traces{}", is,
                           state.detail.empty() ? "" : " (" + state.detail + ")");
    case State::huge_pages:
        return fmt::format("{} {} text in huge pages, away from {} file", has, one ? "its" : "their",
                           one ? "its" : "their");
    case State::no_exit_sites: return fmt::format("{} no exit sites", has);
    case State::shared_nop:
        return fmt::format("share{} {} {} with another probe", s, one ? "its" : "their", own_machine.nop);
    case State::no_argument: return fmt::format("{} no arg{}{}", has, state.number, only);
    case State::unreadable_argument: return fmt::format("{} arg{} {}", has, state.number, state.detail);
    case State::no_stack_record:
        return fmt::format("{} no record of {} arguments on the stack", has, one ? "its" : "their");
    case State::no_stack_argument: return fmt::format("{} no sarg{}", has, state.number);
    case State::exit_arguments: return fmt::format("{} no arguments, being {}", has, one ? "an exit" : "exits");
    case State::tail_call: return fmt::format("{} no result yet, being {}", has, one ? "a tail call" : "tail calls");
    case State::no_result: return fmt::format("{} no result in an integer register", has);
    case State::needs_system_call: return fmt::format("want{} {}", s, state.detail);
    case State::no_clock: return fmt::format("want{} nsecs, and the processor's counter is no clock", s);
    case State::too_much_stack:
        return fmt::format("want{} more than {} bytes of the stack for keys and operands", s, state.number);
    case State::too_long: return fmt::format("need{} a stub that is longer than a jump can span", s);
    case State::no_functions:
        return "would call a function, and this processor has streaming vectors (SME), in whose use none may be called";
    case State::no_named_argument: return fmt::format("{} no argument named {}{}", has, state.detail, only);
    case State::handles_faults: return text_of_faults(state.number, one);
    case State::cannot_move:
        if (state.detail.starts_with("is a Go function")) // where nobody expects a nop
            return (one ? "is a Go function" : "are Go functions")
                + state.detail.substr(std::strlen("is a Go function"));
        return fmt::format("{} no {}, and {} code {}", has, own_machine.nop, one ? "its" : "their", state.detail);
    case State::overlaps:
        return fmt::format("{} no {}, and too few bytes beside another probe of the script", has, own_machine.nop);
    case State::not_guarded:
        return fmt::format("{} no {}, and text from which the kernel's probes cannot be kept away{}", has,
                           own_machine.nop, state.detail.empty() ? "" : " (" + state.detail + ")");
    case State::no_symbol: return fmt::format("{} no symbol {} in {} file", has, state.detail, one ? "its" : "their");
    case State::no_processor: return fmt::format("want{} the processor's number, which this one does not tell", s);
    case State::by_kernel: return fmt::format("{} a uprobe", has);
    case State::not_in_kernel: return fmt::format("cannot be had in the kernel: {}", state.detail);
    case State::no_goroutine:
        return fmt::format("want{} goid, and {} no function{} of a Go program whose version is known", s,
                           one ? "is" : "are", one ? "" : "s");
    case State::not_by_itself:
        return fmt::format("{} no {}, and only another process can move {} instructions", has, own_machine.nop,
                           one ? "its" : "their");
    case State::only_in_kernel: return fmt::format("want{} {}, which only the kernel's engine has", s, state.detail);
    case State::no_stacks: return fmt::format("want{} ustack(dwarf), which stubs for this architecture do not have", s);
    }
    return {};
}

} // namespace fastsdt::engine

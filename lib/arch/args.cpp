// SPDX-License-Identifier: BSD-2-Clause
#include "arch/architecture.h"
#include "arch/argument_rules.h"

namespace fastsdt {
namespace {

using enum ReadingVerdict;

// More than most_arguments is an error; this limit only bounds what a hostile string costs.
constexpr size_t most_kept = 32;

void split(std::string_view text, std::vector<Argument>& into)
{
    size_t at = 0;
    while (into.size() < most_kept) {
        while (at < text.size() && blank(text[at]))
            ++at;
        if (at >= text.size())
            return;
        const size_t from = at;
        // "[sp, 96]" is one operand. A bracket that never closes ends with its word.
        for (bool closes = true; at < text.size() && !blank(text[at]); ++at) {
            if (text[at] != '[' || !closes)
                continue;
            const size_t end = text.find(']', at);
            closes = end != text.npos;
            at = closes ? end : at;
        }
        Argument argument;
        argument.text = text.substr(from, at - from);
        argument.operand = argument.text;
        Scan scan{argument.text};
        int64_t size = 0;
        if (scan.number(size) && size > -1000 && size < 1000) {
            argument.is_float = scan.peek() == 'f';
            scan.at += argument.is_float;
            if (scan.peek() == '@') {
                argument.size = int(size < 0 ? -size : size);
                argument.is_signed = size < 0;
                argument.operand = argument.text.substr(scan.at + 1);
            } else {
                argument.is_float = false;
            }
        }
        into.push_back(argument);
    }
}

/// x86's %eax, arm's r4; not a constant nor memory.
bool is_register(std::string_view operand)
{
    if (operand.starts_with('%'))
        operand.remove_prefix(1);
    return !operand.empty() && operand[0] >= 'a' && operand[0] <= 'z'
        && operand.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == operand.npos;
}

} // namespace

std::string_view name(ReadingVerdict verdict)
{
    switch (verdict) {
    case reads: return "reads";
    case conditional: return "conditional";
    case unsupported: return "unsupported";
    case misreads: return "misreads";
    case rejects: return "rejects";
    }
    return "";
}

std::vector<Argument> parse_arguments(std::string_view text, Arch arch)
{
    std::vector<Argument> arguments;
    if (text.empty() || text[0] == ':') // libbpf and gdb read this as no arguments
        return arguments;
    split(text, arguments);
    const Architecture& rules = architecture(arch);

    // libbpf reads the string from the left and stops at the first thing it does not know.
    Scan scan{text};
    bool stopped = false;
    for (Argument& argument : arguments) {
        Reading& libbpf = argument.readings[size_t(Tracer::libbpf)];
        if (!rules.libbpf) {
            libbpf = {unsupported, no_architecture};
        } else {
            const size_t start = size_t(argument.text.data() - text.data());
            if (stopped) // libbpf has stopped: judge each further argument by itself
                scan.at = start;
            if (scan.at <= start) // else it was part of the argument before: "8@ %rax"
                libbpf = rules.libbpf(scan);
            // libbpf takes the rest for a further argument, and does not know it.
            if (libbpf.verdict != rejects && scan.at < start + argument.text.size())
                libbpf = {rejects, not_parsed};
            stopped = libbpf.verdict == rejects;
        }
        for (Tracer tracer : {Tracer::bcc, Tracer::gdb, Tracer::systemtap})
            argument.readings[size_t(tracer)] =
                rules.others ? rules.others(tracer, argument) : Reading{unsupported, no_architecture};
        if (argument.size == 8 && is_register(argument.operand) && (arch == Arch::i386 || arch == Arch::arm))
            for (Reading& reading : argument.readings)
                if (reading.verdict == reads)
                    reading = {misreads, "a 32-bit register holds half of 8 bytes"};
    }
    return arguments;
}

std::optional<size_t> register_word(Arch arch, std::string_view name)
{
    const auto lookup = architecture(arch).register_word;
    return lookup ? lookup(name) : std::nullopt;
}

} // namespace fastsdt

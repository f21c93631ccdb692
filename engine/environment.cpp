// SPDX-License-Identifier: BSD-2-Clause
#include "environment.h"
#include "image.h"
#include "live.h"
#include "unusable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <sys/auxv.h>

namespace fastsdt::engine {
namespace {

bool any(const Expression& e, Value value)
{
    return (e.kind == Expression::Kind::value && e.value == value)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return any(o, value); });
}

bool uses(const Script& script, Value value)
{
    for (const Clause& clause : script.clauses) {
        if (clause.filter && any(*clause.filter, value))
            return true;
        for (const Statement& statement : clause.actions) {
            if (statement.value && any(*statement.value, value))
                return true;
            for (const Expression& key : statement.keys)
                if (any(key, value))
                    return true;
        }
    }
    return false;
}

bool calls(const Script& script)
{
    for (const Clause& clause : script.clauses)
        for (const Statement& statement : clause.actions)
            if (statement.kind == Statement::Kind::call)
                return true;
    return false;
}

// A number of /proc/PID/status; of several the last.
std::optional<long> status_field(pid_t pid, std::string_view name)
{
    std::ifstream in(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(name))
            continue;
        std::istringstream numbers(line.substr(name.size()));
        std::optional<long> last;
        for (long number; numbers >> number;)
            last = number;
        return last;
    }
    return {};
}

// The GNU C library tells debuggers where a thread's id is: _thread_db_pthread_tid of nptl_db/structs.def is three words
// of 32 bits, the size in bits, how many there are, and the offset from the thread pointer.
std::optional<int32_t> tid_offset(const Image& image)
{
    for (const char* name : {".dynsym", ".symtab"}) {
        const Section* const symbols = image.section(name);
        if (!symbols || symbols->link >= image.sections().size())
            continue;
        const auto table = image.raw_contents(*symbols);
        const auto strings = image.raw_contents(image.sections()[symbols->link]);
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, table.data() + at, sizeof symbol);
            constexpr std::string_view wanted("_thread_db_pthread_tid\0", 23);
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_name > strings.size()
                || strings.size() - symbol.st_name < wanted.size()
                || std::memcmp(strings.data() + symbol.st_name, wanted.data(), wanted.size()) != 0)
                continue;
            uint32_t field[3];
            const auto bytes = image.bytes_at(symbol.st_value);
            if (bytes.size() < sizeof field)
                return {};
            std::memcpy(field, bytes.data(), sizeof field);
            constexpr uint32_t most = 1 << 16; // of a struct pthread; it has some 2300 bytes
            if (field[0] == 32 && field[1] == 1 && field[2] < most)
                return static_cast<int32_t>(field[2]);
            return {};
        }
    }
    return {};
}

std::optional<int32_t> tid_offset(pid_t pid)
{
    std::optional<int32_t> offset;
    std::string last;
    for (const Mapping& mapping : read_maps(pid)) {
        if (!mapping.inode || !mapping.executable || mapping.name == last)
            continue;
        last = mapping.name;
        try {
            Image::each(
                fmt::format("/proc/{}/root{}", pid, mapping.name),
                [&](const Image& image) {
                    if (!offset && image.arch() == Arch::x86_64)
                        offset = tid_offset(image);
                },
                [](const std::string&) {});
        } catch (const Unusable&) {
            // not an ELF file, or gone: threads ask the kernel
        }
        if (offset)
            break;
    }
    return offset;
}

} // namespace

Environment read_environment(const Script& script, pid_t pid)
{
    constexpr unsigned long hwcap2_fsgsbase = 1 << 1; // HWCAP2_FSGSBASE, arch/x86/include/uapi/asm/hwcap2.h
    Environment environment;
    environment.pid = pid;
    environment.inner_pid = static_cast<pid_t>(status_field(pid, "NSpid:").value_or(pid));
    environment.rdfsbase = getauxval(AT_HWCAP2) & hwcap2_fsgsbase; // one kernel, one answer for all processes
    environment.system_calls = status_field(pid, "Seccomp:").value_or(1) == 0;
    if (uses(script, Value::tid))
        environment.tid_offset = tid_offset(pid);
    if (uses(script, Value::nsecs)) {
        std::string why;
        environment.clock = measure_clock(why);
        if (!environment.clock)
            throw Unusable(fmt::format("nsecs: {}; --engine kernel has it", why));
    }
    if (calls(script))
        environment.vectors = VectorState::here();
    return environment;
}

} // namespace fastsdt::engine

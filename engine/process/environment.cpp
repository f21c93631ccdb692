// SPDX-License-Identifier: BSD-2-Clause
#include "process/environment.h"

#include "base/unusable.h"
#include "code/machine.h"
#include "elf/entries.h"
#include "elf/image.h"
#include "live/live.h"
#include "process/clock.h"
#include "process/lasting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <functional>
#include <string_view>
#include <sys/auxv.h>
#include <vector>

namespace fastsdt::engine {
namespace {

// `count` words of 32 bits of a variable; empty: the file has none of that name.
std::vector<uint32_t> words_of(const Image& image, std::string_view name, size_t count)
{
    for (const char* table_name : {".dynsym", ".symtab"}) {
        const Section* const section = image.section(table_name);
        if (!section)
            continue;
        const Entries<Elf64_Sym> symbols(image, *section);
        for (size_t i = 0; i < symbols.size(); ++i) {
            const Elf64_Sym symbol = symbols[i];
            if (symbol.st_shndx == SHN_UNDEF || symbols.text(symbol.st_name) != name)
                continue;
            std::vector<uint32_t> words(count);
            const auto bytes = image.bytes_at(symbol.st_value);
            if (bytes.size() < count * sizeof(uint32_t))
                return {};
            std::memcpy(words.data(), bytes.data(), count * sizeof(uint32_t));
            return words;
        }
    }
    return {};
}

// The GNU C library tells debuggers where a thread's id is: _thread_db_pthread_tid of nptl_db/structs.def is three words
// of 32 bits, the size in bits, how many there are, and the offset in a struct pthread. The thread pointer leads to the
// start of that struct (x86-64), or to the byte behind its end (arm64).
std::optional<int32_t> tid_offset(const Image& image)
{
    constexpr uint32_t most = 1 << 16; // bytes of a struct pthread; it really has some 2300
    const auto field = words_of(image, "_thread_db_pthread_tid", 3);
    if (field.empty() || field[0] != 32 || field[1] != 1 || field[2] >= most)
        return {};
    const auto offset = static_cast<int32_t>(field[2]);
    if (own_machine.arch != Arch::arm64)
        return offset;
    const auto size = words_of(image, "_thread_db_sizeof_pthread", 1);
    if (size.empty() || size[0] >= most || size[0] < field[2])
        return {};
    return offset - static_cast<int32_t>(size[0]);
}

// musl's struct pthread (1.2, src/internal/pthread_impl.h), whose start (x86-64) or end (arm64) is the thread pointer. musl
// tells nobody, so this is checked in each thread (Target::tids_at()). In a static program that has not begun there is
// nothing to check; it is musl's if it has the function that begins its first thread.
constexpr int32_t tid_offset_of_musl = own_machine.arch == Arch::arm64 ? 32 - 200 : 48;

bool is_static_musl(const Image& image)
{
    const std::vector<Function> functions = image.functions();
    return !image.section(".interp") && std::any_of(functions.begin(), functions.end(), [](const Function& f) {
        return f.name == "__init_tp" || std::find(f.aliases.begin(), f.aliases.end(), "__init_tp") != f.aliases.end();
    });
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
                    if (!offset && image.arch() == own_machine.arch)
                        offset = tid_offset(image);
                    if (!offset && image.arch() == own_machine.arch && is_static_musl(image))
                        offset = tid_offset_of_musl;
                },
                [](const std::string&) {});
        } catch (const Unusable&) {
            // not an ELF file, or gone: then stubs ask the kernel for the thread's id
        }
        if (offset)
            break;
    }
    return offset;
}

// What AT_HWCAP says of the processor is the same for all processes, so ours tells.
void read_processor(Environment& environment)
{
    [[maybe_unused]] const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
#if defined(__x86_64__)
    constexpr unsigned long fsgsbase = 1 << 1; // HWCAP2_FSGSBASE, arch/x86/include/uapi/asm/hwcap2.h
    environment.rdfsbase = second & fsgsbase;
#elif defined(__aarch64__)
    // HWCAP_ATOMICS, HWCAP_SVE, HWCAP2_SME, arch/arm64/include/uapi/asm/hwcap.h
    constexpr unsigned long atomics = 1 << 8, sve = 1 << 22, sme = 1 << 23;
    environment.atomics = first & atomics;
    environment.sve = first & sve;
    // A program may be in streaming mode at a site, and a system call would end that mode.
    if (second & sme) {
        environment.no_system_calls =
            "this processor has streaming vectors (SME), and a system call would end their use";
    }
#endif
}

} // namespace

Environment read_environment(const Script& script, pid_t pid)
{
    Environment environment;
    environment.pid = static_cast<pid_t>(inner_number(pid)); // of the same namespace as its threads' numbers
    read_processor(environment);
    if (uses(script, Value::tid)) {
        environment.tid_offset = tid_offset(pid);
        environment.tid_offset_told = environment.tid_offset.has_value();
        if (!environment.tid_offset)
            environment.tid_offset = tid_offset_of_musl;
    }
    read_lasting(pid, environment);
    if (uses(script, Value::nsecs) || uses(script, Value::elapsed)) {
        std::string why;
        environment.clock = measure_clock(why);
        if (!environment.clock)
            throw Unusable(fmt::format("nsecs: {}; --engine kernel has it", why));
    }
    environment.counter = has_events(script) && counter_tells_time();
    if (calls_functions(script))
        environment.vectors = VectorState::here();
    return environment;
}

} // namespace fastsdt::engine

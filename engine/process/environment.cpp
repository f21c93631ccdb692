// SPDX-License-Identifier: BSD-2-Clause
#include "process/environment.h"

#include "base/unusable.h"
#include "code/machine.h"
#include "elf/entries.h"
#include "elf/image.h"
#include "proc/mapped_file.h"
#include "process/clock.h"
#include "process/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>
#include <string_view>
#include <sys/auxv.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <vector>

namespace fastsdt::engine {
namespace {

// `count` words of 32 bits of a variable; empty: the file has none of that name.
std::vector<uint32_t> words_of_symbol(const Image& image, std::string_view name, size_t count)
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

constexpr uint32_t largest_pthread = 1 << 16; // bytes of a struct pthread; it really has some 2300

// An offset in a struct pthread, from the thread pointer: that leads to the struct's start (x86-64), or to the byte behind its end
// (arm64).
std::optional<int32_t> from_thread_pointer(const Image& image, uint32_t offset)
{
    if (own_machine.arch != Arch::arm64)
        return static_cast<int32_t>(offset);
    const auto size = words_of_symbol(image, "_thread_db_sizeof_pthread", 1);
    if (size.empty() || size[0] >= largest_pthread || size[0] < offset)
        return {};
    return static_cast<int32_t>(offset) - static_cast<int32_t>(size[0]);
}

// The GNU C library tells debuggers where a thread's id is: _thread_db_pthread_tid of nptl_db/structs.def is three words
// of 32 bits, the size in bits, how many there are, and the offset in a struct pthread.
std::optional<int32_t> tid_offset(const Image& image)
{
    const auto field = words_of_symbol(image, "_thread_db_pthread_tid", 3);
    if (field.empty() || field[0] != 32 || field[1] != 1 || field[2] >= largest_pthread)
        return {};
    return from_thread_pointer(image, field[2]);
}

// musl's struct pthread (1.2, src/internal/pthread_impl.h), whose start (x86-64) or end (arm64) is the thread pointer. musl
// tells nobody, so this is checked in each thread (Target::tids_at()). In a static program that has not begun there is
// nothing to check; it is musl's if it has the function that begins its first thread.
constexpr int32_t size_of_musl = 200, tid_offset_of_musl = own_machine.arch == Arch::arm64 ? 32 - size_of_musl : 48;

bool is_static_musl(const Image& image)
{
    const std::vector<Function> functions = image.functions();
    return !image.section(".interp") && std::any_of(functions.begin(), functions.end(), [](const Function& f) {
        return f.name == "__init_tp" || std::find(f.aliases.begin(), f.aliases.end(), "__init_tp") != f.aliases.end();
    });
}

// Visits the files with code that a process has mapped, until `visit` returns true.
void each_module(ProcessView& view, const std::function<bool(const Image&)>& visit)
{
    const Mapping* last = nullptr;
    bool found = false;
    for (const Mapping& mapping : view.mappings()) {
        if (!mapping.inode || !mapping.executable || found
            || (last && mapping.inode == last->inode && mapping.device == last->device))
            continue;
        last = &mapping;
        each_image(path_of(view.file(mapping)),
                   [&](const Image& image) { found = found || (image.arch() == own_machine.arch && visit(image)); });
    }
}

std::optional<int32_t> tid_offset(ProcessView& view)
{
    std::optional<int32_t> offset;
    each_module(view, [&](const Image& image) {
        offset = tid_offset(image);
        if (!offset && is_static_musl(image))
            offset = tid_offset_of_musl;
        return offset.has_value();
    });
    return offset;
}

// Of glibc from 2.32 on (sys/single_threaded.h). The library's own: that of a program which mentions it may be a copy.
uint64_t single_threaded(ProcessView& view)
{
    for (const Mapping& mapping : view.mappings()) { // the first of the file is where it is loaded
        if (!mapping.inode || !std::filesystem::path(mapping.name).filename().string().starts_with("libc.so"))
            continue;
        const auto symbol = symbol_in(path_of_mapped_file(view.pid(), mapping, mapping.name), "__libc_single_threaded");
        return mapping.offset == 0 && symbol && symbol->size == 1 ? mapping.start + symbol->address : 0;
    }
    return 0;
}

// The code of a function that others may call.
std::span<const std::byte> code_of(const Image& image, std::string_view name)
{
    for (const Function& function : image.functions()) {
        const auto& aliases = function.aliases;
        if (function.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
            const auto bytes = image.bytes_at(function.address);
            return bytes.first(std::min<size_t>(bytes.size(), function.size));
        }
    }
    return {};
}

// Some instruction of the code has the offset: as a displacement of 32 bits, or on arm64 as ldr of 8 bytes has it.
bool reads_word(std::span<const std::byte> code, uint32_t offset)
{
    if (own_machine.arch == Arch::arm64) {
        constexpr uint32_t opcode = 0xf9400000, registers = 0x3ff;
        for (size_t i = 0; i + 4 <= code.size(); i += 4)
            if ((load(code.data() + i, 4, false) & ~uint64_t(registers)) == (opcode | offset / 8 << 10))
                return true;
        return false;
    }
    std::byte displacement[sizeof offset];
    std::memcpy(displacement, &offset, sizeof offset);
    return std::search(code.begin(), code.end(), std::begin(displacement), std::end(displacement)) != code.end();
}

// The start of a thread's stack and its size are in struct pthread (nptl/descr.h) behind `nextevent`, of which debuggers are told,
// and a struct _Unwind_Exception. It has been so since 2003. The function that tells programs of a stack shows that it is so in this
// library: it reads both words.
int32_t thread_stack(const Image& image)
{
    constexpr uint32_t pointer = 8, exception = 32, alignment = 16;
    const auto field = words_of_symbol(image, "_thread_db_pthread_nextevent", 3);
    if (field.empty() || field[0] != 8 * pointer || field[1] != 1 || field[2] >= largest_pthread)
        return 0;
    const uint32_t start = (field[2] + pointer + alignment - 1) / alignment * alignment + exception;
    const std::span<const std::byte> code = code_of(image, "pthread_getattr_np");
    if (!code.empty() && !(reads_word(code, start) && reads_word(code, start + pointer)))
        return 0;
    return from_thread_pointer(image, start).value_or(0);
}

// map_base and map_size in struct pthread of musl 1.2. musl tells nobody, but stubs find out: both the stack pointer and the thread
// pointer are in that mapping.
constexpr int32_t thread_stack_of_musl = own_machine.arch == Arch::arm64 ? 56 - size_of_musl : 72;

bool is_musl(const Image& image)
{
    return is_static_musl(image) || !code_of(image, "__dls3").empty(); // its dynamic linker
}

// What AT_HWCAP says of the processor is the same for all processes, so ours tells.
void read_processor(Environment& environment)
{
    [[maybe_unused]] const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
#if defined(__x86_64__)
    constexpr unsigned long fsgsbase = 1 << 1; // HWCAP2_FSGSBASE, arch/x86/include/uapi/asm/hwcap2.h
    environment.rdfsbase = second & fsgsbase;
    constexpr unsigned extended = 0x80000001, rdtscp = 1 << 27; // edx: Intel's and AMD's manuals, CPUID
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    environment.rdtscp = __get_cpuid(extended, &eax, &ebx, &ecx, &edx) != 0 && (edx & rdtscp);
#elif defined(__aarch64__)
    // HWCAP_ATOMICS, HWCAP_SVE, HWCAP2_SME, arch/arm64/include/uapi/asm/hwcap.h
    constexpr unsigned long atomics = 1 << 8, sve = 1 << 22, sme = 1 << 23;
    environment.atomics = first & atomics;
    environment.sve = first & sve;
    environment.sme = second & sme;
    // A program may be in streaming mode at a site, and a system call would end that mode.
    if (environment.sme) {
        environment.no_system_calls =
            "this processor has streaming vectors (SME), and a system call would end their use";
    }
#endif
}

} // namespace

int32_t find_thread_stack(ProcessView& view)
{
    int32_t found = 0;
    each_module(view, [&](const Image& image) {
        found = thread_stack(image);
        if (found == 0 && is_musl(image))
            found = thread_stack_of_musl;
        return found != 0;
    });
    return found;
}

Environment read_environment(const Script& script, ProcessView& view)
{
    Environment environment;
    environment.pid = static_cast<pid_t>(view.inner_number()); // of the same namespace as its threads' numbers
    read_processor(environment);
    if (uses(script, Value::pid))
        environment.single_threaded = single_threaded(view);
    if (uses(script, Value::tid) || environment.single_threaded) {
        environment.tid_offset = tid_offset(view);
        environment.tid_offset_told = environment.tid_offset.has_value();
        if (!environment.tid_offset)
            environment.tid_offset = tid_offset_of_musl;
    }
    if (uses(script, Value::nsecs) || uses(script, Value::elapsed) || uses(script, Value::random)) {
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

// SPDX-License-Identifier: BSD-2-Clause
#include "own_site.h"

#include "process/clock.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <cpuid.h>
#include <sys/auxv.h>

using namespace fastsdt::engine;

Processor random_state(std::mt19937_64& random)
{
    Processor state;
    for (uint64_t& reg : state.gpr)
        reg = random();
    for (uint64_t& word : state.red_zone)
        word = random();
    for (auto& xmm : state.xmm)
        for (unsigned char& byte : xmm)
            byte = static_cast<unsigned char>(random());
    state.flags = 0x202 | (random() & arithmetic_flags);
    return state;
}

// Processor: gpr at 0, flags at 128, red zone at 136, xmm at 272. The stack has the state's address and a place for rax.
static_assert(offsetof(Processor, flags) == 128 && offsetof(Processor, red_zone) == 136
              && offsetof(Processor, xmm) == 272);
asm(R"(
    .text
    .globl own_site_pass, own_site
    .type own_site_pass, @function
    .p2align 4
own_site_pass:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push $0
    push %rdi
    push 128(%rdi)
    popfq
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    mov 136+8*\i(%rdi), %rax
    mov %rax, -128+8*\i(%rsp)
    movaps 272+16*\i(%rdi), %xmm\i
    .endr
    mov 0(%rdi), %rax
    mov 8(%rdi), %rcx
    mov 16(%rdi), %rdx
    mov 24(%rdi), %rbx
    mov 40(%rdi), %rbp
    mov 48(%rdi), %rsi
    mov 64(%rdi), %r8
    mov 72(%rdi), %r9
    mov 80(%rdi), %r10
    mov 88(%rdi), %r11
    mov 96(%rdi), %r12
    mov 104(%rdi), %r13
    mov 112(%rdi), %r14
    mov 120(%rdi), %r15
    mov %rsp, 32(%rdi)
    mov 56(%rdi), %rdi
    .p2align 4
own_site:
    .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    mov %rax, 8(%rsp)
    mov (%rsp), %rax
    mov %rcx, 8(%rax)
    mov %rdx, 16(%rax)
    mov %rbx, 24(%rax)
    mov %rsp, 32(%rax)
    mov %rbp, 40(%rax)
    mov %rsi, 48(%rax)
    mov %rdi, 56(%rax)
    mov %r8, 64(%rax)
    mov %r9, 72(%rax)
    mov %r10, 80(%rax)
    mov %r11, 88(%rax)
    mov %r12, 96(%rax)
    mov %r13, 104(%rax)
    mov %r14, 112(%rax)
    mov %r15, 120(%rax)
    mov 8(%rsp), %rcx
    mov %rcx, 0(%rax)
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    mov -128+8*\i(%rsp), %rcx
    mov %rcx, 136+8*\i(%rax)
    movaps %xmm\i, 272+16*\i(%rax)
    .endr
    pushfq
    pop 128(%rax)
    push $0x202
    popfq
    pop %rdi
    pop %rdi
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size own_site_pass, . - own_site_pass
)");

namespace {

// Near the site as any static memory is.
alignas(4096) unsigned char code_memory[1 << 18];
alignas(4096) Mark mark;

void make_writable(void* at, size_t size)
{
    const auto start = uintptr_t(at) & ~uintptr_t(4095);
    const auto end = (uintptr_t(at) + size + 4095) & ~uintptr_t(4095);
    if (mprotect(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        throw std::runtime_error("mprotect");
}

Site placed(Site site, const Script& script)
{
    if (site.patch == 0)
        site.patch = uint64_t(own_site);
    if (!site.moves())
        site.length = 10;
    if (site.clauses.empty())
        for (size_t i = 0; i < script.clauses.size(); ++i)
            if (script.clauses[i].probes[0].has_sites())
                site.clauses.push_back(i);
    return site;
}

} // namespace

Environment own_environment()
{
    Environment environment;
    environment.pid = getpid();
    if (const char* const many =
            std::getenv("FASTSDT_MANY_SITES")) // 1: stubs call their clauses, as those of many sites do
        environment.many_sites = std::strtoull(many, nullptr, 10);
    environment.rdfsbase = getauxval(AT_HWCAP2) & 2; // HWCAP2_FSGSBASE
    environment.stored_thread_pointers = true;       // by the C library
    environment.system_calls = true;
    constexpr unsigned extended = 0x80000001, rdtscp = 1 << 27;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    environment.rdtscp = __get_cpuid(extended, &eax, &ebx, &ecx, &edx) != 0 && (edx & rdtscp);
    static const std::optional<CycleClock> clock = [] {
        std::string why;
        return measure_clock(why);
    }();
    environment.clock = clock;
    environment.counter = clock.has_value();
    return environment;
}

std::string refusal(const std::string& text, Site site, bool system_calls)
{
    const Script script = parse(text);
    const Tables tables = lay_out(script);
    const Site sites[] = {placed(std::move(site), script)};
    Environment environment = own_environment();
    environment.system_calls = system_calls;
    const SiteState state = compile(script, tables, sites, {}, environment).refusals.at(0);
    return state.state == fastsdt::engine::State::ready ? "" : fastsdt::engine::text(state);
}

OwnRun::OwnRun(const std::string& text, Site site, const Environment& environment, size_t window, size_t ring_size)
    : script(parse(text)), tables(lay_out(script, ring_size, false, most_rows)), data_size(window),
      event_reader_(script, tables), environment_(environment)
{
    data = static_cast<unsigned char*>(
        mmap(nullptr, data_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data == MAP_FAILED)
        throw std::runtime_error("mmap");
    reset();
    const Arena arena{uint64_t(code_memory), uint64_t(data), uint64_t(&mark), uint64_t(&mark)};
    const Site sites[] = {placed(std::move(site), script)};
    code = compile(script, tables, sites, arena, environment);
    if (code.refusals.at(0).state != fastsdt::engine::State::ready)
        throw std::runtime_error(fastsdt::engine::text(code.refusals[0]));
    if (code.bytes.size() != compile(script, tables, sites, {}, environment).bytes.size())
        throw std::runtime_error("the size depends on the arena");
    if (code.bytes.size() > sizeof code_memory)
        throw std::runtime_error("the test's arena is too small");
    make_writable(code_memory, sizeof code_memory);
    site_ = reinterpret_cast<unsigned char*>(sites[0].patch);
    make_writable(site_, 10);
    forked(false);
    std::copy(code.bytes.begin(), code.bytes.end(), reinterpret_cast<std::byte*>(code_memory));
    if (std::memcmp(site_, code.patches.at(0).before.data(), code.patches[0].length) != 0)
        throw std::runtime_error("the site is not what the patch says");
    std::memcpy(site_, code.patches[0].after.data(), code.patches[0].length);
}

void OwnRun::unwind_by(std::span<const UnwindRow> rows)
{
    const auto set = [&](size_t offset, uint64_t value) { std::memcpy(data + offset, &value, sizeof value); };
    const size_t module = *tables.modules + 8;
    std::memcpy(data + tables.rows, rows.data(), rows.size_bytes());
    set(module + UnwindModule::first, tables.rows);
    set(module + UnwindModule::count, rows.size());
    set(module + UnwindModule::end, UINT64_MAX);
    set(*tables.modules, 1);
}

OwnRun::~OwnRun()
{
    if (!code.patches.empty())
        std::memcpy(site_, code.patches[0].before.data(), code.patches[0].length);
    if (data && data != MAP_FAILED)
        munmap(data, data_size);
}

void OwnRun::reset()
{
    uint64_t next = 0; // nothing was written behind it
    std::memcpy(&next, data + Tables::next, sizeof next);
    std::memset(data, 0, next ? next - uint64_t(data) : 0);
    const Lasting stack = environment_.stack;
    std::vector<FirstWord> words = first_words(tables, {uint64_t(data), data_size}, environment_.clock);
    if (tables.stacks) // as Session does
        words.insert(words.end(),
                     {{Tables::thread_stack, uint64_t(int64_t(environment_.thread_stack))},
                      {Tables::last_frame, stack.end ? stack.end - 16 : 0},
                      {Tables::stack_start, stack.start},
                      {Tables::stack_at_first, stack.start}});
    for (const FirstWord& word : words)
        std::memcpy(data + word.offset, &word.value, sizeof word.value);
}

std::vector<std::vector<uint64_t>> OwnRun::stacks() const
{
    const auto reader = [this](size_t offset, size_t size) { return read(offset, size); };
    std::vector<std::vector<uint64_t>> found;
    for (const uint64_t address : interned_stacks(tables, reader))
        found.push_back(stack_at(tables, {uint64_t(data), data_size}, reader, address));
    return found;
}

void OwnRun::forked(bool yes)
{
    mark = yes ? Mark() : Mark{uint64_t(data) + Tables::slice, 0, uint64_t(getpid())};
}

Maps OwnRun::maps() const
{
    return read_tables(script, tables, {uint64_t(data), data_size},
                       [this](size_t offset, size_t size) { return read(offset, size); });
}

std::vector<std::byte> OwnRun::read(size_t offset, size_t size) const
{
    const auto* first = reinterpret_cast<const std::byte*>(data) + offset;
    return {first, first + std::min(size, data_size - offset)};
}

std::vector<Event> OwnRun::events(bool last)
{
    std::vector<Event> found;
    event_reader_.read(
        {uint64_t(data), data_size}, [this](size_t offset, size_t size) { return read(offset, size); },
        [this](size_t offset, uint64_t from, uint64_t to) {
            return __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(data + offset), &from, to, false,
                                               __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        },
        last, found);
    return found;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "process/unwound.h"

#include "base/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <string>
#include <utility>

namespace fastsdt::engine {
namespace {

#if defined __x86_64__
constexpr size_t stack_pointer = 7;
#else
constexpr size_t stack_pointer = 31;
#endif

// The file as the process has it, in its own mount namespace.
int find_elf(Dwfl_Module*, void** process, const char* name, Dwarf_Addr, char** path, Elf**)
{
    const auto pid = static_cast<pid_t>(reinterpret_cast<intptr_t>(*process));
    const std::string file = fmt::format("/proc/{}/root{}", pid, name);
    const int opened = name[0] == '/' ? open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (opened >= 0)
        *path = strdup(file.c_str());
    return opened;
}

// .eh_frame is in the file itself, and no server is asked.
int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**)
{
    return -1;
}

} // namespace

struct Unwound::State {
    pid_t pid;
    Dwfl_Callbacks files{};
    Dwfl_Thread_Callbacks threads{};
    Dwfl* dwfl = nullptr;
    std::chrono::steady_clock::time_point reported{};
    // Of the sample.
    std::span<const uint64_t> registers;
    std::span<const char> stack;
    std::vector<uint64_t> found;
    size_t most = 0;
    bool cut = false;

    explicit State(pid_t process) : pid(process)
    {
        files.find_elf = find_elf;
        files.find_debuginfo = find_no_debug_file;
        threads.next_thread = [](Dwfl*, void* state, void** thread) -> pid_t {
            return std::exchange(*thread, state) ? 0 : static_cast<State*>(state)->pid;
        };
        threads.get_thread = [](Dwfl*, pid_t, void* state, void** thread) {
            *thread = state;
            return true;
        };
        threads.memory_read = [](Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* state) {
            return static_cast<State*>(state)->word(address, *result);
        };
        threads.set_initial_registers = [](Dwfl_Thread* thread, void* state) {
            const auto& given = static_cast<const State*>(state)->registers;
            const std::vector<Dwarf_Word> values(given.begin(), given.end());
            if (stack_pointer == 7) // the return address' column is the program counter
                return dwfl_thread_state_registers(thread, 0, unsigned(values.size()), values.data());
            dwfl_thread_state_register_pc(thread, values.back());
            return dwfl_thread_state_registers(thread, 0, unsigned(values.size() - 1), values.data());
        };
    }
    ~State() { dwfl_end(dwfl); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    bool word(uint64_t address, Dwarf_Word& result)
    {
        const uint64_t offset = address - registers[stack_pointer];
        constexpr uint64_t largest_stack = uint64_t(1) << 30; // what is further away is not on it
        if (offset >= stack.size() || stack.size() - offset < sizeof result) {
            cut = cut || (offset >= stack.size() - std::min(stack.size(), sizeof result) && offset < largest_stack);
            return false;
        }
        std::memcpy(&result, stack.data() + offset, sizeof result);
        return true;
    }

    // What is mapped, again where an address is nobody's: not more often than ten times a second, since some addresses always are.
    void report(uint64_t address)
    {
        const auto now = std::chrono::steady_clock::now();
        if (dwfl && (dwfl_addrmodule(dwfl, address) || now - reported < std::chrono::milliseconds(100)))
            return;
        reported = now;
        dwfl_end(dwfl);
        dwfl = dwfl_begin(&files);
        if (!dwfl)
            return;
        dwfl_report_begin(dwfl);
        dwfl_linux_proc_report(dwfl, pid);
        dwfl_report_end(dwfl, [](Dwfl_Module*, void*, const char*, Dwarf_Addr, void*) { return 0; }, nullptr);
        dwfl_getmodules(
            dwfl,
            [](Dwfl_Module* module, void** data, const char*, Dwarf_Addr, void* process) -> int {
                *data = process;
                static_cast<void>(module);
                return DWARF_CB_OK;
            },
            reinterpret_cast<void*>(static_cast<intptr_t>(pid)), 0);
        dwfl_attach_state(dwfl, nullptr, pid, &threads, this);
    }
};

Unwound::Unwound(pid_t pid) : state_(std::make_unique<State>(pid)) {}
Unwound::~Unwound() = default;

bool Unwound::was_cut() const
{
    return state_->cut;
}

std::vector<uint64_t> Unwound::calls(std::span<const uint64_t> registers, std::span<const char> stack, size_t most)
{
    state_->found.clear();
    state_->cut = false;
    if (registers.size() <= stack_pointer + 1)
        return {};
    state_->registers = registers;
    state_->stack = stack;
    state_->most = most;
    state_->report(registers.back());
    const auto frame = [](Dwfl_Frame* at, void* state) -> int {
        Dwarf_Addr address = 0;
        State& of = *static_cast<State*>(state);
        if (of.found.size() >= of.most || !dwfl_frame_pc(at, &address, nullptr))
            return DWARF_CB_ABORT;
        of.found.push_back(address);
        return DWARF_CB_OK;
    };
    if (state_->dwfl)
        dwfl_getthread_frames(state_->dwfl, state_->pid, frame, state_.get());
    if (state_->found.empty() && most > 0)
        state_->found.push_back(registers.back());
    return std::move(state_->found);
}

} // namespace fastsdt::engine

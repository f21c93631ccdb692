// SPDX-License-Identifier: BSD-2-Clause
#include "process/unwound.h"

#include "base/descriptor.h"
#include "proc/mapped_file.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <elfutils/libdwfl.h>
#include <utility>

namespace fastsdt::engine {
namespace {

#if defined __x86_64__
constexpr size_t stack_pointer_column = 7;
#else
constexpr size_t stack_pointer_column = 31;
#endif

// The mapped file, whatever has its name by now. The vDSO is read from memory: without its .eh_frame, libdw follows %rbp, which is the caller's in
// an epilogue already.
int find_elf(Dwfl_Module* module, void** state, const char* name, Dwarf_Addr start, char** path, Elf** elf)
{
    ProcessView& view = *static_cast<ProcessView*>(*state);
    const Mapping* const mapping = mapping_at(view.mappings(), start);
    if (mapping && mapping->name == "[vdso]")
        return dwfl_linux_proc_find_elf(module, state, name, start, path, elf);
    Descriptor file = mapping && mapping->inode ? open_mapped_file(view.pid(), *mapping) : Descriptor();
    if (file)
        *path = strdup(mapping->name.c_str());
    return file.release();
}

// .eh_frame is in the file itself, and no server is asked.
int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**)
{
    return -1;
}

} // namespace

struct Unwound::State {
    ProcessView& view;
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

    explicit State(ProcessView& of) : view(of)
    {
        files.find_elf = find_elf;
        files.find_debuginfo = find_no_debug_file;
        threads.next_thread = [](Dwfl*, void* state, void** thread) -> pid_t {
            return std::exchange(*thread, state) ? 0 : static_cast<State*>(state)->view.pid();
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
            if (stack_pointer_column == 7) // the return address' column is the program counter
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
        const uint64_t offset = address - registers[stack_pointer_column];
        constexpr uint64_t largest_stack = uint64_t(1) << 30; // what is further away is not on it
        if (offset >= stack.size() || stack.size() - offset < sizeof result) {
            cut = cut || (offset >= stack.size() - std::min(stack.size(), sizeof result) && offset < largest_stack);
            return false;
        }
        std::memcpy(&result, stack.data() + offset, sizeof result);
        return true;
    }

    // Whether .eh_frame says where the caller of the last frame is. Where it does not, libdw followed %rbp, which may point anywhere.
    bool known_caller() const
    {
        if (found.empty())
            return false;
        const Dwarf_Addr at = found.back() - (found.size() > 1); // a return address may be behind the function
        Dwarf_Addr bias = 0;
        Dwarf_Frame* row = nullptr;
        Dwfl_Module* const module = dwfl_addrmodule(dwfl, at);
        Dwarf_CFI* const rows = module ? dwfl_module_eh_cfi(module, &bias) : nullptr;
        if (!rows || dwarf_cfi_addrframe(rows, at - bias, &row) != 0)
            return false;
        free(row);
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
        dwfl_linux_proc_report(dwfl, view.pid());
        view.look();
        dwfl_report_end(dwfl, [](Dwfl_Module*, void*, const char*, Dwarf_Addr, void*) { return 0; }, nullptr);
        const auto give_view = [](Dwfl_Module*, void** data, const char*, Dwarf_Addr, void* process) -> int {
            *data = process;
            return DWARF_CB_OK;
        };
        dwfl_getmodules(dwfl, give_view, &view, 0);
        dwfl_attach_state(dwfl, nullptr, view.pid(), &threads, this);
    }
};

Unwound::Unwound(ProcessView& view) : state_(std::make_unique<State>(view)) {}
Unwound::~Unwound() = default;

bool Unwound::was_cut() const
{
    return state_->cut;
}

std::vector<uint64_t> Unwound::calls(std::span<const uint64_t> registers, std::span<const char> stack, size_t most)
{
    state_->found.clear();
    state_->cut = false;
    if (registers.size() <= stack_pointer_column + 1)
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
        dwfl_getthread_frames(state_->dwfl, state_->view.pid(), frame, state_.get());
    state_->cut = state_->cut && state_->known_caller();
    if (state_->found.empty() && most > 0)
        state_->found.push_back(registers.back());
    return std::move(state_->found);
}

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/unwinder.h"

#include "base/unusable.h"
#include "bpf_members.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <iterator>
#include <sys/mman.h>
#include <utility>

namespace fastsdt::engine::bpf {
namespace {

using A = BpfAssembler;

constexpr size_t chunk_size = rows_of_chunk * sizeof(KernelRow), most_chunks = 256; // 64 MiB
constexpr size_t most_pieces = size_t(1) << 18, most_tasks = size_t(1) << 20;       // of the trie; memory as they come

// The fewest keys of a trie that have all addresses of a range, and no others.
template <class Visit> void each_key(uint32_t space, uint64_t start, uint64_t end, const Visit& visit)
{
    while (start < end) {
        const int aligned = start ? std::countr_zero(start) : 63;
        const int bits = std::min(aligned, 63 - std::countl_zero(end - start));
        visit(ModuleKey{bits_of_module_key - uint32_t(bits), space, __builtin_bswap64(start)});
        start += uint64_t(1) << bits;
    }
}

KernelRow kernel_row(const UnwindRow& row)
{
    KernelRow made{.start = row.start, .kind = 0, .saved = 0, .offset = row.offset};
    if (row.saved == UnwindRow::unchanged)
        made.kind = KernelRow::unchanged;
    else if (row.saved == UnwindRow::at_own)
        made.kind = KernelRow::saved_there;
    else
        made.saved = uint8_t(row.saved - 1); // below what the function returns to
    switch (row.rule) {
    case UnwindRow::unknown: made.kind = KernelRow::unknown; break;
    case UnwindRow::outermost: made.kind = KernelRow::outermost; break;
    case UnwindRow::stack_pointer: break;
    case UnwindRow::frame_pointer: made.kind |= KernelRow::from_frame_pointer; break;
    case UnwindRow::at_frame_pointer: made.kind |= KernelRow::from_frame_pointer | KernelRow::cfa_is_there; break;
    case UnwindRow::signal:
        made.kind = KernelRow::signal | KernelRow::cfa_is_there;
        made.offset = signal_stack_pointer / 8;
        made.saved = (signal_place - signal_frame_pointer) / 8;
        break;
    }
    return made;
}

// A library may be unmapped, and another one mapped there, before anybody looks. So the word is of the file that the rows are of, and stubs
// look whether it is there.
ModuleValue what_tells(ProcessView& view, const CodeOfProcess::Module& module)
{
    const std::vector<Mapping>& mappings = view.mappings();
    const Mapping* const code = mapping_at(mappings, module.start);
    const Mapping* first = code;
    for (const Mapping& each : mappings)
        if (code && each.start <= code->start && each.offset == 0 && each.inode == code->inode
            && each.device == code->device)
            first = &each; // of several, the nearest
    if (!first || first->offset != 0 || module.code->mark.at == 0)
        return {};
    ModuleValue told;
    told.told_by = first->start + module.code->mark.at;
    told.word = module.code->mark.word;
    return told;
}

} // namespace

Unwinder::Unwinder(bool follows)
{
    spaces_ = BpfMap(BPF_MAP_TYPE_HASH, "fastsdt_spaces", 4, 8, most_tasks, BPF_F_NO_PREALLOC);
    if (follows)
        heirs_ = BpfMap(BPF_MAP_TYPE_HASH, "fastsdt_heirs", 8, 8, most_tasks, BPF_F_NO_PREALLOC);
    modules_ = BpfMap(BPF_MAP_TYPE_LPM_TRIE, "fastsdt_code", sizeof(ModuleKey), sizeof(ModuleValue), most_pieces,
                      BPF_F_NO_PREALLOC);
    const BpfMap as_all(BPF_MAP_TYPE_ARRAY, "fastsdt_rows", 4, chunk_size, 1, BPF_F_MMAPABLE);
    chunks_ = BpfMap(BPF_MAP_TYPE_ARRAY_OF_MAPS, "fastsdt_chunks", 4, 4, most_chunks, 0, &as_all);
    attach_programs();
}

Unwinder::~Unwinder()
{
    if (chunk_)
        munmap(chunk_, chunk_size);
}

// Until the tool has looked again, a process that executes another program has no rows.
void Unwinder::attach_programs()
{
    A at_exec;
    const auto not_here = at_exec.label();
    const auto erase = [](A& a, const BpfMap& map, int key) {
        a.map(A::r1, map.fd());
        a.move(A::r2, A::r10);
        a.add(A::r2, key);
        a.call(BPF_FUNC_map_delete_elem);
    };
    own_number(at_exec, not_here);
    at_exec.store(BPF_W, A::r10, -8, A::r0);
    erase(at_exec, spaces_, -8);
    at_exec.bind(not_here);
    if (heirs_) {
        at_exec.call(BPF_FUNC_get_current_task);
        at_exec.store(BPF_DW, A::r10, -8, A::r0);
        erase(at_exec, heirs_, -8);
    }
    at_exec.leave();
    attached_.push_back(attach_to_tracepoint("sched_process_exec", at_exec));
    if (!heirs_)
        return;
    for (const char* const tracepoint : {"sched_process_free", "sched_process_exit"}) { // (task)
        A at_end;
        at_end.load(BPF_DW, A::r1, A::r1, 0);
        at_end.store(BPF_DW, A::r10, -8, A::r1);
        erase(at_end, heirs_, -8);
        at_end.leave();
        attached_.push_back(attach_to_tracepoint(tracepoint, at_end));
    }
    A at_fork; // task_newtask(child, clone flags): the parent is the current task
    const auto none = at_fork.label(), out = at_fork.label();
    at_fork.load(BPF_DW, A::r1, A::r1, 0);
    at_fork.store(BPF_DW, A::r10, -8, A::r1);
    find_space(at_fork, none);
    at_fork.store(BPF_DW, A::r10, -16, A::r0);
    at_fork.map(A::r1, heirs_.fd());
    at_fork.move(A::r2, A::r10);
    at_fork.add(A::r2, -8);
    at_fork.move(A::r3, A::r10);
    at_fork.add(A::r3, -16);
    at_fork.move(A::r4, BPF_ANY);
    at_fork.call(BPF_FUNC_map_update_elem); // no room: its stacks are cut
    at_fork.jump(out);
    at_fork.bind(none);
    erase(at_fork, heirs_, -8);
    at_fork.bind(out);
    at_fork.leave();
    attached_.push_back(attach_to_tracepoint("task_newtask", at_fork));
}

void Unwinder::find_space(A& a, A::Label none) const
{
    const auto found = a.label(), not_known = a.label();
    const auto look_up = [&](const BpfMap& map) {
        a.map(A::r1, map.fd());
        a.move(A::r2, A::r10);
        a.add(A::r2, -24);
        a.call(BPF_FUNC_map_lookup_elem);
    };
    own_number(a, not_known);
    a.store(BPF_W, A::r10, -24, A::r0);
    look_up(spaces_);
    a.jump_if(BPF_JNE, A::r0, 0, found);
    a.bind(not_known);
    if (heirs_) {
        a.call(BPF_FUNC_get_current_task);
        a.store(BPF_DW, A::r10, -24, A::r0);
        look_up(heirs_);
        a.jump_if(BPF_JNE, A::r0, 0, found);
    }
    a.jump(none);
    a.bind(found);
    a.load(BPF_DW, A::r0, A::r0, 0);
}

bool Unwinder::open_chunk()
{
    if (chunks_used_ == most_chunks)
        return false;
    const BpfMap chunk(BPF_MAP_TYPE_ARRAY, "fastsdt_rows", 4, chunk_size, 1, BPF_F_MMAPABLE);
    void* const memory = mmap(nullptr, chunk_size, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.fd(), 0);
    if (memory == MAP_FAILED)
        return false;
    const auto number = uint32_t(chunks_used_), fd = uint32_t(chunk.fd());
    if (!chunks_.update(&number, &fd)) {
        munmap(memory, chunk_size);
        return false;
    }
    if (chunk_)
        munmap(chunk_, chunk_size);
    chunk_ = static_cast<KernelRow*>(memory);
    in_chunk_ = 0;
    ++chunks_used_;
    return true;
}

// Of code whose rows have no room there may be some.
const std::vector<Unwinder::Part>& Unwinder::parts_of(const CodeOfProcess::Piece& code)
{
    const auto [found, fresh] = parts_.try_emplace(code);
    const std::vector<UnwindRow>& rows = code->rows;
    for (size_t from = 0; fresh && from < rows.size();) {
        if (in_chunk_ == rows_of_chunk && !open_chunk())
            break;
        const size_t count = std::min(rows.size() - from, rows_of_chunk - in_chunk_);
        std::transform(&rows[from], &rows[from] + count, chunk_ + in_chunk_, kernel_row);
        found->second.push_back({uint32_t(chunks_used_ - 1), uint32_t(in_chunk_), from, from + count});
        in_chunk_ += count;
        from += count;
    }
    return found->second;
}

void Unwinder::write(const Space& space, const Module& module, const ModuleValue* value)
{
    const std::vector<UnwindRow>& rows = module.code->rows;
    for (const Part& part : parts_of(module.code)) {
        const uint64_t begin = module.base + rows[part.from].start,
                       end = part.to == rows.size() ? module.end : module.base + rows[part.to].start;
        ModuleValue made = value ? *value : ModuleValue();
        made.base = module.base;
        made.chunk = part.chunk;
        made.first = part.first;
        made.end = part.first + uint32_t(part.to - part.from);
        each_key(space.number, std::max(begin, module.start), std::min(end, module.end), [&](const ModuleKey& key) {
            if (value)
                modules_.update(&key, &made);
            else
                modules_.erase(&key);
        });
    }
}

void Unwinder::clear(const Space& space)
{
    for (const Module& module : space.modules)
        write(space, module, nullptr);
}

void Unwinder::look(ProcessView& view, CodeOfProcess& code)
{
    const pid_t process = view.pid();
    const auto number = uint32_t(process);
    Space& space = known_[process];
    uint64_t word = 0;
    if (space.number == 0 || !spaces_.lookup(&number, &word)) { // it is new, or executes another program
        clear(space);
        space = {++last_number_, {}};
        word = space_word(process, space.number);
        spaces_.update(&number, &word);
        view.look(); // an exec from now on is seen
    }
    const std::vector<Module> now = code.modules();
    const auto has = [](const std::vector<Module>& all, const Module& module) {
        return std::find(all.begin(), all.end(), module) != all.end();
    };
    for (const Module& module : space.modules)
        if (!has(now, module))
            write(space, module, nullptr);
    for (const Module& module : now)
        if (!has(space.modules, module)) {
            const ModuleValue told = what_tells(view, module);
            write(space, module, &told);
        }
    space.modules = now;
}

void Unwinder::forget(pid_t process)
{
    const auto known = known_.find(process);
    if (known == known_.end())
        return;
    const auto number = uint32_t(process);
    spaces_.erase(&number);
    ended_.push_back(std::move(known->second));
    known_.erase(known);
    const size_t kept = heirs_ ? 64 : 0;
    for (; ended_.size() > kept; ended_.pop_front())
        clear(ended_.front());
}

} // namespace fastsdt::engine::bpf

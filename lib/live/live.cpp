// SPDX-License-Identifier: BSD-2-Clause
// A running process, by what Linux tells of it:
//
//     /proc/PID/maps          which files are mapped where. Mappings of one device and inode are one file
//     /proc/PID/map_files/    opens a file even if it is deleted or in another mount namespace; who may not finds it by name (open_mapped_file)
//     /proc/PID/mem           what stands there now
//
// For each mapped file: its notes are read as fastsdt-check reads those of a file; each site's offset in the file is looked up among the
// executable mappings, which gives its runtime address; and the bytes there are compared with the file's.
//
//     file    90 66 2e 0f 1f 84 00 00 00 00 00     site.expected: nop1+nop10, pristine
//     live    90 48 8d 64 24 80 e8 5b 9c 00 00     site.found: nop1+nop10, called -> Change::optimized, if the call leads into a
//                                                  [uprobes-trampoline], else foreign_call
//
// The process runs on meanwhile: threads end, files are unmapped. What cannot be read any more is said to be so, and never guessed.
#include "arch/args.h"
#include "base/cover.h"
#include "base/descriptor.h"
#include "elf/moved.h"
#include "judge/evaluate.h"
#include "live/live.h"
#include "proc/mapped_file.h"
#include "proc/processes.h"
#include "proc/text.h"
#include "proc/threads.h"
#include "base/layouts.h"
#include "elf/code_records.h"
#include "elf/go_table.h"
#include "elf/return_probes.h"
#include "live/movable_cache.h"
#include "movable/go_code.h"
#include "movable/go_runtime.h"
#include "movable/instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <signal.h>
#include <unistd.h>

namespace fastsdt {
namespace {

// Where Go's code is, and who executes it. In C code the register of g has anything, and a stub that reads memory by it ends the program: so only
// what is known to be Go's gets offsets.
class GoCodeOffsets {
public:
    explicit GoCodeOffsets(const Image& image)
    {
        if (!is_go_program(image))
            return;
        alone_ = image.arch() == Arch::arm64 && !has_c_code(image);
        if (const auto text = go_text(image)) {
            code_ = {text->first, text->second};
            offsets_ = go_offsets(image);
        }
    }
    /// False: of another compiler, or nobody knows.
    bool has(uint64_t address) const { return code_.has(address); }
    bool is_known() const { return code_.start < code_.end; }
    /// @param has_g  what is known of that address: its register of g is one
    void set(LiveSite& site, uint64_t address, bool has_g = true) const
    {
        if (has(address) && has_g) {
            site.goroutine = offsets_.number;
            site.go_thread = offsets_.thread;
        }
        if (alone_)
            site.thread_by = has(address) && has_g ? ThreadBy::go_m : ThreadBy::nothing;
    }

private:
    GoRange code_;
    GoOffsets offsets_;
    bool alone_ = false; // without C code, and its threads without thread pointers
};

// Groups a file's mappings, which come by address, into modules: dlmopen() maps a file once for each name space. A
// module begins with the file's first segment; its other segments are at the same distances as in the file. A copy
// without an executable mapping was only read, and is left out.
std::vector<std::vector<const Mapping*>> modules(const Image& image, const std::vector<const Mapping*>& mappings)
{
    const uint64_t page = page_size();
    std::set<uint64_t> distances; // runtime address less file offset, of a segment at its ELF vaddr
    const Segment* lowest = nullptr;
    for (const Segment& segment : image.segments()) {
        distances.insert(segment.address.down_to(page).value - segment.offset.down_to(page).value);
        if (!lowest)
            lowest = &segment;
    }
    std::vector<std::vector<const Mapping*>> found;
    uint64_t bias = 0;
    for (const Mapping* m : mappings) {
        const bool belongs = !found.empty() && distances.contains(m->start - m->offset - bias);
        if (!belongs && lowest && m->offset == lowest->offset.down_to(page).value) {
            found.emplace_back();
            bias = m->start - lowest->address.down_to(page).value;
        } else if (!belongs) {
            continue;
        }
        found.back().push_back(m);
    }
    std::erase_if(found, [](const std::vector<const Mapping*>& module) {
        return std::none_of(module.begin(), module.end(), [](const Mapping* m) { return m->executable; });
    });
    if (found.size() < 2) // one module: all mappings, even those at other distances, as text may have been replaced
        return {mappings};
    return found;
}

std::string_view function_at(const std::vector<Function>& functions, uint64_t address)
{
    const Function* const found = function_before(functions, address);
    return found && found->address == address ? found->name : std::string_view();
}

class ProcessReader {
public:
    ProcessReader(pid_t pid, const Unrecorded* unrecorded, const std::vector<Mapping>& known, const LiveVisit& visit,
                  Access access)
        : mappings_(known), unrecorded_(unrecorded), visit_(visit), access_(access)
    {
        process_.pid = pid;
        refuse_zombie(pid);
        if (kill(pid, 0) != 0 && errno == ESRCH)
            throw Unusable(unreadable(pid, ESRCH));
        // A thread that is about to end, even the first one, has no memory any more; the others still have it.
        std::optional<Error> error = unreadable(pid, ESRCH);
        for (const pid_t thread : living_threads(pid)) {
            memory_ = Descriptor(open(fmt::format("/proc/{}/mem", thread).c_str(), O_RDONLY | O_CLOEXEC));
            error = memory_ ? std::nullopt : std::optional(unreadable(pid, errno));
            if (memory_ && known.empty()) {
                if (auto mappings = try_read_maps(thread))
                    mappings_ = *std::move(mappings);
                else
                    error = unreadable(pid, mappings.error().code);
            }
            thread_ = thread;
            if ((memory_ && !mappings_.empty()) || (error && (error->code == EACCES || error->code == EPERM)))
                break;
        }
        if (error)
            throw Unusable(*error);
        if (mappings_.empty())
            throw Unusable({"it has no memory: a kernel thread, or it has exited", process_name(pid)});
        std::ifstream comm(fmt::format("/proc/{}/comm", pid));
        std::getline(comm, process_.name);
    }

    Process run(bool entries)
    {
        std::map<std::pair<std::string, uint64_t>, std::vector<const Mapping*>> files; // by device and inode
        std::vector<std::pair<std::string, uint64_t>> order;
        for (const Mapping& m : mappings_) {
            if (m.name == "[uprobes-trampoline]")
                process_.trampolines.push_back(m);
            else if (m.name == "[uprobes]")
                process_.out_of_line = m;
            else if (m.inode) {
                auto& of_file = files[{m.device, m.inode}];
                if (of_file.empty())
                    order.emplace_back(m.device, m.inode);
                of_file.push_back(&m);
            }
        }
        for (const auto& key : order) {
            const auto& of_file = files[key];
            // A file without an executable mapping may have had its text replaced; a file in one mapping was only read.
            if (std::any_of(of_file.begin(), of_file.end(), [](const Mapping* m) { return m->executable; })
                || (of_file.size() > 1 && of_file.front()->offset == 0))
                read_file(of_file, entries);
        }
        if (kill(process_.pid, 0) != 0 && errno == ESRCH)
            throw Unusable({"it exited while it was read", process_name(process_.pid)});
        return std::move(process_);
    }

private:
    bool in_trampoline(uint64_t address) const
    {
        return std::any_of(process_.trampolines.begin(), process_.trampolines.end(),
                           [&](const Mapping& m) { return address >= m.start && address < m.end; });
    }

    void read_file(const std::vector<const Mapping*>& mappings, bool entries)
    {
        ++process_.files_seen;
        LiveFile file;
        file.path = mappings.front()->name;
        file.device = mappings.front()->device;
        file.inode = mappings.front()->inode;
        file.deleted = file.path.ends_with(deleted_suffix);
        if (file.deleted)
            file.path.resize(file.path.size() - deleted_suffix.size());
        const Descriptor opened = open_mapped_file(thread_, *mappings.front());
        if (!opened) {
            process_.troubles.push_back(
                file.deleted ? Error{"the mapped file cannot be opened: it was replaced or removed since", file.path,
                                     "run as root"}
                             : Error{"the mapped file cannot be opened", file.path});
            return;
        }
        try {
            const auto visit = [&](const Image& image) {
                auto found = modules(image, mappings);
                constexpr size_t most = 64; // the C library has 16 name spaces
                if (found.size() > most) {
                    process_.troubles.push_back(
                        {fmt::format("it is mapped {} times: {} are looked at", found.size(), most), file.path});
                    found.resize(most);
                }
                for (const auto& module : found)
                    read_module(image, module, entries, file);
            };
            Image::each(fmt::format("/proc/self/fd/{}", opened.get()), visit, [](const Error&) {}, access_);
        } catch (const Unusable&) {
            // An executable mapping of a file that is not ELF: generated code. It has no notes.
        }
    }

    void read_module(const Image& image, const std::vector<const Mapping*>& mappings, bool entries, LiveFile file)
    {
        file.start = RuntimeAddress(mappings.front()->start);
        const Notes notes = read_notes(image);
        read_sites(image, notes, mappings, entries, file);
        if (file.sites.empty())
            return;
        std::stable_sort(file.sites.begin(), file.sites.end(),
                         [](const LiveSite& a, const LiveSite& b) { return a.address < b.address; });
        if (visit_)
            visit_(image, notes, file);
        process_.files.push_back(std::move(file));
    }

    void read_sites(const Image& image, const Notes& notes, const std::vector<const Mapping*>& mappings, bool entries,
                    LiveFile& file)
    {
        file.arch = image.arch();
        std::vector<Cover::Range> ranges; // of the file, by mapping
        for (const Mapping* m : mappings)
            ranges.push_back(m->executable ? Cover::Range{m->offset, m->offset + (m->end - m->start)} : Cover::Range{});
        const Cover executable(ranges);
        std::optional<GoCodeOffsets> go;
        for (const ProbeNote& probe : notes.probes) {
            LiveSite site;
            site.provider = probe.provider;
            site.name = probe.name;
            site.arguments = probe.arguments;
            if (!notes.names.empty())
                if (const ArgumentNames* names =
                        notes.names_of(probe, parse_arguments(probe.arguments, file.arch).size()))
                    site.argument_names = names->only_names();
            site.address = Vaddr(probe.address);
            site.semaphore = Vaddr(probe.semaphore);
            // By its record in code its register of g has that.
            if (const bool has_g = has_code_record(image, probe.address); has_g || image.arch() == Arch::arm64) {
                if (!go)
                    go.emplace(image);
                go->set(site, probe.address, has_g);
            }
            look(image, mappings, executable, {probe.address, notes.site_at(probe.note_address)}, std::move(site),
                 file);
        }
        if (entries && !notes.entries.empty())
            read_records(image, notes, mappings, executable, file);
        if (unrecorded_ && unrecorded_->file(file.path))
            read_unrecorded(image, notes, mappings, executable, file);
    }

    void read_records(const Image& image, const Notes& notes, const std::vector<const Mapping*>& mappings,
                      const Cover& executable, LiveFile& file)
    {
        auto functions = image.functions();
        if (std::any_of(notes.entries.begin(), notes.entries.end(),
                        [&](const Record& entry) { return function_at(functions, entry.address).empty(); })) {
            image.find_names();
            functions = image.functions();
        }
        TextBudget texts(image.file());
        const Moved moved(image);
        const auto look_at = [&](const Record& record, bool exit) {
            if (moved.stale(record))
                return;
            const uint64_t function = exit ? record.operand : record.address;
            LiveSite site;
            site.entry = !exit;
            site.exit = exit;
            site.result = record.result;
            site.tail_call = exit && (record.flags & FASTSDT_EXIT_TAIL_CALL);
            site.exits = !exit && (record.flags & FASTSDT_ENTRY_EXITS);
            if (!exit)
                site.stack_bytes = record.operand;
            site.address = Vaddr(record.address);
            site.name = function_at(functions, function);
            if (site.name.empty() || !texts.afford(site.name.size()))
                site.name = image.place(function);
            look(image, mappings, executable, {record.address, &record, !exit}, std::move(site), file);
        };
        for (const Record& record : notes.entries)
            look_at(record, false);
        for (const Record& record : notes.exits)
            look_at(record, true);
    }

    void read_unrecorded(const Image& image, const Notes& notes, const std::vector<const Mapping*>& mappings,
                         const Cover& executable, LiveFile& file)
    {
        std::vector<Function> functions = image.functions();
        TextBudget texts(image.file());
        if (!image.has_all_names() && unrecorded_->lacks(file.path, functions)) {
            image.find_names();
            for (const Error& refused : image.refused_names())
                process_.troubles.push_back(refused.at(file.path));
            functions = image.functions();
            for (const Image* more : image.files_with_symbols())
                texts.add(more->file());
        }
        MovableCache windows(image, notes); // with all symbols that there are
        const auto set_window = [&](LiveSite& site, const Window& window) {
            site.window = window;
            const auto bytes = image.bytes_at(window.address);
            site.window_bytes.assign(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), window.length));
        };
        const auto place = [&](LiveSite site, const Window& window) {
            set_window(site, window);
            look(image, mappings, executable, {site.address.value, nullptr, true}, std::move(site), file);
        };
        for (LiveSite& site : file.sites)
            if (!site.entry && !site.exit && site.expected.length <= 1
                && unrecorded_->probe(file.path, site.provider, site.name))
                set_window(site, windows.site(site.address.value));
        std::set<uint64_t> recorded;
        for (const Record& record : notes.entries)
            recorded.insert(record.address);
        std::optional<GoAbi> of_go;
        if (is_go_program(image))
            of_go = has_go_registers(image) ? GoAbi::registers : GoAbi::unknown;
        const GoCodeOffsets offsets(image);
        // Its C functions are as everybody's.
        const auto go_at = [&](uint64_t address) {
            return offsets.is_known() && !offsets.has(address) ? std::nullopt : of_go;
        };
        for (const uint64_t address : unrecorded_->instructions(file.path, functions))
            if (LiveSite site; find_instruction(image, functions, windows, address, site)) {
                site.go = go_at(address);
                place(std::move(site), windows.instruction(address));
            } else {
                file.sites.push_back(std::move(site));
            }
        for (const Function& function : functions) {
            if (recorded.contains(function.address))
                continue;
            const std::optional<GoAbi> go = go_at(function.address);
            LiveSite site;
            if (name_as(site, function, unrecorded_->entry(file.path, function), texts)) {
                site.entry = site.exits = true; // exits are asked for by themselves
                site.address = Vaddr(function.address);
                site.go = go;
                offsets.set(site, function.address);
                if (const uint64_t once = go ? go_code(image, function).entry : 0; once != function.address)
                    site.once = Vaddr(once);
                place(std::move(site), windows.entry(function.address));
            }
            LiveSite exit;
            if (!name_as(exit, function, unrecorded_->exit(file.path, function), texts))
                continue;
            exit.exit = true;
            exit.go = go;
            offsets.set(exit, function.address);
            const std::vector<Window> exits = windows.exits(function.address);
            if (exits.empty() || std::any_of(exits.begin(), exits.end(), has_obstacle)) {
                place(exits_as_one(image, function, exits, exit), hindered(exits));
                continue;
            }
            for (const Window& window : exits) {
                site = exit;
                site.result = go == GoAbi::unknown ? FASTSDT_RESULT_OTHER : FASTSDT_RESULT_REGISTER;
                site.tail_call = window.tail_call;
                site.address = Vaddr(window.address + window.at);
                place(site, window);
            }
        }
    }

    // False: the function has no such name, or there are too many.
    static bool name_as(LiveSite& site, const Function& function, std::string_view name, TextBudget& texts)
    {
        if (name.empty() || !texts.afford(name.size()))
            return false;
        site.name = name;
        for (const std::string_view other : function.aliases)
            if (texts.afford(other.size()))
                site.aliases.emplace_back(other == name ? function.name : other);
        return true;
    }

    static bool has_obstacle(const Window& window) { return window.obstacle != Obstacle::none; }

    // What stands for the exits of a function of which one cannot be moved: its obstacle.
    static Window hindered(const std::vector<Window>& exits)
    {
        const auto bad = std::find_if(exits.begin(), exits.end(), has_obstacle);
        Window none;
        none.obstacle = bad == exits.end() ? Obstacle::never_returns : bad->obstacle;
        return none;
    }

    // The function as a whole, with the places of its exits where they are known.
    static LiveSite exits_as_one(const Image& image, const Function& function, const std::vector<Window>& exits,
                                 LiveSite site)
    {
        site.address = Vaddr(function.address);
        site.all_exits.emplace();
        if (std::all_of(exits.begin(), exits.end(),
                        [](const Window& w) { return !has_obstacle(w) || concerns_only_moving(w.obstacle); }))
            for (const Window& window : exits)
                site.all_exits->push_back({Vaddr(window.address + window.at), window.tail_call});
        if (const auto code = site.go ? go_code(image, function) : GoCode(); code.exits) {
            site.all_exits->clear();
            for (const GoCode::Exit& exit : *code.exits)
                site.all_exits->push_back({Vaddr(exit.address), exit.tail_call});
        }
        return site;
    }

    // An instruction that is no function's first. False: none begins there, and Site::misplaced says what does.
    static bool find_instruction(const Image& image, const std::vector<Function>& functions, MovableCache& windows,
                                 uint64_t address, LiveSite& site)
    {
        site.entry = site.inside = true;
        site.address = Vaddr(address);
        site.name = image.place(address);
        const Function* const function = function_before(functions, address);
        std::optional<uint64_t> begin;
        if (function && address - function->address < function->size) {
            begin = function->address;
            site.name = function->name;
            site.offset = address - *begin;
        } else {
            begin = windows.begin_of(address);
        }
        if (!begin || !image.executable_at(address)) {
            site.misplaced = fmt::format(
                "no function is known to have {:#x}, so nobody can say whether an instruction begins there", address);
            return false;
        }
        Decoder decoder(image.arch());
        Instruction one;
        uint64_t at = *begin, last = at;
        for (; at < address; at += one.length) {
            last = at;
            if (!decoder.decode(image.bytes_at(at), at, one)) {
                site.misplaced = fmt::format("what stands at {:#x}, before it, is no instruction", at);
                return false;
            }
        }
        if (at == address)
            return true;
        const auto place = [&](uint64_t where) {
            return site.offset ? fmt::format("{}+{}", site.name, where - *begin) : fmt::format("{:#x}", where);
        };
        site.misplaced = fmt::format("{} is inside of an instruction: they begin at {} and {}", place(address),
                                     place(last), place(at));
        return false;
    }

    void look(const Image& image, const std::vector<const Mapping*>& mappings, const Cover& executable,
              const ProbePoint& place, LiveSite site, LiveFile& file)
    {
        const auto offset = image.file_offset(site.address);
        if (!offset)
            return; // a dangling note
        site.file_offset = *offset;
        const Mapping* instead = nullptr; // what is mapped in place of the file's text
        if (const auto number = executable.first(offset->value)) {
            site.runtime = mappings[*number]->runtime(*offset);
        } else if (const auto bias = load_bias(image, mappings)) {
            site.runtime = RuntimeAddress(site.address.value + *bias);
            instead = mapping_at(mappings_, site.runtime.value);
            const bool copied = instead && instead->inode == 0 && instead->executable;
            const bool closed = instead && !instead->readable && !instead->executable;
            if (!copied && !closed)
                return;
        } else {
            return;
        }

        constexpr size_t longest = landing_pad + longest_layout;
        const auto in_file = image.bytes_at(site.address.value);
        site.file_bytes.assign(in_file.begin(), in_file.begin() + std::min(in_file.size(), longest));
        site.expected = recognize(image, place, place.layout(), site.file_bytes);
        site.live_bytes = read_at(memory_, site.runtime.value, site.file_bytes.size());
        if (site.live_bytes.empty()) {
            site.found = recognize(image, place, place.layout(), site.live_bytes);
            site.change = Change::unreadable;
        } else {
            const int expected = site.expected.length ? site.expected.layout : place.layout();
            site.found = recognize(image, place, expected, site.live_bytes);
            // Compare no more than the site's own bytes: other sites may follow at once.
            const size_t length = site.expected.length ? site.expected.lead + site.expected.length : place.lead() + 1;
            for (auto* bytes : {&site.file_bytes, &site.live_bytes})
                bytes->resize(std::min(bytes->size(), length));
            if (site.found.rel_end)
                site.target = site.runtime + site.found.rel_end + site.found.rel;
            site.change = classify(site);
        }
        if (instead)
            site.change = instead->executable ? Change::remapped : Change::unreadable;
        if (site.semaphore) {
            const auto value = read_at(memory_, site.semaphore.value + (site.runtime.value - site.address.value), 2);
            if (value.size() == 2)
                site.semaphore_value =
                    static_cast<uint16_t>(std::to_integer<unsigned>(value[image.encoding().big_endian ? 1 : 0])
                                          | std::to_integer<unsigned>(value[image.encoding().big_endian ? 0 : 1]) << 8);
        }
        file.sites.push_back(std::move(site));
    }

    // Runtime address minus ELF vaddr, by any segment that is still mapped from the file.
    static std::optional<uint64_t> load_bias(const Image& image, const std::vector<const Mapping*>& mappings)
    {
        const uint64_t page = page_size();
        for (const Mapping* m : mappings)
            for (const Segment& segment : image.segments())
                if (segment.file_size && m->offset == segment.offset.down_to(page).value
                    && m->executable == segment.executable && (segment.writable || !m->writable))
                    return m->start - segment.address.down_to(page).value;
        return std::nullopt;
    }

    Change classify(const LiveSite& site) const
    {
        if (site.live_bytes == site.file_bytes)
            return Change::untouched;
        switch (site_bytes(site.found)) {
        case SiteBytes::call:
            return site.target && in_trampoline(site.target->value) ? Change::optimized : Change::foreign_call;
        case SiteBytes::breakpoint: return Change::breakpoint;
        case SiteBytes::stale_call: return Change::stale_call;
        case SiteBytes::updating: return Change::updating;
        case SiteBytes::jump: return Change::jump;
        case SiteBytes::damaged: return Change::damaged;
        case SiteBytes::pristine: // of another form of the same layout
        case SiteBytes::other: break;
        }
        return Change::changed;
    }

    pid_t thread_ = 0; // any that lives: all have the same memory
    Descriptor memory_;
    std::vector<Mapping> mappings_;
    const Unrecorded* unrecorded_ = nullptr;
    const LiveVisit visit_;
    const Access access_;
    Process process_;
};

} // namespace

std::string_view name(Change change)
{
    switch (change) {
    case Change::untouched: return "untouched";
    case Change::breakpoint: return "breakpoint";
    case Change::stale_call: return "stale-call";
    case Change::optimized: return "optimized";
    case Change::updating: return "updating";
    case Change::jump: return "jump";
    case Change::foreign_call: return "foreign-call";
    case Change::damaged: return "damaged";
    case Change::changed: return "changed";
    case Change::remapped: return "remapped";
    case Change::unreadable: break;
    }
    return "unreadable";
}

Process read_process(pid_t pid, bool entries, const Unrecorded* unrecorded, const std::vector<Mapping>& mappings,
                     const LiveVisit& visit, Access access)
{
    return ProcessReader(pid, unrecorded, mappings, visit, access).run(entries);
}

} // namespace fastsdt

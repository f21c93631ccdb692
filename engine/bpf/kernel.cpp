// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/kernel.h"

#include "ask.h"
#include "base/printable.h"
#include "base/unusable.h"
#include "bpf_program.h"
#include "elf/return_probes.h"
#include "judge/judge.h"
#include "kernel/kernel.h"
#include "proc/mapped_file.h"
#include "proc/threads.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace fastsdt::engine::bpf {
namespace {

// clear() takes a copy, which is subtracted later: programs change these in place, and no hit gets lost between a look and a deletion. Not where
// programs delete: what is made anew is not what was cleared.
bool is_subtracted(const Script& script, size_t map)
{
    const MapKind kind = script.maps[map].kind;
    bool deletes = false;
    each_site_statement(script, [&](const Statement& statement) {
        deletes = deletes || (statement.kind == Statement::Kind::remove && statement.map == map);
    });
    return !deletes && !is_assigned(kind) && kind != MapKind::min && kind != MapKind::max;
}

} // namespace

Kernel::Kernel(const Script& script, Options options)
    : script_(script), options_(options), multi_(multi_support()), statements_(script.statements),
      cleared_(script.maps.size())
{
    if (own_arch != Arch::x86_64 && own_arch != Arch::arm64)
        throw Unusable("the kernel's engine is for x86-64 and arm64");
    if (const std::string why = cannot_attach(); !why.empty())
        throw Unusable(why);
    if (!bpf_features().rings)
        throw Unusable(
            "it needs BPF's ring buffers, which came with Linux 5.8; --engine user works on older kernels too");
    // A filter of the kernel's costs other processes nothing.
    filters_ = options.only != 0 && !options.follows && multi_ != MultiSupport::everyone_only
        && !first_thread_ended(options.only);
    members_.emplace(filters_ || options.everyone ? Members::everyone
                         : options.follows        ? Members::trees
                                                  : Members::listed);
    maps_.emplace(script, options.ring_size);
    if (unwinds(script) && options.everyone)
        throw Unusable("ustack(dwarf) needs to know what a process has mapped: name one by -p, --exe and their like, "
                       "or a COMMAND");
    if (unwinds(script))
        unwinder_.emplace(options.follows);
    if (maps_->ring())
        ring_.emplace(maps_->ring());
    names_.shows = uses(script, Value::stack) || shows_names(script);
    names_.style = script.stack_style();
    for (const Clause& clause : script.clauses)
        programs_.push_back(clause.has_sites() ? ir::lower(script, clause) : ir::Program());
    each_site_statement(script, [this](const Statement& statement) {
        if (statement.is_event())
            statements_[statement.number] = &statement;
    });
}

Kernel::~Kernel()
{
    stop();
}

void Kernel::join(pid_t pid)
{
    const std::lock_guard lock(together_);
    if (joined_[pid]++ == 0 && !filters_ && !members_->list(pid)) {
        joined_.erase(pid);
        throw Unusable("the kernel has no room for one more process");
    }
}

// Another process may get its number.
void Kernel::leave(pid_t pid)
{
    const std::lock_guard lock(together_);
    if (--joined_[pid] != 0)
        return;
    joined_.erase(pid);
    if (!filters_)
        members_->unlist(pid);
    if (unwinder_)
        unwinder_->forget(pid);
}

void Kernel::look_at_code(ProcessView& view, CodeOfProcess& code)
{
    const std::lock_guard lock(together_);
    if (unwinder_)
        unwinder_->look(view, code);
}

void Kernel::start()
{
    const std::lock_guard lock(together_);
    members_->count(true);
}

void Kernel::stop()
{
    members_->count(false);
    links_.clear();
    events_.clear();
    attached_.clear();
}

fastsdt::Kernel& Kernel::running()
{
    if (!running_)
        running_ = parse_kernel("this").value_or(fastsdt::Kernel());
    return *running_;
}

// Whether a probe at a nop10 becomes a call. Where the kernel's name tells that it cannot be, nobody is asked: that takes a while.
bool Kernel::takes_nop10()
{
    if (!takes_nop10_) {
        const uint32_t wanted = bit(Feature::optimize_nop10);
        if ((running().features.has | running().features.unknown) & wanted)
            ask_running(running());
        takes_nop10_ = running().features.has & wanted;
    }
    return *takes_nop10_;
}

std::optional<Kernel::Place> Kernel::place_of(pid_t pid, const Site& site, uint64_t address,
                                              const std::vector<Mapping>& mappings)
{
    Place place;
    if (own_machine.arch == Arch::x86_64 && site.patch >= site.address && site.patch != 0 && !site.moves()
        && takes_nop10())
        place.offset = site.patch - site.address;
    address += place.offset;
    const Mapping* const text = mapping_at(mappings, address);
    if (!text || text->inode != site.inode || text->device != site.device)
        return std::nullopt;
    place.target.path = path_of_mapped_file(pid, *text, site.file);
    place.target.file_offset = address - text->start + text->offset;
    constexpr size_t longest_instruction = 16;
    const Arch arch = site.found.state == State::other_architecture ? Arch::i386 : own_arch;
    const auto bytes = read_mapped_file(pid, *text, address, longest_instruction);
    if (const Judgement there = judge(running(), arch, bytes, address);
        breaks_program(there.verdict) || there.verdict == Verdict::optimize_unsafe)
        place.breaks = there.why;
    if (const Mapping* const data = site.semaphore ? mapping_at(mappings, site.semaphore, 2) : nullptr;
        data && data->inode == site.inode)
        place.target.semaphore_offset = site.semaphore - data->start + data->offset;
    if (place.target.path.empty())
        return std::nullopt;
    return place;
}

// What runs in the process may look at return addresses: any of its files.
std::string Kernel::why_no_return_probe(pid_t pid, const std::vector<Mapping>& mappings)
{
    if (options_.everyone)
        return "a uretprobe could end a process that nobody has looked at";
    for (const Mapping& mapping : mappings) {
        if (!mapping.executable || !mapping.inode)
            continue;
        const auto [found, fresh] = why_no_return_probe_.try_emplace({mapping.device, mapping.inode});
        if (fresh)
            found->second = fastsdt::why_no_return_probe(path_of_mapped_file(pid, mapping, mapping.name), mapping.name);
        if (!found->second.empty())
            return "a uretprobe could end the process: " + found->second;
    }
    return {};
}

const Kernel::Made& Kernel::program_for(const Context& context, const Site& site, std::optional<uint64_t> offset)
{
    const auto [found, fresh] = made_.try_emplace(program_key(context, site, offset));
    if (!fresh)
        return found->second;
    const bool multi = multi_ != MultiSupport::none;
    try {
        found->second.program = make_program(context, site, offset, multi, multi);
    } catch (const Refusal& why) {
        found->second.why = why.state;
    }
    return found->second;
}

// @return  by target: 0, or the errno
std::vector<int> Kernel::link(int program, const std::vector<fastsdt::Target>& targets,
                              const std::vector<uint64_t>& cookies)
{
    const pid_t only = filters_ ? options_.only : 0;
    if (multi_ != MultiSupport::none)
        return link_each_uprobe(program, targets, only, cookies, links_);
    return link_each_event(program, targets, only, cookies, events_, links_);
}

Context Kernel::context_for(pid_t pid)
{
    Context context{.script = script_,
                    .programs = programs_,
                    .maps = *maps_,
                    .members = *members_,
                    .unwinder = unwinder_ ? &*unwinder_ : nullptr,
                    .start_ns = options_.start_ns,
                    .child = options_.child};
    // The numbers of a process are those that it has itself.
    context.numbers = inner_pid_namespace(std::to_string(pid));
    context.symbol = [pid](const Site& site, const std::string& name) -> std::optional<uint64_t> {
        const auto found = symbol_in(fmt::format("/proc/{}/root{}", pid, site.file), name);
        return found ? std::optional(found->address + site.load_bias) : std::nullopt;
    };
    return context;
}

// What is to be attached where, and the sites of which nothing is.
Kernel::Plan Kernel::plan(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings)
{
    Plan plan;
    std::vector<SiteState>& states = plan.states;
    states.resize(sites.size());
    std::set<Attached> planned;
    const Context context = context_for(pid);
    const auto want = [&](size_t i, const Site& site, uint64_t address, bool on_return) {
        const auto place = place_of(pid, site, address, mappings);
        if (!place) {
            states[i] = {State::gone};
            return;
        }
        if (!place->breaks.empty()) {
            states[i] = {State::not_in_kernel, 0, "a uprobe there would break the program: " + place->breaks};
            return;
        }
        const Made& made = program_for(
            context, site, on_return ? std::nullopt : std::optional(address + place->offset - site.address));
        if (made.why.state != State::ready) {
            states[i] = made.why;
            return;
        }
        const Attached what{site.device, site.inode, place->target.file_offset, on_return, &made};
        if (attached_.contains(what) || !planned.insert(what).second)
            return;
        Group& group = plan.groups[{place->target.path, on_return, &made}];
        group.places.push_back(what);
        group.targets.push_back(place->target);
        group.targets.back().on_return = on_return;
        group.cookies.push_back(cookie_of(site));
        group.sites.push_back(i);
    };
    for (size_t i = 0; i < sites.size(); ++i) {
        Site site = sites[i];
        states[i] = {State::by_kernel};
        // x86-64 runs code of 32 bits too.
        if (site.found.state == State::other_architecture
            && (own_arch != Arch::x86_64 || site.found.detail != name(Arch::i386))) {
            states[i] = site.found;
            continue;
        }
        if (site.kind != Probe::Kind::exit || !(site.all_exits || site.found.state == State::no_exit_sites)) {
            want(i, site, site.once ? site.once : site.address, false);
        } else if (site.all_exits && !site.all_exits->empty()) {
            for (const KnownExit& exit : *site.all_exits) {
                site.result = exit.tail_call    ? -1
                    : site.go == GoAbi::unknown ? FASTSDT_RESULT_OTHER
                                                : FASTSDT_RESULT_REGISTER;
                site.address = exit.address;
                want(i, site, site.address, false);
            }
        } else if (!options_.return_probes) {
            states[i] = site.found;
        } else if (const std::string why = why_no_return_probe(pid, mappings); !why.empty()) {
            states[i] = {State::not_in_kernel, 0, why};
        } else {
            site.result = FASTSDT_RESULT_REGISTER;
            want(i, site, site.address, true);
        }
    }
    return plan;
}

std::vector<SiteState> Kernel::can(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings)
{
    const std::lock_guard lock(together_);
    return plan(pid, sites, mappings).states;
}

std::vector<SiteState> Kernel::attach(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings)
{
    const std::lock_guard lock(together_);
    if (names_.shows && !options_.everyone && joined_.contains(pid))
        names_.of(pid, mappings);
    auto [groups, states] = plan(pid, sites, mappings);
    // Of probes at one instruction the kernel runs the one that was attached last first (consumer_add() in kernel/events/uprobes.c). So what is to
    // happen last is attached first: exits before entries, as of a function that is nothing but a return, and later sites before earlier ones.
    std::vector<decltype(groups)::const_iterator> order;
    for (auto each = groups.cbegin(); each != groups.cend(); ++each)
        order.push_back(each);
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        const auto rank = [&](const Group& group) {
            return std::pair(sites[group.sites.front()].kind != Probe::Kind::exit, sites.size() - group.sites.front());
        };
        return rank(a->second) < rank(b->second);
    });
    for (const auto& each : order) {
        const auto& [path, on_return, made] = each->first;
        const Group& group = each->second;
        const std::vector<int> errors = link(made->program.get(), group.targets, group.cookies);
        for (size_t k = 0; k < errors.size(); ++k) {
            if (errors[k] == 0) {
                attached_.insert(group.places[k]);
                continue;
            }
            states[group.sites[k]] = {State::not_in_kernel, 0,
                                      fmt::format("it refuses a uprobe there ({})", errno_name(errors[k]))};
        }
    }
    return states;
}

const std::string& Kernel::Names::of_stack(const KernelMaps& maps, uint64_t number)
{
    const auto [found, fresh] = stacks.try_emplace(number);
    if (fresh)
        found->second = of(pid_t(stack_process(number))).calls(maps.stack(number));
    return found->second;
}

Symbols& Kernel::Names::of(pid_t pid, const std::vector<Mapping>& mappings)
{
    auto& found = processes[pid];
    const bool fresh = !found;
    if (fresh)
        found = std::make_unique<OwnSymbols>(pid, style);
    if (fresh || !mappings.empty())
        found->look(mappings);
    return found->symbols;
}

std::set<std::string> Kernel::refused_names() const
{
    std::set<std::string> all;
    for (const auto& [pid, process] : names_.processes)
        all.merge(std::set(process->symbols.refused()));
    return all;
}

// @param whose  of an event; 0: it is in a map
std::string Kernel::name_of(const ValueType& type, uint64_t number, pid_t whose)
{
    if (type.kind == ValueKind::stack)
        return names_.of_stack(*maps_, number);
    if (const auto process = names_.processes.find(whose); process != names_.processes.end())
        return process->second->symbols.function(number);
    std::vector<Symbols*> all;
    for (const auto& [pid, process] : names_.processes)
        all.push_back(&process->symbols);
    return function_of_any(all, number);
}

Maps Kernel::read()
{
    for (const auto& [pid, process] : names_.processes)
        process->look();
    Maps now = maps_->read();
    if (clears(script_))
        last_ = now;
    for (size_t map = 0; map < cleared_.size(); ++map)
        if (cleared_[map])
            subtract(script_, map, now, *cleared_[map]);
    if (!names_.shows)
        return now;
    return named(script_, std::move(now),
                 [this](const ValueType& type, uint64_t number) { return name_of(type, number, 0); });
}

void Kernel::remove(size_t map, const std::vector<Datum>& keys)
{
    maps_->remove(map, keys);
    if (cleared_[map])
        std::erase_if(cleared_[map]->maps[map], [&](const Entry& entry) { return entry.keys == keys; });
}

void Kernel::clear(size_t map, bool as_read)
{
    if (is_subtracted(script_, map))
        cleared_[map] = as_read ? last_ : maps_->read();
    else
        maps_->clear(map);
}

void Kernel::read_events(std::vector<Event>& to)
{
    if (!ring_)
        return;
    // The tool puts events of all engines in order by the processor's counter.
    const Moment now = read_clocks();
    const double rate = now.ns > began_.ns ? double(now.counter - began_.counter) / double(now.ns - began_.ns) : 0;
    ring_->take([&](std::span<const std::byte> bytes) {
        RecordHeader header;
        if (bytes.size() < sizeof header)
            return;
        std::memcpy(&header, bytes.data(), sizeof header);
        const Statement* const statement =
            header.statement < statements_.size() ? statements_[header.statement] : nullptr;
        if (!statement)
            return;
        Event& event = to.emplace_back();
        event.clock = now.counter - uint64_t(rate * double(std::max(now.ns, header.nanoseconds) - header.nanoseconds));
        event.statement = statement;
        event.process = pid_t(header.thread >> 32);
        event.ring = uint32_t(header.thread);
        event.values = values_of(*statement, bytes.subspan(sizeof header));
        for (size_t i = 0; i < event.values.size(); ++i)
            if (const Expression& value = statement->values[i]; value.type.has_name())
                event.values[i] = {0, name_of(value.type, uint64_t(event.values[i].number), event.process)};
    });
}

} // namespace fastsdt::engine::bpf

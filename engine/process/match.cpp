// SPDX-License-Identifier: BSD-2-Clause
#include "process/match.h"
#include "arch/args.h"
#include "base/demangle.h"
#include "base/search_path.h"
#include "code/machine.h"
#include "elf/elf_file.h"
#include "elf/exits.h"
#include "elf/image.h"
#include "elf/lines.h"
#include "proc/threads.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <fnmatch.h>
#include <iterator>
#include <optional>
#include <sys/auxv.h>

namespace fastsdt::engine {
namespace {

bool fits(const std::string& glob, const std::string& name)
{
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// Whether the script's path and the process's path lead to the same file.
bool same_file(const std::string& given, const std::string& mapped, const ProcessView& view)
{
    namespace fs = std::filesystem;
    if (given == mapped)
        return true;
    if (only_a_name(given))
        return is_library(given, fs::path(mapped).filename());
    std::error_code error;
    const std::string file = resolve(given);
    if (fs::weakly_canonical(file, error) == mapped && !error)
        return true;
    for (const std::string& there : {view.path(mapped), mapped})
        if (fs::equivalent(file, there, error) && !error)
            return true;
    return false;
}

// Whether a probe means a file that a process has mapped.
bool means_file(const Probe& probe, const std::string& mapped, const ProcessView& view)
{
    if (!is_pattern(probe.file))
        return same_file(probe.file, mapped, view);
    if (fits(probe.file, mapped))
        return true;
    // Its last part may be a link beside the file, as libraries have them for their versions.
    const std::string link = probe.file.substr(probe.file.rfind('/') + 1);
    const std::string beside = mapped.substr(0, mapped.rfind('/') + 1) + link;
    return probe.file.find('/') != probe.file.npos && !link.empty() && !is_pattern(link) && fits(probe.file, beside)
        && same_file(beside, mapped, view);
}

// What a stripped file of a process lacks, empty if it has its names.
std::string missing_names(const std::string& mapped, const ProcessView& view)
{
    std::string text;
    Image::each(
        view.path(mapped),
        [&](const Image& image) {
            image.find_names();
            if (image.has_all_names())
                return;
            const std::string id = image.build_id();
            text = fmt::format("{} is stripped, and no debug file of it was found{} (--debug-dir, --debuginfod)",
                               mapped, id.empty() ? "" : " for its build id " + id);
        },
        [](const Error&) {}); // read_process() says it
    return text;
}

// "0x401136" instead of a function's name: where it begins, as its file numbers it.
std::optional<uint64_t> address_in_file(const Probe& probe)
{
    uint64_t address = 0;
    const char* const end = probe.name.data() + probe.name.size();
    if (probe.kind != Probe::Kind::entry || !probe.name.starts_with("0x")
        || std::from_chars(probe.name.data() + 2, end, address, 16).ptr != end)
        return std::nullopt;
    return address;
}

// Whether a script names a function so.
bool names_function(const Probe& probe, const std::string& name)
{
    if (!probe.source.empty())
        return false;
    if (probe.source_name)
        return has_source_name(name, probe.name);
    const auto is_of_source = [&] {
        return probe.name.find_first_of(":(") != probe.name.npos;
    }; // as bpftrace 0.17 has it, in quotes
    return probe.name == name || fits(probe.name, name) || (is_of_source() && has_source_name(name, probe.name));
}

// The first of a function's names by which a script means it; empty: it does not.
std::string_view name_by(const Probe& probe, const Function& function)
{
    if (names_function(probe, std::string(function.name)))
        return function.name;
    const auto found = std::find_if(function.aliases.begin(), function.aliases.end(),
                                    [&](std::string_view alias) { return names_function(probe, std::string(alias)); });
    return found == function.aliases.end() ? std::string_view() : *found;
}

bool is_function(const Probe& probe)
{
    return probe.kind == Probe::Kind::entry || probe.kind == Probe::Kind::exit;
}

bool same_kind(const Probe& probe, const LiveSite& site)
{
    switch (probe.kind) {
    case Probe::Kind::usdt: return !site.entry && !site.exit && fits(probe.provider, site.provider);
    case Probe::Kind::entry: return site.entry;
    case Probe::Kind::exit: return site.exit || (site.entry && !site.exits);
    default: return false;
    }
}

// Whether a return may go nowhere but behind the call that put its address on a second stack.
bool may_have_shadow_stack([[maybe_unused]] const ProcessView& view)
{
#if defined(__aarch64__)
    constexpr unsigned long gcs = 1UL << 32; // HWCAP_GCS, arch/arm64/include/uapi/asm/hwcap.h
    return (getauxval(AT_HWCAP) & gcs) != 0;
#else
    return status_field(view.pid(), view.pid(), "x86_Thread_features:").find("shstk") != std::string::npos;
#endif
}

// Sets the instructions that move.
void find_window(const LiveSite& live, const Matcher::Traits& process, Site& site)
{
    const fastsdt::Window& window = *live.window;
    if (!process.stops_threads) {
        site.found = {site.kind == Probe::Kind::usdt ? State::no_nop : State::not_by_itself};
    } else if (window.obstacle != Obstacle::none) {
        site.found = {State::cannot_move, 0, std::string(text(window.obstacle))};
    } else if (const auto handled = window.faults & process.handled_faults) {
        site.found = {State::handles_faults, uint64_t(handled)};
    } else if (window.calls && process.has_shadow_stack) {
        site.found = {State::cannot_move, 0, "makes a call there, and the process has a shadow stack"};
    } else {
        site.patch = live.runtime.value - live.address.value + window.address;
        site.length = window.length;
        const auto first = step(own_machine.arch, live.window_bytes, window.address);
        site.moved = {live.window_bytes, window.at, window.leaves || window.calls,
                      !first || first->length < own_machine.moved_jump, window.faults};
    }
}

// Sets the site's patchable instruction, by the layout that the file has there.
void find_patch(const LiveFile& file, const LiveSite& live, const Matcher::Traits& process, Site& site)
{
    const fastsdt_recognized& layout = live.expected;
    if (file.arch != own_machine.arch) {
        site.found = {State::other_architecture, 0, std::string(name(file.arch))};
        return;
    }
    if (!live.window && (layout.length == 0 || layout.patch_length != own_machine.length))
        return;
    if (live.change == Change::remapped) {
        site.found = {State::huge_pages};
        return;
    }
    if (live.window) {
        find_window(live, process, site);
        return;
    }
    site.patch = live.runtime.value + layout.lead + layout.patch_offset;
    site.length = own_machine.length;
}

} // namespace

uint8_t handled_faults(const ProcessView& view)
{
    const uint64_t caught = view.handled_signals();
    const auto catches = [&](int signal) { return (caught >> (signal - 1) & 1) != 0; };
    return uint8_t(fault_division | (catches(SIGSEGV) || catches(SIGBUS) ? fault_memory : 0)
                   | (catches(SIGFPE) ? fault_floating : 0) | (catches(SIGILL) ? fault_illegal : 0));
}

bool only_a_name(const std::string& file)
{
    std::error_code error;
    return file.find('/') == file.npos && !std::filesystem::exists(resolve(file), error);
}

bool is_library(const std::string& file, const std::string& name)
{
    return name == file || name.starts_with(file + ".so")
        || (file.find(".so.") != file.npos && name.starts_with(file + '.')); // a link for its version
}

std::string resolve(const std::string& file)
{
    std::error_code error;
    if (file.find('/') != file.npos || std::filesystem::exists(file, error))
        return file;
    const std::string program = in_search_path(file);
    return program.empty() ? file : program;
}

size_t ProbeNames::number_of(const std::string& name)
{
    const auto [found, added] = numbers_.try_emplace(name, names_.size());
    if (added)
        names_.push_back(name);
    return found->second;
}

size_t ProbeNames::number_of(const std::string& name, const Site& site, bool apart)
{
    const std::string arguments = fmt::format("\n{}\n{}", site.arguments, fmt::join(site.argument_names, "\n"));
    const auto [found, added] = numbers_.try_emplace(apart ? name + arguments : name, names_.size());
    if (added) {
        names_.push_back(name);
        sites_.emplace(found->second, site);
    }
    return found->second;
}

std::vector<const Probe*> probes_with_sites(const Script& script)
{
    std::vector<const Probe*> found;
    for (const Clause& clause : script.clauses)
        for (const Probe& probe : clause.probes)
            if (probe.has_sites()
                && (!clause.arguments || std::none_of(found.begin(), found.end(), [&](const Probe* other) {
                       return other->text == probe.text;
                   })))
                found.push_back(&probe);
    return found;
}

bool means_any(const Script& script, const ProcessView& view, const std::vector<Mapping>& mappings)
{
    if (has_samples(script)) // of whatever it executes
        return true;
    std::set<std::string> files;
    for (const Mapping& m : mappings)
        if (m.inode != 0)
            files.insert(m.name);
    const std::vector<const Probe*> probes = probes_with_sites(script);
    return std::any_of(probes.begin(), probes.end(), [&](const Probe* probe) {
        return std::any_of(files.begin(), files.end(),
                           [&](const std::string& file) { return means_file(*probe, file, view); });
    });
}

Matcher::Matcher(const Script& script, ProcessView& view, ProbeNames& names, bool moves, bool moves_faulting,
                 bool stops_threads)
    : script_(script), view_(view), names_(names), wants_functions_(uses(script, Value::function)),
      apart_(std::any_of(script.clauses.begin(), script.clauses.end(),
                         [](const Clause& clause) { return clause.arguments.has_value(); })),
      moves_(moves), moves_faulting_(moves_faulting), stops_threads_(stops_threads)
{}

bool Matcher::means(const Probe& probe, const std::string& path)
{
    const auto [found, added] = means_.try_emplace({probe.file, path}, false);
    if (added)
        found->second = means_file(probe, path, view_);
    return found->second;
}

bool Matcher::means_libraries() const
{
    const std::string program = view_.program();
    const std::vector<const Probe*> probes = probes_with_sites(script_);
    return std::any_of(probes.begin(), probes.end(), [&](const Probe* probe) {
        return is_pattern(probe->file) || !same_file(probe->file, program, view_);
    });
}

size_t Matcher::number_of(const Probe& probe, const LiveFile& file, const Site& site)
{
    const std::string& path = is_pattern(probe.file) ? file.path : probe.file;
    const std::string text = probe.kind == Probe::Kind::usdt
        ? fmt::format("usdt:{}:{}:{}", path, site.provider, site.name)
        : !probe.source.empty() ? fmt::format("uprobe:{}@{}", path, probe.name)
                                : fmt::format("{}:{}:{}{}", probe.kind == Probe::Kind::entry ? "uprobe" : "uretprobe",
                                              path, site.name, probe.offset ? fmt::format("+{}", probe.offset) : "");
    return names_.number_of(text, site, apart_);
}

// Of a probe that names no function: "0x401136", or a line's.
const std::set<uint64_t>& Matcher::addresses(const Probe& probe, const std::string& path)
{
    static const std::set<uint64_t> none;
    const auto address = address_in_file(probe);
    if (!address && probe.source.empty()) // most: this is asked for each of a file's functions
        return none;
    const auto [found, fresh] = addresses_.try_emplace({&probe, path});
    if (!fresh)
        return found->second;
    if (address) {
        found->second.insert(*address);
        return found->second;
    }
    Image::each(
        view_.path(path),
        [&](const Image& image) {
            Lines lines(image);
            const Lines::Places places = lines.places(probe.source, probe.line, probe.column);
            found->second.insert(places.addresses.begin(), places.addresses.end());
            if (!found->second.empty())
                return;
            misplaced_[&probe] = !places.has_file
                ? fmt::format("{} has no debug information that tells lines of {}", path, probe.source)
                : fmt::format("{} has no code of its own there{}", probe.name,
                              places.next && probe.column == 0 ? fmt::format("; line {} has", places.next) : "");
        },
        [](const Error&) {}); // read_process() says it
    return found->second;
}

bool Matcher::same_name(const Probe& probe, const LiveFile& file, const LiveSite& site)
{
    if (probe.kind == Probe::Kind::usdt)
        return fits(probe.name, site.name);
    if (site.inside) {
        const auto wanted = instructions_.find({&probe, file.path});
        return wanted != instructions_.end() && wanted->second.contains(site.address.value);
    }
    if (const auto& given = addresses(probe, file.path); !given.empty())
        return site.entry && given.contains(site.address.value);
    return probe.offset == 0
        && (names_function(probe, site.name)
            || std::any_of(site.aliases.begin(), site.aliases.end(),
                           [&](const std::string& alias) { return names_function(probe, alias); }));
}

void Matcher::match(const LiveFile& file, std::map<Key, Site>& sites, size_t clause, const Probe& probe)
{
    for (const LiveSite& live : file.sites) {
        if (!same_kind(probe, live) || !same_name(probe, file, live)) {
            if (is_function(probe) && !live.entry && !live.exit && probe.name == live.name)
                no_functions_.try_emplace(&probe, live.provider + ':' + live.name);
            if (!matched_.contains(&probe) && (probe.kind == Probe::Kind::usdt) == !(live.entry || live.exit))
                others_[&probe].insert(live.provider.empty() ? live.name : live.provider + ':' + live.name);
            continue;
        }
        if (!live.misplaced.empty()) {
            misplaced_[&probe] = live.misplaced;
            continue;
        }
        matched_.insert(&probe);
        if (const auto count = script_.clauses[clause].arguments;
            count && *count != std::min(parse_arguments(live.arguments, file.arch).size(), most_arguments))
            continue;
        auto [found, added] = sites.try_emplace({live.runtime.value, probe.kind, file.device, file.inode});
        Site& site = found->second;
        // Go's methods have a star in their names: main.(*server).handle
        site.by_pattern = (added || site.by_pattern)
            && ((is_pattern(probe.name) && probe.name != live.name && probe.name != demangled(live.name))
                || is_pattern(probe.provider));
        if (added) {
            site.kind = probe.kind;
            site.file = file.path;
            site.device = file.device;
            site.inode = file.inode;
            site.provider = live.provider;
            site.name = live.name;
            site.inside = live.inside;
            if (probe.kind != Probe::Kind::usdt && wants_functions_)
                site.function = names_.number_of(shown_name(live.name));
            site.arguments = live.arguments;
            site.argument_names = live.argument_names;
            site.go = live.go;
            site.goroutine = live.goroutine;
            site.go_thread = live.go_thread;
            site.thread_by = live.thread_by;
            site.probe = number_of(probe, file, site);
            site.address = live.runtime.value;
            site.load_bias = live.runtime.value - live.address.value;
            site.semaphore = live.semaphore ? live.semaphore.value + site.load_bias : 0;
            site.stack_bytes = live.stack_bytes;
            if (live.exit && !live.tail_call)
                site.result = live.result;
            site.once = live.once ? live.once.value + site.load_bias : 0;
            if (live.all_exits) {
                site.all_exits.emplace();
                for (const LiveExit& exit : *live.all_exits)
                    site.all_exits->push_back({exit.address.value + site.load_bias, exit.tail_call});
            }
            if (probe.kind == Probe::Kind::exit && live.entry)
                site.found = {State::no_exit_sites};
            else
                find_patch(file, live, traits_, site);
        }
        site.clauses.push_back(clause);
    }
}

// Sites whose instructions overlap move together, as one window. A nop is one site's, and stays where others would move it: the kernel can have
// those, and a probe of the kernel before the nop is in nobody's way.
void Matcher::share_patches(std::map<Key, Site>& sites)
{
    constexpr uint64_t most_together = 48; // bytes
    std::vector<Site*> by_patch;
    for (auto& [key, site] : sites)
        if (site.patch)
            by_patch.push_back(&site);
    std::stable_sort(by_patch.begin(), by_patch.end(),
                     [](const Site* a, const Site* b) { return a->patch < b->patch; });
    const auto refuse = [](Site& site, State state) {
        site.patch = 0;
        site.moved = {};
        site.found = {state};
    };
    for (size_t i = 0; i < by_patch.size(); ++i) // a site has few instructions, so this looks at few
        for (size_t k = i + 1; by_patch[i]->moves() && k < by_patch.size()
             && by_patch[k]->patch < by_patch[i]->patch + by_patch[i]->length;
             ++k)
            if (!by_patch[k]->moves())
                refuse(*by_patch[i], State::overlaps);
    std::erase_if(by_patch, [](const Site* site) { return site->patch == 0; });
    for (size_t first = 0, next = 0; first < by_patch.size(); first = next) {
        Site& start = *by_patch[first];
        MovedCode together = start.moved;
        for (next = first + 1; next < by_patch.size(); ++next) {
            Site& site = *by_patch[next];
            const uint64_t end = start.patch + start.length, offset = site.patch - start.patch;
            if (site.patch >= end)
                break;
            if (!site.moves() || !start.moves()) {
                refuse(site, !site.moves() && !start.moves() ? State::shared_nop : State::overlaps);
                continue;
            }
            if (offset + site.length > most_together) {
                refuse(site, State::overlaps);
                continue;
            }
            together.faults |= site.moved.faults;
            if (site.patch + site.length > end) {
                together.bytes.insert(together.bytes.end(),
                                      site.moved.bytes.end() - ptrdiff_t(site.patch + site.length - end),
                                      site.moved.bytes.end());
                together.leaves = site.moved.leaves;
                start.length = together.bytes.size();
            }
        }
        for (size_t i = first; i < next; ++i) {
            Site& site = *by_patch[i];
            if (!site.moves())
                continue;
            site.moved.at += site.patch - start.patch;
            site.patch = start.patch;
            site.length = together.bytes.size();
            site.moved.bytes = together.bytes;
            site.moved.faults = together.faults;
            site.moved.leaves = together.leaves;
            site.moved.guarded = together.guarded;
        }
    }
}

Unrecorded Matcher::unrecorded()
{
    const auto any = [this](const std::string& path, const auto& fit) {
        return std::any_of(script_.clauses.begin(), script_.clauses.end(), [&](const Clause& clause) {
            return std::any_of(clause.probes.begin(), clause.probes.end(), [&](const Probe& probe) {
                return probe.has_sites() && means(probe, path) && fit(probe);
            });
        });
    };
    // What the probes of one kind, or of both, that mean a file say of something.
    const auto each = [this](const std::string& path, std::optional<Probe::Kind> kind, const auto& visit) {
        for (const Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (is_function(probe) && (!kind || probe.kind == *kind) && means(probe, path))
                    visit(probe);
    };
    const auto function = [this, each](Probe::Kind kind) {
        return [this, each, kind](const std::string& path, const Function& function) {
            std::string_view name;
            each(path, kind, [&](const Probe& probe) {
                if (!name.empty() || probe.offset != 0)
                    return;
                if (const auto& given = addresses(probe, path); !given.empty())
                    name = given.contains(function.address) ? function.name : std::string_view();
                else
                    name = name_by(probe, function);
            });
            return name;
        };
    };
    const auto any_of = [](const std::vector<Function>& functions, const Probe& probe) {
        return std::any_of(functions.begin(), functions.end(),
                           [&](const Function& one) { return !name_by(probe, one).empty(); });
    };
    Unrecorded wanted;
    wanted.file = [any](const std::string& path) { return any(path, [](const Probe&) { return true; }); };
    wanted.lacks = [each, any_of](const std::string& path, const std::vector<Function>& functions) {
        bool lacks = false;
        each(path, {},
             [&](const Probe& probe) { lacks = lacks || is_pattern(probe.name) || !any_of(functions, probe); });
        return lacks;
    };
    wanted.entry = function(Probe::Kind::entry);
    wanted.exit = function(Probe::Kind::exit);
    wanted.instructions = [this, each, any_of](const std::string& path, const std::vector<Function>& functions) {
        std::set<uint64_t> all;
        each(path, {}, [&](const Probe& probe) {
            const bool is_new_file = !instructions_.contains({&probe, path});
            std::set<uint64_t>& of_probe = instructions_[{&probe, path}];
            const std::set<uint64_t>& given = addresses(probe, path);
            for (const uint64_t address : given)
                if (const Function* const before = function_before(functions, address);
                    !before || before->address != address)
                    of_probe.insert(address);
            if (probe.offset != 0)
                for (const Function& one : functions) {
                    if (name_by(probe, one).empty())
                        continue;
                    if (one.size == 0 || probe.offset < one.size)
                        of_probe.insert(one.address + probe.offset);
                    else
                        misplaced_[&probe] =
                            fmt::format("{} has only {} bytes", shown_name(std::string(one.name)), one.size);
                }
            all.merge(std::set(of_probe));
            if (is_new_file && given.empty() && probe.source.empty() && !any_of(functions, probe))
                find_near(probe, functions);
        });
        return all;
    };
    wanted.probe = [any](const std::string& path, const std::string& provider, const std::string& name) {
        return any(path, [&](const Probe& p) {
            return p.kind == Probe::Kind::usdt && fits(p.provider, provider) && fits(p.name, name);
        });
    };
    return wanted;
}

// Which function was meant by a name that none has: of the sources' names, if it is such a one.
void Matcher::find_near(const Probe& probe, const std::vector<Function>& functions)
{
    NearestPattern& nearest = near_.try_emplace(&probe, probe.name).first->second;
    for (const Function& function : functions) {
        nearest.look(function.name);
        for (const std::string_view alias : function.aliases)
            nearest.look(alias);
        if (const std::string name = source_name(std::string(function.name)); !name.empty())
            nearest.look(name);
    }
}

std::vector<Site> Matcher::find_new()
{
    const bool functions = std::any_of(script_.clauses.begin(), script_.clauses.end(), [](const Clause& clause) {
        return std::any_of(clause.probes.begin(), clause.probes.end(), [](const Probe& probe) {
            return probe.kind == Probe::Kind::entry || probe.kind == Probe::Kind::exit;
        });
    });
    traits_ = {moves_faulting_ ? uint8_t(0) : handled_faults(view_), may_have_shadow_stack(view_), stops_threads_};
    const Unrecorded wanted = unrecorded();
    const Process process = read_process(view_.pid(), functions,
                                         moves_ && (stops_threads_ || functions) ? &wanted : nullptr, view_.mappings());
    troubles_.clear();
    for (const Error& trouble : process.troubles)
        troubles_.push_back(trouble.text());
    std::map<Key, Site> sites;
    for (const LiveFile& file : process.files)
        for (size_t clause = 0; clause < script_.clauses.size(); ++clause)
            for (const Probe& probe : script_.clauses[clause].probes)
                if (probe.has_sites() && means(probe, file.path))
                    match(file, sites, clause, probe);
    std::set<Key> seen;
    share_patches(sites);
    std::vector<Site> fresh;
    for (auto& [key, site] : sites) {
        seen.insert(key);
        if (!known_.contains(key))
            fresh.push_back(std::move(site));
    }
    known_ = std::move(seen);
    if (moves_)
        find_stripped();
    return fresh;
}

// Looks once at each file of a function that was not found: what is said of it is said when the process has perhaps ended.
void Matcher::find_stripped()
{
    std::vector<const Probe*> missing = unmatched();
    std::erase_if(missing, [](const Probe* p) { return p->kind == Probe::Kind::usdt || is_pattern(p->file); });
    if (missing.empty())
        return;
    for (const Mapping& mapping : view_.mappings()) {
        const auto is_meant = [&](const Probe* probe) { return means(*probe, mapping.name); };
        if (mapping.executable && mapping.inode != 0 && !stripped_.contains(mapping.name)
            && std::any_of(missing.begin(), missing.end(), is_meant))
            stripped_[mapping.name] = missing_names(mapping.name, view_);
    }
}

std::vector<const Probe*> unmatched_probes(const Script& script, const std::set<const Probe*>& matched)
{
    if (script.missing == Script::Missing::ignore)
        return {};
    std::vector<const Probe*> found = probes_with_sites(script);
    std::erase_if(found, [&](const Probe* probe) { return matched.contains(probe); });
    return found;
}

std::vector<const Probe*> Matcher::unmatched() const
{
    return unmatched_probes(script_, matched_);
}

std::string Matcher::instead(const Probe& probe) const
{
    if (const auto misplaced = misplaced_.find(&probe); misplaced != misplaced_.end())
        return misplaced->second;
    if (const auto usdt = no_functions_.find(&probe); usdt != no_functions_.end())
        return fmt::format("{} is a probe and no function: usdt:{}:{}", probe.name, probe.file, usdt->second);
    const auto similar = near_.find(&probe);
    const std::string near = similar != near_.end() ? did_you_mean(similar->second) : "";
    const bool functions = probe.kind != Probe::Kind::usdt;
    const auto found = others_.find(&probe);
    if (found == others_.end()) {
        std::error_code error;
        if (!is_pattern(probe.file) && !only_a_name(probe.file) && !std::filesystem::exists(resolve(probe.file), error))
            return fmt::format("there is no file {}{}", probe.file, did_you_mean(near_elf_file(probe.file)));
        if (!functions && probe.provider == "*" && only_a_name(probe.file) && !is_pattern(probe.file))
            return fmt::format("it is read as usdt:FILE:NAME, and no file {0} is mapped; with a provider it is "
                               "usdt:FILE:PROVIDER:NAME, as in usdt:*:{0}:{1}",
                               probe.file, probe.name);
        const bool is_path = !is_pattern(probe.file);
        const bool is_mapped = std::any_of(means_.begin(), means_.end(), [&](const auto& pair) {
            return pair.second && pair.first.first == probe.file;
        });
        if (is_path && !is_mapped)
            return fmt::format("the process has not mapped {}", probe.file);
        const auto stripped = std::find_if(stripped_.begin(), stripped_.end(), [&](const auto& file) {
            const auto meant = means_.find({probe.file, file.first});
            return !file.second.empty() && functions && meant != means_.end() && meant->second;
        });
        if (near.empty() && stripped != stripped_.end())
            return stripped->second;
        const bool here = is_path && std::filesystem::exists(resolve(probe.file), error);
        return fmt::format("{} has {}{}{}",
                           is_path                 ? probe.file
                               : probe.file == "*" ? "no file of the process"
                                                   : "no file of the process that fits",
                           is_path ? "no " : "",
                           !functions   ? "probes"
                               : moves_ ? is_path ? "such function" : "such functions"
                                        : "functions that fastprobe recorded; without --no-move others are armed",
                           !near.empty() ? near
                               : functions && moves_ && here
                               ? fmt::format("; fastsdt-trace --list {} shows what can be armed", probe.file)
                               : "");
    }
    // Names only the probes of the provider that was meant, if it has any: libraries have probes of other providers.
    std::vector<std::string> names;
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(names), [&](const std::string& name) {
        return !functions && fits(probe.provider, name.substr(0, name.find(':')));
    });
    const std::string whose = names.empty() || is_pattern(probe.provider) ? "there" : "of " + probe.provider;
    if (names.empty())
        names.assign(found->second.begin(), found->second.end());
    constexpr size_t most = 8;
    const size_t more = names.size() > most ? names.size() - most : 0;
    names.resize(names.size() - more);
    Nearest similar_name(probe.name);
    for (const std::string& name : found->second)
        similar_name.look(functions ? name : name.substr(name.find(':') + 1));
    return fmt::format("{} {}{}{}",
                       !functions   ? "the probes " + whose + " are"
                           : moves_ ? "of the script's functions it has"
                                    : "the functions that fastprobe recorded are",
                       fmt::join(names, ", "), more ? fmt::format(", and {} more", more) : "",
                       !near.empty()                         ? near
                           : more && !is_pattern(probe.name) ? did_you_mean(similar_name)
                                                             : "" /* it is among those */);
}

} // namespace fastsdt::engine

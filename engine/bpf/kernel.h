// SPDX-License-Identifier: BSD-2-Clause
// The kernel's engine: sites of processes under uprobes that run BPF programs, made of the same typed form as stubs. One for a run: its probes
// are of files, and its programs look whose hits count.
//
// No return address is replaced: exits are uprobes on the instructions that leave a function.
#pragma once
#include "bpf/program.h"
#include "bpf/unwinder.h"
#include "kernel/kernel.h"
#include "maps/events.h"
#include "process/clock.h"
#include "process/symbols.h"
#include "proc/maps.h"
#include "uprobe.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

namespace fastsdt::engine::bpf {

class Kernel {
public:
    struct Options {
        pid_t only =
            0; ///< all hits are of this process, and no other runs into the probes; 0: of those that are attached
        bool everyone = false;      ///< all hits count, whoever makes them
        bool follows = false;       ///< what they fork counts too
        bool return_probes = false; ///< exits that are not known may have a uretprobe, which replaces return addresses
        pid_t child = 0;            ///< what `cpid` gives
        uint64_t start_ns = 0;
        size_t ring_size = size_t(1) << 22; ///< of all events, bytes, a power of two
    };
    /// Throws Unusable: BPF or uprobes cannot be used, and why. @param script  has to outlive it
    Kernel(const Script& script, Options options);
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    ~Kernel();

    // Several threads may call these at once, and no other then:
    /// The process's hits count, and those of what it forks from then on if that is wanted, until leave() was called as often. Throws Unusable.
    void join(pid_t pid);
    void leave(pid_t pid);
    /// Puts probes on a process's sites. Their hits count from start() on. Sites that another process has of the same files are there already.
    /// @param mappings  of the process, of just now  @return  by site: State::by_kernel, or why not
    std::vector<SiteState> attach(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings);
    /// The same of sites that are not attached: State::by_kernel where attach() would try it.
    std::vector<SiteState> can(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings);
    void start();
    /// Where the script unwinds: takes note of what a process has mapped now. Called before its sites are attached.
    void look_at_code(ProcessView& view, CodeOfProcess& code);
    // One thread:
    /// Nothing counts any more, and no probe is left.
    void stop();

    Maps read();
    /// Adds the events that came since the last time, in their order.
    void read_events(std::vector<Event>& to);
    void clear(size_t map, bool as_read);
    void remove(size_t map, const std::vector<Datum>& keys);
    void assign(size_t map, int64_t value) { maps_->assign(map, {}, {value, {}}); }
    /// Sites that have a probe.
    size_t sites() const { return attached_.size(); }

    /// As Session::refused_names().
    std::set<std::string> refused_names() const;

private:
    struct Place {
        fastsdt::Target target;
        uint64_t offset = 0; ///< from Site::address
        std::string breaks;  ///< why a uprobe there would break the program; empty: it would not
    };
    std::optional<Place> place_of(pid_t pid, const Site& site, uint64_t address, const std::vector<Mapping>& mappings);
    std::string why_no_return_probe(pid_t pid, const std::vector<Mapping>& mappings);
    struct Made {
        Descriptor program;
        SiteState why; ///< ready: there is one
    };
    Context context_for(pid_t pid);
    const Made& program_for(const Context& context, const Site& site, std::optional<uint64_t> offset);
    /// Device, inode, file offset, whether on return, and which program.
    using Attached = std::tuple<std::string, uint64_t, uint64_t, bool, const Made*>;
    struct Group { ///< of one program and one file
        std::vector<Attached> places;
        std::vector<fastsdt::Target> targets;
        std::vector<uint64_t> cookies;
        std::vector<size_t> sites;
    };
    struct Plan {
        std::map<std::tuple<std::string, bool, const Made*>, Group> groups;
        std::vector<SiteState> states;
    };
    Plan plan(pid_t pid, std::span<const Site> sites, const std::vector<Mapping>& mappings);
    std::vector<int> link(int program, const std::vector<fastsdt::Target>& targets,
                          const std::vector<uint64_t>& cookies);
    fastsdt::Kernel& running();
    bool takes_nop10();
    std::string name_of(const ValueType& type, uint64_t number, pid_t whose);

    std::mutex together_;
    const Script& script_;
    const Options options_;
    const MultiSupport multi_;
    bool filters_ = false;              // by Options::only
    std::vector<ir::Program> programs_; // by clause; empty: one without sites
    std::optional<BpfMembers> members_;
    std::optional<KernelMaps> maps_;
    std::optional<Unwinder> unwinder_;
    std::optional<BpfRing> ring_;
    std::map<std::string, Made> made_; // by program_key()
    std::vector<Descriptor> links_, events_;
    std::set<Attached> attached_;
    std::map<pid_t, unsigned> joined_; // how often
    /// By a file's device and inode. Empty: one does no harm, as far as is known.
    std::map<std::pair<std::string, uint64_t>, std::string> why_no_return_probe_;
    std::optional<fastsdt::Kernel> running_;
    std::optional<bool> takes_nop10_;
    std::vector<const Statement*> statements_; // by number; nullptr: it records no events
    struct Names {
        bool shows = false; // the script has values that processes have names for
        std::map<pid_t, std::unique_ptr<OwnSymbols>> processes;
        std::map<uint64_t, std::string> stacks; // as they print
        StackStyle style;
        Symbols& of(pid_t pid, const std::vector<Mapping>& mappings = {}); ///< that it has now, if they were just read
        const std::string& of_stack(const KernelMaps& maps, uint64_t number);
    } names_;
    Maps last_;                                // as read() found the maps, if the script clears
    std::vector<std::optional<Maps>> cleared_; // by map: what it held when it was cleared
    const Moment began_ = read_clocks();
};

} // namespace fastsdt::engine::bpf

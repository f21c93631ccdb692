// SPDX-License-Identifier: BSD-2-Clause
// A script in one process: matched, armed, read. The code that prints the maps knows nothing of the process.
#pragma once
#include "arming/arm.h"
#include "arming/target.h"
#include "code/stubs.h"
#include "maps/events.h"
#include "maps/maps.h"
#include "maps/read.h"
#include "maps/tables.h"
#include "process/clock.h"
#include "process/filters.h"
#include "process/forks.h"
#include "process/lasting.h"
#include "process/match.h"
#include "process/symbols.h"
#include "process/unwinding.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::engine {

namespace bpf {
class Kernel;
}

class Session {
public:
    struct Options {
        bool calls = false;          ///< stubs may make system calls also where the process may set a seccomp filter
        bool moves = false;          ///< sites too that need instructions moved (lib/movable/movable.h)
        bool moves_faulting = false; ///< those too that may fault, where the process handles that
        bool follow = false;         ///< forked children record too
        ProbeNames* names = nullptr; ///< of a run with several processes; has to outlive it
        size_t ring_size = usual_ring_size; ///< of a thread's events, a power of two
        bool overwrites = false;            ///< a thread keeps its newest events, which are read when somebody asks
        bool ordered = true;        ///< events have the processor's counter; else only those of a thread are in order
        uint64_t start_ns = 0;      ///< what `elapsed` counts from: CLOCK_BOOTTIME
        RecordSink* sink = nullptr; ///< of events; has to outlive it
        bpf::Kernel* kernel = nullptr; ///< has the sites that stubs cannot have; has to outlive it
        bool all_in_kernel = false;    ///< and all others
    };
    /// Reads the process, as of the last look of the target's view, and matches. `script` and `target` have to outlive it. Throws Unusable.
    /// What comes later is found by match_again(), as whoever compares modules_at_first() knows
    Session(const Script& script, Target& target, Options options);
    Session(const Script& script, Target& target) : Session(script, target, Options{}) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// What arming would make of each site.
    struct Preview {
        std::vector<Site> sites;
        std::vector<SiteState> states; ///< ready, or why not
        struct Stub {
            uint64_t address = 0; ///< a runtime address within reach; arming may choose another
            std::vector<std::byte> bytes;
        };
        std::vector<Stub> stubs;  ///< of those that are ready
        std::vector<Stub> bodies; ///< that many of these stubs call
        Cost cost;                ///< of these, all together
    };
    Preview preview();
    /// How many of the same sites the kernel's engine could have, if it had all of them.
    size_t sites_for(bpf::Kernel& kernel) const;

    void arm();           ///< all sites that are matched, and again those that have lost their jump
    void match_again();   ///< after modules came or went
    void match_and_arm(); ///< matches again, and arms
    void disarm();

    /// Looks for seccomp filters, and for modules that could set one among those of the view's last look: then stubs make no system calls any
    /// more. Cheap enough to be done often.
    /// @return  whether it found the first reason for that
    bool look_for_filters();
    /// Looks whether the process handles SIGSEGV or SIGBUS, and then gives up sites whose instructions may fault: the handler would see the
    /// stub's address. Cheap enough to be done often. @return  whether it gave up some
    bool look_for_handlers();
    /// Why Maps::unread is not 0: a sentence about the process.
    const std::string& no_system_calls() const { return environment_.no_system_calls; }
    /// Debug files for stacks that were found and are not used, each one line.
    std::set<std::string> refused_names() const { return symbols_ ? symbols_->refused() : std::set<std::string>(); }

    /// Has the process wait, for a bounded time, when its dynamic linker has mapped modules and runs none of their
    /// constructors yet: from the next arm() on. Not where no library would change anything.
    void watch_loader();
    /// Something that its stubs depend on may change without the kernel telling of it: filters of system calls, handlers of signals, its stack.
    bool is_to_be_watched() const { return calls_wanted_ || symbols_ || arming_.faults() != 0; }
    /// Has the process, and what it forks, wait before it executes another program: from the next arm() on. Not where stubs may make no
    /// system calls, nor where the script means the same instruction.
    void watch_executing() { wants_executing_ = !options_.all_in_kernel; }
    /// Readable when the process waits. -1: it never does
    int loader_descriptor() const { return target_.loader_descriptor(); }
    /// Runs `match`, which is to match and arm, and lets the process go on. @return  false: it went on before
    bool answer_loader(const std::function<void()>& match);
    /// Target::holds_modules(), held_all_modules()
    bool holds_modules();
    bool held_all_modules();
    /// Whether it has anything in the process's memory.
    bool has_memory() const { return arming_.window().size != 0; }
    /// Who is about to execute another program, and waits until it is let.
    std::vector<Target::Asker> executing() { return target_.executing(); }
    /// Target::take_unanswered()
    bool take_unanswered() { return target_.take_unanswered(); }
    void let_execute(pid_t thread) { target_.let_execute(thread); }

    /// Looks for forked children: what those recorded that have ended is kept, new ones can have their memory, and those that have come to
    /// handle faults give up sites as look_for_handlers() does. Reads files of all processes: without `now` only if there are some or one
    /// was hit, and in a part of the time.
    void look_for_forks(bool now);
    /// How many children have given up sites since the last time.
    size_t take_forks_given_up() { return std::exchange(forks_given_up_, 0); }
    /// Of them, how many lived when they were last looked for.
    size_t forks() const { return forks_; }
    /// What a process has that was forked from this one perhaps.
    Copy copy_in(Target& other) const
    {
        return arming_.copy_in(other, may_see_faults() ? handled_faults(other.view()) : uint8_t(0));
    }
    /// Puts the file's bytes back in what the sessions' processes have forked, after disarm(). Of many at once, since each time it reads
    /// files of all processes. @return  why not in some: sentences
    static std::vector<std::string> clear_forks(std::span<Session* const> sessions);

    /// The maps as they are now, less what was cleared.
    Maps read();
    /// Adds the events that came since the last time, in the order of each thread. `last`: after disarm()
    void read_events(std::vector<Event>& to, bool last);
    uint64_t lost_events() const { return event_reader_.lost(); } ///< so far
    /// Options::overwrites: whether dump() or exit() was hit since the last time.
    bool is_asked_for_events();
    /// Whether events were overwritten that nobody read.
    bool has_overwritten() const { return event_reader_.overwritten(); }
    uint64_t events_between() const { return event_reader_.between(); } ///< as EventReader has it
    /// While threads go on, and so that stubs see it too. `as_read`: what the last read() gave is cleared and no more, so that
    /// a hit between the two is in the next; as far as the map's kind allows (is_subtracted() in maps/read.h).
    void clear(size_t map, bool as_read);
    /// delete(@map[keys]), of a map that clear() does not subtract.
    void remove(size_t map, const std::vector<Datum>& keys);
    /// Of a map of integers without keys that all threads share: from the first hit on if nothing is armed yet.
    void assign(size_t map, int64_t value);

    /// Of the tables: what begins anew with another run (Target::forget_data()).
    std::vector<Piece> contents();

    /// What has become of the sites.
    const std::vector<Site>& sites() const { return arming_.sites(); }
    const std::vector<SiteState>& verify()
    {
        keep_time();
        return arming_.verify();
    }
    /// Lets stubs know how far the main thread's stack has grown. Cheap enough to be done often.
    void follow_stack();
    /// Where many threads have come and gone: slots of those that have ended are for others again. What they recorded stays. Cheap enough to be
    /// done often.
    void free_slots();
    /// Lets nsecs follow the kernel's clock, for children of a process that has ended.
    void keep_time();
    const std::vector<SiteState>& states() const { return arming_.states(); }
    const Matcher& matcher() const { return matcher_; }
    /// modules_of() what the constructor matched.
    const std::vector<std::string>& modules_at_first() const { return modules_at_first_; }
    /// By the number that a map has for a probe.
    const std::vector<std::string>& probes() const { return (options_.names ? *options_.names : own_names_).names(); }

private:
    void give_to_kernel();
    Maps read_all();
    void fetch_events(bool last);
    void look_at_stacks();
    std::vector<FirstWord> words_of_stacks() const;
    const std::string& name_of(uint64_t stack);
    std::string name_of(const ValueType& type, uint64_t number);
    ChangeData changer();
    ReadData reader();
    uint64_t word(size_t offset); // of the tables
    void keep_ended(Slice slice);
    bool may_see_faults() const;
    void look_for_handlers_in(std::span<const Fork> forks);
    bool asks_for_processor() const; // by a system call
    bool wants_calls() const;
    std::string obstacle_to_calls();
    void decide_calls(bool wanted);
    void forbid_calls();
    std::vector<FirstWord> words_at_first(Window window) const;
    Code compiled(std::span<const Site> sites, const Arena& arena) const;
    Code compiled_to_arm(std::span<const Site> sites, const Arena& arena);

    const Script& script_;
    Target& target_;
    ProcessView& view_;
    const Options options_;
    Filters filters_;
    ProbeNames own_names_;
    const std::vector<std::string> modules_at_first_;
    Matcher matcher_;
    std::vector<Site> fresh_; // matched, not given to arming_ yet
    Environment environment_;
    LastingMemory lasting_;
    bool reads_lasting_ = false;           // the script has stubs read memory
    std::unique_ptr<Unwinding> unwinding_; // if the script unwinds
    Tables tables_;
    Arming arming_;
    EventReader event_reader_;
    std::vector<Event> events_;              // read while something else was done
    std::unique_ptr<Symbols> symbols_;       // if the script mentions stacks
    std::map<size_t, int64_t> given_;        // by map: what the tool assigned before there was any memory
    uint64_t cut_ = 0;                       // Tables::cut when the stack was last looked at
    uint64_t events_asked_ = 0;              // Tables::asked at the last time
    std::map<uint64_t, std::string> stacks_; // by address: how they print
    Moment timed_;                           // when the stubs' clock was last corrected
    size_t clocks_ = 1;                      // so far
    Forks searched_;
    size_t forks_ = 0, forks_given_up_ = 0;
    std::chrono::steady_clock::time_point search_again_;
    Maps ended_;                               // what children recorded that have ended
    Maps last_;                                // as read() found the tables, if the script clears
    std::vector<std::optional<Maps>> cleared_; // by map: what it held when it was cleared
    bool asked_ = false;                       // Target::stores_thread_pointers() and its like
    bool calls_wanted_ = false;                // by a stub of the script
    bool decided_ = false;                     // whether stubs make system calls
    bool wants_loader_ = false;                // watch_loader()
    bool wants_executing_ = false;             // watch_executing()
};

} // namespace fastsdt::engine

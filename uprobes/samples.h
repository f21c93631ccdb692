// SPDX-License-Identifier: BSD-2-Clause
// Where the threads of processes are, asked by the kernel: while they run by perf events of the processor's clock, and while they wait by events of
// context switches, since what a thread has on its stack stays until it runs again. A process needs no stop for it.
#pragma once
#include "base/descriptor.h"
#include "perf_ring.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

class Samples {
public:
    struct Wish {
        uint64_t period_ns = 0; ///< of the time that a thread runs, or waits
        bool running = true, waiting = false;
        size_t stack_bytes = 0; ///< copied from the stack pointer on, with the registers; a multiple of 8
    };
    struct Sample {
        pid_t pid = 0, tid = 0;
        uint32_t cpu = 0;
        uint64_t time = 0;    ///< CLOCK_BOOTTIME, ns
        uint64_t address = 0; ///< runtime address of the instruction; in the kernel: where the program has called it
        std::vector<uint64_t> calls; ///< runtime addresses by frame pointers, the innermost first, `address` too
        std::vector<uint64_t>
            registers; ///< of the program, by their DWARF numbers, and then its program counter; none: a thread of the kernel
        std::shared_ptr<const std::vector<char>> stack; ///< nullptr: as with the registers
        std::string comm;
    };

    explicit Samples(const Wish& wish);
    Samples(const Samples&) = delete;
    Samples& operator=(const Samples&) = delete;
    ~Samples();

    /// From now on: all threads of the process, and what they start and fork. 0: everybody on the machine. Threads that end meanwhile are nobody's
    /// loss. Throws Unusable: what kernel.perf_event_paranoid and the process's rights do not allow. @return  false: they are sampled already
    bool open(pid_t pid);
    /// What has come since the last time, in the order of time.
    std::vector<Sample> take();
    /// Samples that found no room, since nobody had called take() for too long.
    uint64_t lost() const { return lost_; }
    /// So much came between the last two calls that the next one should come sooner.
    bool is_busy() const { return is_busy_; }
    /// How often the kernel throttled them; 0 where the time of threads is known, and others stand for them.
    uint64_t throttled() const { return throttled_; }
    /// Time in the kernel has none: kernel.perf_event_paranoid is more than 1.
    bool without_kernel() const { return without_kernel_; }

private:
    void open_thread(pid_t thread, int cpu);
    Descriptor open_event(pid_t thread, int cpu, bool switches);
    void put_into_ring(Descriptor event, int cpu);
    void look_at(pid_t pid, pid_t thread);
    void look_again();
    void add_waiting(pid_t thread, uint64_t until, std::vector<Sample>& to);
    void add_running(const Sample& sample, bool stops, std::vector<Sample>& to);
    void keep(const PerfRing::Record& record, std::vector<Sample>& to);
    Sample read(const PerfRing::Record& record);
    const std::string& name_of(pid_t pid, pid_t thread);

    const Wish wish_;
    std::vector<Descriptor> events_;                    // those that have no ring of their own
    std::map<int, std::unique_ptr<PerfRing>> rings_;    // by processor
    std::multimap<uint64_t, PerfRing::Record> records_; // by time: that came and are not taken
    std::map<pid_t, uint64_t> processes_;               // that are sampled, with their start: a number may come again
    std::map<pid_t, std::string> names_;                // of threads
    struct Wait {
        Sample sample;
        uint64_t since = 0; // samples until then are there
    };
    std::map<pid_t, Wait> waits_; // of threads that do not run
    struct Run {
        uint64_t since = 0; // its last sample, or when it began to run; 0: it does not run, or that is not known
        int64_t left = 0;   // ns of its running that no sample stands for yet; less than 0: one came early
    };
    std::map<pid_t, Run> runs_;       // of threads, where switches are told
    std::map<pid_t, uint64_t> left_;  // ns of each thread's waits that are less than a period
    std::map<pid_t, uint64_t> ended_; // threads that ended a moment ago, with the time: they stop running once more
    uint64_t lost_ = 0, throttled_ = 0;
    bool is_busy_ = false;
    bool without_kernel_ = false;
};

} // namespace fastsdt

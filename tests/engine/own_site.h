// SPDX-License-Identifier: BSD-2-Clause
// A site of the test's own process, its registers set before and read after each pass, and the memory of a run around it.
#pragma once
#include "code/stubs.h"
#include "maps/events.h"
#include "maps/read.h"
#include "script/parse.h"
#include "site.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/// All that a program can see of a stub. own_site.cpp's assembly knows the offsets.
struct Processor {
    uint64_t gpr[16] = {}; ///< in the order of their encoding; rsp: set by the pass
    uint64_t flags = 0x202;
    uint64_t red_zone[16] = {}; ///< the 128 bytes below rsp
    alignas(16) unsigned char xmm[16][16] = {};
    bool operator==(const Processor&) const = default;
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
inline constexpr uint64_t arithmetic_flags = 0x8d5; // CF PF AF ZF SF OF

/// All but rsp and the flags that are not arithmetic.
Processor random_state(std::mt19937_64& random);

/// One pass: loads everything from `state`, executes the nop10 or what it has become, and stores everything back.
extern "C" void own_site_pass(Processor* state);
extern "C" unsigned char own_site[]; ///< the nop10

/// The environment of this process. System calls are allowed, and a stub asks the kernel for the thread's id.
fastsdt::engine::Environment own_environment();

/// The tables, stubs and patches of a script on the site above, or on a nop10 of the test's own at Site::patch. One at
/// a time.
class OwnRun {
public:
    /// Arms. Throws std::runtime_error with the refusal.
    explicit OwnRun(const std::string& script, fastsdt::engine::Site site = {},
                    const fastsdt::engine::Environment& environment = own_environment(),
                    size_t window = size_t(64) << 20, size_t ring_size = fastsdt::engine::usual_ring_size);
    OwnRun(const OwnRun&) = delete;
    OwnRun& operator=(const OwnRun&) = delete;
    ~OwnRun();

    void pass(Processor& state) const { own_site_pass(&state); }
    void pass_argument(uint64_t argument) const ///< in rax
    {
        Processor state;
        state.gpr[0] = argument;
        own_site_pass(&state);
    }
    void pass(size_t times = 1) const
    {
        Processor state;
        for (size_t i = 0; i < times; ++i)
            own_site_pass(&state);
    }
    fastsdt::engine::Maps maps() const;
    /// What came since the last time.
    std::vector<fastsdt::engine::Event> events(bool last = false);
    std::vector<std::vector<uint64_t>> stacks() const; ///< all that are interned
    uint64_t lost() const { return event_reader_.lost(); }
    void reset(); ///< the tables are as they were at first
    /// Of one module, whose base is 0. As many as most_rows.
    void unwind_by(std::span<const fastsdt::engine::UnwindRow> rows);
    static constexpr size_t most_rows = 1024;
    void forked(bool yes); ///< sets the mark to 0 as in a forked child, or to the data's address

    fastsdt::engine::Script script;
    fastsdt::engine::Tables tables;
    fastsdt::engine::Code code;
    const size_t data_size; ///< of the window
    unsigned char* data = nullptr;

private:
    std::vector<std::byte> read(size_t offset, size_t size) const;

    fastsdt::engine::EventReader event_reader_;
    fastsdt::engine::Environment environment_;
    unsigned char* site_ = nullptr;
};

/// Compiles, but arms nothing. Returns the refusal; empty: there is none.
std::string refusal(const std::string& script, fastsdt::engine::Site site, bool system_calls = true);

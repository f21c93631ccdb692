// SPDX-License-Identifier: BSD-2-Clause
// The process whose sites are armed: one interface, a file for each way in. Used from one thread, since ptrace is.
#pragma once
#include "arming.h"
#include "live.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Memory of the target by runtime address. All throw Unusable with what, where and what to do.
class Target {
public:
    virtual ~Target() = default;

    /// What it has mapped now, by address.
    virtual std::vector<Mapping> mappings() = 0;
    /// Up to `size` bytes; fewer where the memory ends.
    virtual std::vector<std::byte> read(uint64_t address, size_t size) = 0;
    /// Whether each of its threads has its thread pointer in the word that this leads to, as programs for x86-64 have it (ELF Handling
    /// For Thread-Local Storage, 3.4.6). A static program that has not begun does not. False on other architectures.
    virtual bool stores_thread_pointers() = 0;

    /// The tables: zeros, readable and writable, shared with us. Once for a run, before allocate_code().
    /// @return  its runtime address
    virtual uint64_t allocate_data(size_t size) = 0;
    /// Memory for stubs, empty so far. `mark` of the answer is within reach of a 32-bit displacement too.
    /// @param near  addresses that the code has to reach, and to be reached from, by a jump: 2 GiB (arm64: 128 MiB)
    virtual Arena allocate_code(std::span<const uint64_t> near, size_t size) = 0;
    /// Writes stubs. They are not executed yet.
    virtual void write_code(uint64_t address, std::span<const std::byte> bytes) = 0;

    /// What became of a patch.
    enum class Outcome {
        done,
        changed, ///< the site has neither `before` nor `after`: somebody else's, left alone
        busy,    ///< a thread stands where the change would tear an instruction; try again
    };
    /// Exchanges before and after of each, at as few stops of the target as keep each short; `back`: the other way. A site
    /// that has the wanted bytes already is done. No patch may cross a page.
    virtual std::vector<Outcome> patch(std::span<const Patch> patches, bool back) = 0;

    /// Whether patch() stops all threads first. If not, they run through the sites while those change: see self.h.
    virtual bool stops_threads() const { return true; }
    /// Why a site that others could change cannot be changed this way, as what follows "1 " in the line that sums up;
    /// empty: it can be.
    /// @param bytes  what it has now
    virtual std::string obstacle(uint64_t /*at*/, std::span<const std::byte> /*bytes*/) const { return {}; }

    /// Up to `size` bytes of the tables as they are now, or what is left of them after the target's end.
    virtual std::vector<std::byte> read_data(size_t offset, size_t size) = 0;
};

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
// The process whose sites are armed: one interface, a file for each way in.
#pragma once
#include "arming.h"

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

    /// Memory for stubs and tables. `near`: every address that the code has to reach by a 32-bit displacement.
    virtual Arena allocate(std::span<const uint64_t> near, size_t code_size, size_t data_size) = 0;
    /// Writes stubs. They are not executed yet.
    virtual void write_code(uint64_t address, std::span<const std::byte> bytes) = 0;
    /// Up to `size` bytes; fewer where the memory ends.
    virtual std::vector<std::byte> read(uint64_t address, size_t size) = 0;

    /// What became of a patch.
    enum class Outcome {
        done,
        changed, ///< the site has neither `before` nor `after`: somebody else's, left alone
        busy,    ///< a thread stands where the change would tear an instruction; try again
    };
    /// Exchanges before and after of each, all at one stop of the target (or one barrier); `back`: the other way.
    virtual std::vector<Outcome> patch(std::span<const Patch> patches, bool back) = 0;
    /// Adds to semaphores (16 bits each, runtime addresses).
    virtual void add_to_semaphores(std::span<const uint64_t> semaphores, int by) = 0;

    /// The tables' bytes as they are now: of the arena's data, or what is left of them after the target's end.
    virtual std::vector<std::byte> read_data(const Arena& arena, size_t size) = 0;
};

} // namespace fastsdt::engine

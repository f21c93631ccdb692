// SPDX-License-Identifier: BSD-2-Clause
// The stub at the dynamic linker's breakpoint (r_debug::r_brk, <link.h>): a function that does nothing, called after modules
// were mapped and before their constructors run. The stub tells the tracer and waits until it has armed what came.
//
// A stub of a probe takes no lock and waits for nobody. This one waits, so it is bounded: after loader_waits without an answer and without a sign of
// life it goes on, or after loader_waits_most times that; and no thread waits again until the tracer has answered.
#pragma once
#include "code/site.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fastsdt::engine {

/// Runtime addresses.
struct Loader {
    uint64_t breakpoint = 0; ///< r_debug::r_brk: of the function
    uint64_t state = 0;      ///< of r_debug::r_state, an int; 0: the list of modules is complete (RT_CONSISTENT)
};

/// What the stub and the tracer tell each other: words of 4 bytes in the tables, from Tables::loader on.
struct LoaderWords {
    static constexpr size_t asked = 0; ///< how often the stub has asked. The stub wakes its futex
    static constexpr size_t answered =
        4;                             ///< the last question that the tracer has answered. The tracer wakes its futex
    static constexpr size_t alone = 8; ///< 1: no answer came in time, and no thread waits
    static constexpr size_t signs =
        12; ///< of life: the tracer counts here as long as it gets too little of a processor to answer
};

/// What a thread tells that is about to execute another program (code/executing.h): words of 8 bytes in the tables, from
/// Tables::executing on. It asks as the stub above does, and is answered when the tracer has taken its number away.
struct ExecutingWords {
    static constexpr size_t alone = 0; ///< 1: no answer came in time, and no thread waits
    static constexpr size_t first =
        8; ///< of `most` pairs: the thread's number in its own pid namespace, 0: none; address of the program's name
    static constexpr size_t most = 15;
    static constexpr size_t size = first + 16 * most;
};

/// How long a thread waits for an answer or for a sign of life, whatever signals it handles meanwhile. A process whose tracer was killed
/// waits once.
inline constexpr std::chrono::seconds loader_waits{1};
/// How many times that: where a machine is so busy that the tracer does not come to answer.
inline constexpr unsigned loader_waits_most = 10;

/// Bytes from the function's start that loader_patch() wants to see.
inline constexpr size_t loader_function = 16;

/// Makes the function's return a jump to `stub`. Empty: the function does more than to return, or what follows its return
/// may be executed.
/// @param function  its first loader_function bytes
std::optional<Patch> loader_patch(const Loader& loader, std::span<const std::byte> function, uint64_t stub);

/// Whether these are the bytes of a patch before it was made: what a later run may put back.
bool is_loader_return(std::span<const std::byte> bytes);

/// The stub, which begins at arena.code.
std::vector<std::byte> compile_loader_stub(const Loader& loader, const Arena& arena);

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
// What is asked of a running process, whatever the way into it: what it has mapped, the files of that, its memory, signals and what else /proc
// has. Nothing here stops it or changes it.
#pragma once
#include "base/descriptor.h"
#include "proc/maps.h"
#include "proc/memory.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {
class Image;
}

namespace fastsdt::engine {

/// A path that leads to an open file.
std::string path_of(const Descriptor& file);

/// Visits what is in a file; nothing if it is no ELF file, or cannot be read.
void each_image(const std::string& path, const std::function<void(const Image&)>& visit);

/// One process. Nothing is read before it is asked for. Kept are: the mappings of the last look(), files as keep_files() says, the memory, and
/// its own number, which does not change; all else is read anew each time. Used from one thread at a time. It
/// outlives whoever takes it.
class ProcessView {
public:
    explicit ProcessView(pid_t pid) : pid_(pid) {}
    ProcessView(const ProcessView&) = delete;
    ProcessView& operator=(const ProcessView&) = delete;

    pid_t pid() const { return pid_; }
    uint64_t inner_number(); ///< in its own pid namespace

    /// What it has mapped, by address. Empty: it has ended. Throws Unusable. What both give is there until the next look().
    const std::vector<Mapping>& look();
    /// Of the last look; the first question is one.
    const std::vector<Mapping>& mappings() { return mappings_ ? *mappings_ : look(); }

    /// The file behind a mapping, by device and inode. Empty: it cannot be opened. It is there until another is asked for.
    const Descriptor& file(const Mapping& mapping);
    /// So many files stay open, those that were asked for last, also when the process has unmapped them, or has ended. At first it is one.
    void keep_files(size_t most) { most_files_ = most; }
    /// Where we find the file that it calls so: it may be another than the one that is mapped.
    std::string path(const std::string& name) const;
    std::string program() const;                      ///< what it executes, as it calls it. Empty: it has ended
    std::string entry(const std::string& name) const; ///< /proc/PID/NAME

    /// Its memory by runtime address, to be read and written without faults: that of the program which it executed when this was asked for the
    /// first time. Empty: it could not be opened, as errno said.
    const Descriptor& memory();
    std::vector<std::byte> read(uint64_t address, size_t size) { return read_at(memory(), address, size); }
    /// Whether that program has ended, or executes another one.
    bool has_gone() { return !memory() || memory_has_gone(memory_->file.get()); }
    /// Where only a thread's tracer may write code through its file: opens that of this thread. Called while no thread can execute.
    void hold(pid_t thread);
    pid_t holder() const { return memory_ ? memory_->thread : 0; } ///< whose file it is

    /// A bit for each signal that it has a handler for: signal 1 is the lowest.
    uint64_t handled_signals() const;

private:
    struct File {
        std::string device;
        uint64_t inode = 0;
        Descriptor file;
    };
    const pid_t pid_;
    std::optional<uint64_t> inner_number_;
    std::optional<std::vector<Mapping>> mappings_;
    std::optional<Memory> memory_;
    std::list<File> files_; // the one that was asked for last is the first
    size_t most_files_ = 1;
};

} // namespace fastsdt::engine

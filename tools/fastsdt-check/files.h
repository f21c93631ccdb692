// SPDX-License-Identifier: BSD-2-Clause
// The files on fastsdt-check's command line, one after the other.
#pragma once
#include "elf/image.h"

#include <chrono>
#include <functional>
#include <string>

// If reading takes long, one line on the terminal says what is being read.
class Progress {
public:
    ~Progress() { clear(); }
    void at(const std::string& name);
    void clear();

private:
    bool visible_ = false;
    std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

/// Calls `visit` for each image of the file. `trouble` gets an error for each that cannot be read.
void read_images(const std::string& path, fastsdt::Access access,
                 const std::function<void(const fastsdt::Image&)>& visit,
                 const std::function<void(const fastsdt::Error&)>& trouble);

class Files {
public:
    using Visit = std::function<void(const fastsdt::Image&)>;
    explicit Files(fastsdt::Access access) : access_(access) {}

    using Unread = std::function<void(const std::string& path, const std::string& message)>;

    /// The same, with a line of progress. For what cannot be read: a message to stderr, and `unread`.
    void each_image(const std::string& path, const Visit& visit, const Unread& unread);
    bool all_read() const { return all_read_; }

private:
    const fastsdt::Access access_;
    Progress progress_;
    bool all_read_ = true;
};

// SPDX-License-Identifier: BSD-2-Clause
// Reading the input whole, writing the output whole or not at all. All errors are Unusable.
#pragma once
#include "model.h"

namespace dtrace {

std::string read_file(const std::string& path);

// By OutputFile; a destination that is no plain file (/dev/stdout, /dev/null, a pipe) is written directly.
void write_file(const std::string& path, std::string_view text);

// A directory for temporary files, in TMPDIR or /tmp, removed with all its files at the end, or at SIGINT, SIGTERM and SIGHUP. One at a time.
class TemporaryDirectory {
public:
    explicit TemporaryDirectory(bool keep);
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
    bool keep_;
};

} // namespace dtrace

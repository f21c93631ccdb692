// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include "base/utf8.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fastprobe {
namespace {

void append_string(std::string& text, const char* key, const std::string& value)
{
    text += std::string(text.back() == '{' ? "" : ", ") + '"' + key + "\": \"";
    for (size_t at = 0; at < value.size(); at++) {
        const auto c = static_cast<unsigned char>(value[at]);
        uint32_t character;
        if (c == '"' || c == '\\') {
            text += {'\\', value[at]};
        } else if (c < 0x20) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", c);
            text += escape;
        } else if (c < 0x80) {
            text += value[at];
        } else if (const size_t length = fastsdt::utf8_sequence(std::string_view(value).substr(at), character)) {
            text += value.substr(at, length);
            at += length - 1;
        } else {
            text += "\\ufffd"; // names of files need not be UTF-8, as JSON has to be
        }
    }
    text += '"';
}

void append_number(std::string& text, const char* key, uint64_t value)
{
    text += std::string(", \"") + key + "\": " + std::to_string(value);
}

} // namespace

const char* action(const ReportLine& line)
{
    if (line.skipped)
        return "skipped";
    if (line.record.missed)
        return "missed";
    return line.record.added == Decision::Add::nothing ? "kept" : "added";
}

fastsdt::Result<void> Report::open(const std::string& path)
{
    path_ = path;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0)
        return fastsdt::Error::of_system(errno, "argument 'report': cannot write '" + path + "'");
    return {};
}

void Report::add(Arch arch, const ReportLine& line)
{
    std::string text = "{";
    append_string(text, "function", line.symbol);
    append_string(text, "source", source_name(line.symbol));
    append_string(text, "unit", line.unit);
    append_string(text, "target", std::string(name(arch)));
    append_string(text, "entry", std::string(name(line.entry)));
    append_string(text, "action", action(line));
    append_string(text, "before", line.before);
    append_string(text, "after", line.after);
    if (!line.skipped)
        append_number(text, "lead", line.record.lead);
    append_number(text, "bytes_added", line.bytes_added);
    if (!line.reason.empty())
        append_string(text, "reason", line.reason);
    if (line.exits.asked != Exit::none) {
        append_string(text, "exit", std::string(name(line.exits.asked)));
        append_number(text, "exits", line.exits.count);
        append_number(text, "exit_bytes_added", line.exits.bytes_added);
        if (!line.exits.reason.empty())
            append_string(text, "exit_reason", line.exits.reason);
    }
    text_ += text + "}\n";
}

fastsdt::Result<void> Report::finish()
{
    if (fd_ < 0)
        return {};
    // O_APPEND makes each write() go to the end; the lock keeps a block whole should a write come back short.
    bool ok = flock(fd_, LOCK_EX) == 0;
    for (size_t done = 0; ok && done < text_.size();) {
        ssize_t n = write(fd_, text_.data() + done, text_.size() - done);
        if (n < 0 && errno == EINTR)
            continue;
        ok = n > 0;
        if (ok)
            done += static_cast<size_t>(n);
    }
    int reason = errno;
    if (::close(fd_) != 0 && ok) {
        reason = errno;
        ok = false;
    }
    fd_ = -1;
    if (!ok)
        return fastsdt::Error::of_system(reason, "cannot write the report '" + path_ + "'");
    return {};
}

} // namespace fastprobe

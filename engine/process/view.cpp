// SPDX-License-Identifier: BSD-2-Clause
#include "process/view.h"

#include "base/unusable.h"
#include "elf/image.h"
#include "proc/mapped_file.h"
#include "proc/processes.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fastsdt::engine {

std::string path_of(const Descriptor& file)
{
    return fmt::format("/proc/self/fd/{}", file.get());
}

void each_image(const std::string& path, const std::function<void(const Image&)>& visit)
{
    try {
        Image::each(path, visit, [](const Error&) {});
    } catch (const Unusable&) {
        // Then it says nothing.
    }
}

uint64_t ProcessView::inner_number()
{
    if (!inner_number_)
        inner_number_ = fastsdt::inner_number(pid_);
    return *inner_number_;
}

const std::vector<Mapping>& ProcessView::look()
{
    return mappings_.emplace(mappings_of(pid_));
}

const Descriptor& ProcessView::file(const Mapping& mapping)
{
    static const Descriptor none;
    const auto known = std::find_if(files_.begin(), files_.end(), [&](const File& each) {
        return each.inode == mapping.inode && each.device == mapping.device;
    });
    if (known != files_.end()) {
        files_.splice(files_.begin(), files_, known);
    } else {
        Descriptor file = open_mapped_file(pid_, mapping);
        if (!file)
            return none;
        files_.push_front({mapping.device, mapping.inode, std::move(file)});
        if (files_.size() > most_files_)
            files_.pop_back();
    }
    return files_.front().file;
}

std::string ProcessView::path(const std::string& name) const
{
    return entry("root" + name);
}

std::string ProcessView::program() const
{
    std::error_code error;
    return std::filesystem::read_symlink(entry("exe"), error);
}

std::string ProcessView::entry(const std::string& name) const
{
    return fmt::format("/proc/{}/{}", pid_, name);
}

const Descriptor& ProcessView::memory()
{
    if (!memory_) // once: what is opened later may be another program's
        memory_ = open_memory(pid_, O_RDWR);
    return memory_->file;
}

void ProcessView::hold(pid_t thread)
{
    memory_ = Memory{Descriptor(open(entry(fmt::format("task/{}/mem", thread)).c_str(), O_RDWR | O_CLOEXEC)), thread};
}

uint64_t ProcessView::handled_signals() const
{
    return std::strtoull(status_field(pid_, pid_, "SigCgt:").c_str(), nullptr, 16);
}

} // namespace fastsdt::engine

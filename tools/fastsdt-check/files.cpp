// SPDX-License-Identifier: BSD-2-Clause
#include "files.h"
#include "output.h"

#include "base/printable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <new>

using namespace fastsdt;

void Budget::begin(const Image& image, size_t kernels)
{
    name_ = image.name();
    uint64_t size = 0;
    for (const Image* file : image.files_with_symbols())
        size += file->file().size();
    left_ = (uint64_t(16) << 20) + size * (100 + 20 * kernels);
    said_ = false;
}

bool Budget::spend(size_t bytes)
{
    if (bytes <= left_) {
        left_ -= bytes;
        return true;
    }
    left_ = 0;
    whole_ = false;
    if (!said_)
        fmt::print(
            stderr,
            "fastsdt-check: {}: the report is longer than that of any sound file of this size, the rest is left out\n",
            printable(name_));
    said_ = true;
    return false;
}

void Progress::at(const std::string& name)
{
    static const bool terminal = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    const auto now = std::chrono::steady_clock::now();
    if (!terminal || now - shown_ < std::chrono::milliseconds(200))
        return;
    shown_ = now;
    visible_ = true;
    std::fputs(fmt::format("\r\033[Kchecking {:.70}", printable(name)).c_str(), stderr);
    std::fflush(stderr);
}

void Progress::clear()
{
    if (visible_)
        std::fputs("\r\033[K", stderr);
    visible_ = false;
}

void read_images(const std::string& path, Access access, const std::function<void(const Image&)>& visit,
                 const std::function<void(const Error&)>& trouble)
{
    try {
        Image::each(path, visit, trouble, access);
    } catch (const Unusable& error) {
        trouble(error.error());
    } catch (const std::bad_alloc&) {
        trouble({"not enough memory to read it", path});
    }
}

void Files::each_image(const std::string& path, const Visit& visit, const Unread& unread)
{
    const auto cannot = [&](const Error& error) {
        const std::string message = error.text();
        progress_.clear();
        std::fputs(fmt::format("fastsdt-check: {}\n", printable(message)).c_str(), stderr);
        unread(path, message);
        all_read_ = false;
    };
    progress_.at(path);
    read_images(
        path, access_,
        [&](const Image& image) {
            progress_.at(image.name());
            visit(image);
            for (const Error& refused : image.refused_names()) {
                progress_.clear();
                std::fputs(fmt::format("fastsdt-check: {}\n", printable(refused.at(image.name()).text())).c_str(),
                           stderr);
            }
        },
        cannot);
}

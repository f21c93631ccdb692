// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_file.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <filesystem>
#include <fstream>

namespace fastsdt {

namespace fs = std::filesystem;

bool is_elf_file(const std::string& path)
{
    std::array<char, SELFMAG> magic{};
    std::error_code error;
    return fs::is_regular_file(path, error) // a FIFO would wait
        && std::ifstream(path, std::ios::binary).read(magic.data(), magic.size())
        && std::equal(magic.begin(), magic.end(), ELFMAG);
}

Nearest near_elf_file(const std::string& missing)
{
    const std::string folder = missing.substr(0, missing.rfind('/') + 1);
    Nearest near(missing);
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error)) {
        const std::string path = folder + at->path().filename().string();
        Nearest alone(missing);
        alone.look(path);
        if (!alone.word().empty() && is_elf_file(path)) // few are read
            near.look(path);
    }
    return near;
}

} // namespace fastsdt

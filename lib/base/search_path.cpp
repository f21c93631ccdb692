// SPDX-License-Identifier: BSD-2-Clause
#include "base/search_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace fastsdt {

std::string in_search_path(const std::string& program)
{
    const char* const variable = std::getenv("PATH");
    const std::string path = variable ? variable : "";
    for (size_t start = 0; start <= path.size();) {
        const size_t end = std::min(path.find(':', start), path.size());
        const std::string candidate = path.substr(start, end - start) + '/' + program;
        std::error_code error;
        if (std::filesystem::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
            return candidate;
        start = end + 1;
    }
    return {};
}

} // namespace fastsdt

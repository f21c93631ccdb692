// SPDX-License-Identifier: BSD-2-Clause
#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace fastsdt {
namespace {

size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::vector<size_t>> of(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        of[i][0] = i;
    std::iota(of[0].begin(), of[0].end(), size_t(0));
    for (size_t i = 1; i <= a.size(); ++i)
        for (size_t j = 1; j <= b.size(); ++j) {
            of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, of[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
        }
    return of[a.size()][b.size()];
}

} // namespace

void Nearest::look(std::string_view word)
{
    constexpr size_t longest = 256; // the work grows with both lengths
    const size_t apart = word.size() > meant_.size() ? word.size() - meant_.size() : meant_.size() - word.size();
    if (apart >= least_ || word.size() > longest || meant_.size() > longest)
        return;
    if (const size_t found = distance(meant_, word); found > 0 && found < least_) {
        least_ = found;
        word_ = word;
    }
}

std::string did_you_mean(const Nearest& nearest)
{
    return nearest.word().empty() ? "" : "; did you mean \"" + nearest.word() + "\"?";
}

} // namespace fastsdt

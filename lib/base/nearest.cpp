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

NearestPattern::NearestPattern(std::string_view meant)
    : begins_(meant.starts_with('*') && meant.find('*', 1) == meant.npos),
      ends_(!begins_ && meant.ends_with('*') && meant.find('*') == meant.size() - 1),
      letters_(begins_     ? meant.substr(1)
                   : ends_ ? meant.substr(0, meant.size() - 1)
                           : meant.substr(0, meant.find_first_of("*?[") == meant.npos ? meant.npos : 0)),
      nearest_(letters_)
{}

void NearestPattern::look(std::string_view word)
{
    if (!begins_ && !ends_)
        return nearest_.look(word);
    if (letters_.empty() || word.empty())
        return;
    // A library has ten thousand names. A typing error changes one end of a word at most.
    if (begins_ ? word.back() != letters_.back() : word.front() != letters_.front())
        return;
    for (size_t size = letters_.size() - 1; size <= letters_.size() + 1 && size <= word.size(); ++size)
        nearest_.look(begins_ ? word.substr(word.size() - size) : word.substr(0, size));
}

std::string NearestPattern::word() const
{
    return nearest_.word().empty() ? "" : (begins_ ? "*" : "") + nearest_.word() + (ends_ ? "*" : "");
}

std::string did_you_mean(const std::string& word)
{
    return word.empty() ? "" : "; did you mean \"" + word + "\"?";
}

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// What somebody meant who mistyped a word.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace fastsdt {

/// Looks at words one after another, and keeps the one that needs the fewest letters changed, added, left out or exchanged with the next: two
/// at most, of a word of fewer than six letters one, of fewer than three none.
class Nearest {
public:
    explicit Nearest(std::string_view meant)
        : meant_(meant), least_(meant.size() < shortest          ? 1
                                    : meant.size() < long_enough ? 2
                                                                 : 3)
    {}
    void look(std::string_view word);
    const std::string& word() const { return word_; } ///< empty: none is near

private:
    static constexpr size_t shortest = 3, long_enough = 6; // of a shorter one each other short word is near
    const std::string meant_;
    size_t least_;
    std::string word_;
};

/// The same for a pattern that begins or ends with its only "*": of each word the beginning or end is looked at, and what is kept is a pattern.
/// Of a plain word it is Nearest; near other patterns is nothing.
class NearestPattern {
public:
    explicit NearestPattern(std::string_view meant);
    void look(std::string_view word);
    std::string word() const; ///< empty: none is near

private:
    const bool begins_, ends_; // with the "*"
    const std::string letters_;
    Nearest nearest_;
};

/// "; did you mean \"WORD\"?", or nothing of an empty word.
std::string did_you_mean(const std::string& word);
template <class Of> std::string did_you_mean(const Of& nearest)
{
    return did_you_mean(std::string(nearest.word()));
}

} // namespace fastsdt

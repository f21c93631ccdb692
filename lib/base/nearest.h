// SPDX-License-Identifier: BSD-2-Clause
// What somebody meant who mistyped a word.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace fastsdt {

/// Looks at words one after another, and keeps the one that needs the fewest letters changed, added, left out or exchanged with the next: two
/// at most, of a word of fewer than four letters none.
class Nearest {
public:
    explicit Nearest(std::string_view meant) : meant_(meant), least_(meant.size() < shortest ? 1 : 3) {}
    void look(std::string_view word);
    const std::string& word() const { return word_; } ///< empty: none is near

private:
    static constexpr size_t shortest = 4; // of a shorter one each other short word is near
    const std::string meant_;
    size_t least_;
    std::string word_;
};

/// "; did you mean \"WORD\"?", or nothing.
std::string did_you_mean(const Nearest& nearest);

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// Source lines of addresses, from DWARF in the file or in its separate debug file.
#pragma once
#include "elf/image.h"

#include <memory>
#include <optional>
#include <string_view>

namespace fastsdt {

struct Line {
    std::string_view file; ///< as the compiler was given it, joined with its directory if that is short
    int line = 0;
};

/// Looks into the file itself and its debug file (elf/debug_file.h). Opens nothing before the first question.
class Lines {
public:
    explicit Lines(const Image& image);
    ~Lines();
    /// Address as Image numbers them. The view lives as long as this object.
    std::optional<Line> at(uint64_t address);
    /// Lines were not looked up because the debug information would have cost more than a file of its size should.
    bool left_out() const { return left_out_; }

private:
    struct State;
    void open();
    const Image& image_;
    std::unique_ptr<State> state_;
    bool left_out_ = false;
};

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// Source lines of addresses, and addresses of source lines, from DWARF in the file or in its separate debug file.
#pragma once
#include "elf/image.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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
    /// Where a line's code begins: of each function, and of each place where that is inlined, the lowest address, as Image numbers them.
    /// A loop's line is where the loop begins, then.
    struct Places {
        std::vector<uint64_t> addresses;
        bool has_file = false; ///< some unit has lines of such a source
        int next = 0;          ///< no addresses, and this is the first line behind that has some; 0: none
    };
    /// @param source  as the compiler was given it, or the end of that: "a.c", "src/a.c"  @param column  0: any
    Places places(std::string_view source, int line, int column = 0);
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

// SPDX-License-Identifier: BSD-2-Clause
// Functions that the compiler has put into others: whose code an address is, besides the function's that has a symbol. From DWARF in the file
// or in its separate debug file.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fastsdt {

class Inlined {
public:
    /// Opens nothing before the first question. @param path  of a file, which is trusted no more than its contents
    explicit Inlined(std::string path);
    ~Inlined();
    Inlined(const Inlined&) = delete;
    Inlined& operator=(const Inlined&) = delete;
    /// The functions that are inlined there, the innermost first, as symbols would have their names. @param address  as the file numbers
    /// them: a vaddr. Empty where there is no debug information, or too much.
    std::vector<std::string> at(uint64_t address);

private:
    struct State;
    const std::string path_;
    std::unique_ptr<State> state_;
};

} // namespace fastsdt

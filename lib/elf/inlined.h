// SPDX-License-Identifier: BSD-2-Clause
// Functions that the compiler has put into others: whose code an address is, besides the function's that has a symbol, and where in the sources
// each of them is. From DWARF in the file or in its separate debug file.
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
    struct Function {
        std::string name;   ///< as symbols would have it
        std::string source; ///< "/src/a.c:12": where it is in it, or calls what is inlined in it. Empty: not known
    };
    struct Place {
        std::vector<Function> inlined; ///< the innermost first
        std::string source;            ///< the same of the function that has them
    };
    /// @param address  as the file numbers them: a vaddr. Nothing is known where there is no debug information, or too much.
    Place at(uint64_t address);

private:
    struct State;
    const std::string path_;
    std::unique_ptr<State> state_;
};

} // namespace fastsdt

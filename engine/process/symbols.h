// SPDX-License-Identifier: BSD-2-Clause
// Names of addresses in a process: the symbols of its files and of their debug files, and what a program that makes code at run time has
// written to /tmp/perf-PID.map, as bpftrace has it, or to a jitdump. Some of the files that it has had mapped are kept open, so that names
// are found after it has unmapped them, or has ended.
#pragma once
#include "base/descriptor.h"
#include "elf/image.h"
#include "process/view.h"
#include "script/stack_form.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// Behind the name of a function whose code is in another's, in a stack.
inline constexpr std::string_view inlined_mark = " (inlined)";

class Symbols {
public:
    explicit Symbols(ProcessView& view, StackStyle style = {});
    Symbols(const Symbols&) = delete;
    Symbols& operator=(const Symbols&) = delete;
    ~Symbols();

    /// Takes note of what is mapped now: these. What was mapped before counts where nothing is in its place.
    void look(const std::vector<Mapping>& mappings);
    /// "symbol+12", or "0x7f0012345678" where no symbol is. What has to be is escaped.
    std::string name(uint64_t address);
    /// Of a frame of a stack: the functions that are inlined there, "symbol (inlined)" each, the innermost first, and then name(address). With
    /// lines of the sources they are "[inlined] symbol@/src/a.c:12" and "symbol+34@/src/a.c:56", as bpftrace has them.
    /// @param returns  address is where a call comes back to
    std::vector<std::string> frame(uint64_t address, bool returns);
    /// Of a stack, the innermost call first: frame() of each, a line each.
    std::string calls(std::span<const uint64_t> addresses);
    /// name() without its offset, as bpftrace has it.
    std::string function(uint64_t address);
    /// Debug files that were found and are not used, each one line.
    const std::set<std::string>& refused() const { return refused_; }

private:
    struct Symbol {
        uint64_t start, size;
        std::string name;
    };
    struct Module;
    struct Piece {
        uint64_t start, end, offset;
        std::shared_ptr<Module> module;
    };
    void read(Module& module);
    static void add(const Image& image, std::vector<Symbol>& to);
    static const Symbol* find(const std::vector<Symbol>& symbols, uint64_t address);
    /// @param in_file  to the address as its file numbers it, or as it is. nullptr: of no file
    Module* module_of(uint64_t address, uint64_t& in_file);
    std::string in_file_of_code(uint64_t address);
    void read_map_of_code();
    void read_dump();

    ProcessView& view_;
    const StackStyle style_;
    Descriptor root_;                                        // of its file system
    Descriptor folder_;                                      // that it was in
    std::map<std::string, std::shared_ptr<Module>> modules_; // by device and inode
    size_t inlined_ = 0;                                     // modules that have it
    std::vector<Piece> pieces_;                              // the newest last
    std::vector<Symbol> made_;                               // of /tmp/perf-PID.map, by address
    std::pair<int64_t, int64_t> made_seen_;                  // the file's size and time when it was read
    Descriptor dump_;                                        // jit-PID.dump
    uint64_t dump_read_ = 0;                                 // bytes of it
    std::map<uint64_t, Symbol> dumped_;                      // of it, by start; none overlaps another
    std::set<std::string> refused_;
};

/// Of a process that is known longer than a session of it, or has none.
struct OwnSymbols {
    OwnSymbols(pid_t pid, StackStyle style) : view(pid), symbols(view, style) {}
    /// @param mappings  that it has now, if they were just read
    void look(const std::vector<Mapping>& mappings = {}) { symbols.look(mappings.empty() ? view.look() : mappings); }
    ProcessView view;
    Symbols symbols;
};

/// The name of the function at an address that says nothing of whose it is. The address, where no process has one or two have others.
std::string function_of_any(const std::vector<Symbols*>& processes, uint64_t address);

/// A function or a variable of a file, as its symbols have it.
struct SymbolInFile {
    uint64_t address = 0, size = 0;
};
std::optional<SymbolInFile> symbol_in(const std::string& path, const std::string& name);

} // namespace fastsdt::engine

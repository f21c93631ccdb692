// SPDX-License-Identifier: BSD-2-Clause
#include "process/symbols.h"

#include "base/printable.h"
#include "base/unusable.h"
#include "elf/entries.h"
#include "elf/inlined.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "proc/mapped_file.h"
#include "process/ptrace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace fastsdt::engine {

/// A file; its symbols are read when the first is wanted.
struct Symbols::Module {
    Mapping mapping; // one of it
    Descriptor file; // see keep_open()
    bool is_read = false;
    struct Loaded {
        FileOffset offset;
        Vaddr address;
        uint64_t size;
    };
    std::vector<Loaded> segments;
    std::vector<Symbol> symbols; // by address
    std::unique_ptr<Inlined> inlined;
};

namespace {

std::string path_of(const Descriptor& file)
{
    return fmt::format("/proc/self/fd/{}", file.get());
}

// A hostile process may have names as long as it likes, and map files.
constexpr size_t longest_name = 1024;
constexpr off_t largest_map = off_t(256) << 20;

constexpr size_t most_open = 128;  // files at a time
constexpr size_t most_gone = 4096; // mappings that are not there any more

std::string readable(const std::string& name)
{
    if (name.size() > longest_name)
        return printable(name.substr(0, longest_name)) + "...";
    // Other names may be those of types: "h" is unsigned char.
    char* const plain = name.starts_with("_Z") ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr) : nullptr;
    const std::string text = printable(plain ? plain : name);
    std::free(plain);
    return text;
}

} // namespace

Symbols::Symbols(pid_t pid)
    : pid_(pid), inner_(inner_number(pid)),
      root_(open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))
{
    look();
}

Symbols::~Symbols() = default;

void Symbols::look()
{
    std::vector<Piece> now;
    for (const Mapping& mapping : mappings_of(pid_)) {
        if (!mapping.executable || !mapping.inode)
            continue;
        std::shared_ptr<Module>& module = modules_[fmt::format("{} {}", mapping.device, mapping.inode)];
        const bool fresh = !module;
        if (fresh)
            module = std::make_shared<Module>();
        module->mapping = mapping;
        if (fresh)
            keep_open(module); // its name may soon lead to another file
        now.push_back({mapping.start, mapping.end, mapping.offset, module});
    }
    std::erase_if(pieces_, [&](const Piece& old) {
        return std::any_of(now.begin(), now.end(),
                           [&](const Piece& piece) { return piece.start < old.end && old.start < piece.end; });
    });
    if (pieces_.size() > most_gone)
        pieces_.erase(pieces_.begin(), pieces_.end() - most_gone);
    pieces_.insert(pieces_.end(), now.begin(), now.end());
    std::erase_if(opened_,
                  [](const std::shared_ptr<Module>& module) { return module.use_count() == 2; }); // and modules_
    std::erase_if(modules_, [](const auto& module) { return module.second.use_count() == 1; });
}

// A process may map as many files as it likes, and descriptors are few: those stay open that were wanted last. Another is found by its name,
// if that still leads to it.
void Symbols::keep_open(const std::shared_ptr<Module>& module)
{
    if (!module->file)
        module->file = open_mapped_file(pid_, module->mapping);
    std::erase(opened_, module);
    if (module->file)
        opened_.push_back(module);
    if (opened_.size() > most_open) {
        opened_.front()->file = {};
        opened_.front()->inlined.reset();
        opened_.pop_front();
    }
}

void Symbols::add(const Image& image, std::vector<Symbol>& to)
{
    for (const char* table : {".symtab", ".dynsym"}) {
        const Section* const section = image.section(table);
        if (!section)
            continue;
        const Entries<Elf64_Sym> symbols(image, *section);
        for (size_t i = 0; i < symbols.size(); ++i) {
            const Elf64_Sym symbol = symbols[i];
            const auto type = ELF64_ST_TYPE(symbol.st_info);
            const bool may_be_code = type == STT_NOTYPE || type == STT_FUNC || type == STT_GNU_IFUNC;
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_size != 0 && may_be_code)
                to.push_back({symbol.st_value, symbol.st_size, std::string(symbols.text(symbol.st_name))});
        }
        return; // .symtab has all that .dynsym has
    }
}

void Symbols::read(Module& module)
{
    module.is_read = true;
    if (!module.file)
        return;
    const auto nothing = [](const Error&) {};
    try {
        Image::each(
            path_of(module.file),
            [&](const Image& image) {
                for (const Segment& segment : image.segments())
                    if (segment.executable)
                        module.segments.push_back({segment.offset, segment.address, segment.file_size});
                const std::string id = image.build_id();
                if (!image.section(".symtab") && id.size() > 2)
                    try {
                        Image::each(
                            fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2)),
                            [&](const Image& debug) { add(debug, module.symbols); }, nothing);
                    } catch (const Unusable&) {
                        // not installed
                    }
                if (module.symbols.empty())
                    add(image, module.symbols);
            },
            nothing);
    } catch (const Unusable&) {
        // no ELF file
    }
    std::stable_sort(module.symbols.begin(), module.symbols.end(),
                     [](const Symbol& a, const Symbol& b) { return a.start < b.start; });
}

std::optional<SymbolInFile> symbol_in(const std::string& path, const std::string& name)
{
    std::optional<SymbolInFile> found;
    try {
        Image::each(
            path,
            [&](const Image& image) {
                for (const char* table : {".symtab", ".dynsym"}) {
                    const Section* const section = image.section(table);
                    if (!section || found)
                        continue;
                    const Entries<Elf64_Sym> symbols(image, *section);
                    for (size_t i = 0; i < symbols.size() && !found; ++i)
                        if (const Elf64_Sym symbol = symbols[i];
                            symbol.st_shndx != SHN_UNDEF && symbols.text(symbol.st_name) == name)
                            found = {symbol.st_value, symbol.st_size};
                }
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // no ELF file
    }
    return found;
}

// The innermost of those that have the address: ProcSyms::Module::find_addr() of bcc, src/cc/bcc_syms.cc.
const Symbols::Symbol* Symbols::find(const std::vector<Symbol>& symbols, uint64_t address)
{
    auto next = std::upper_bound(symbols.begin(), symbols.end(), address,
                                 [](uint64_t value, const Symbol& symbol) { return value < symbol.start; });
    if (next == symbols.begin())
        return nullptr;
    const uint64_t limit = std::prev(next)->start;
    while (next != symbols.begin()) {
        --next;
        if (address - next->start < next->size)
            return &*next;
        if (limit > next->start + next->size)
            return nullptr;
    }
    return nullptr;
}

// "START SIZE name" a line, hexadecimal: tools/perf/Documentation/jit-interface.txt. It is read again if it has changed.
void Symbols::read_map_of_code()
{
    const std::string name = fmt::format("tmp/perf-{}.map", inner_);
    const Descriptor file(openat(root_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    struct stat status{};
    if (!file || fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > largest_map)
        return;
    const std::pair<int64_t, int64_t> seen(status.st_size,
                                           status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
    if (seen == made_seen_)
        return;
    made_seen_ = seen;
    made_.clear();
    std::ifstream lines(path_of(file));
    for (std::string line; std::getline(lines, line);) {
        Symbol symbol{};
        const char* const end = line.data() + line.size();
        const auto start = std::from_chars(line.data(), end, symbol.start, 16);
        if (start.ec != std::errc() || start.ptr == end)
            continue;
        const auto size = std::from_chars(start.ptr + 1, end, symbol.size, 16);
        if (size.ec != std::errc() || size.ptr == end)
            continue;
        symbol.name.assign(size.ptr + 1, end);
        made_.push_back(std::move(symbol));
    }
    std::stable_sort(made_.begin(), made_.end(), [](const Symbol& a, const Symbol& b) { return a.start < b.start; });
}

Symbols::Module* Symbols::module_of(uint64_t address, uint64_t& in_file)
{
    in_file = address;
    const auto piece = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                    [&](const Piece& each) { return each.start <= address && address < each.end; });
    if (piece == pieces_.rend())
        return nullptr;
    keep_open(piece->module);
    if (!piece->module->is_read)
        read(*piece->module);
    const FileOffset offset(address - piece->start + piece->offset);
    for (const Module::Loaded& segment : piece->module->segments)
        if (offset - segment.offset < segment.size)
            in_file = (segment.address + (offset - segment.offset)).value;
    return piece->module.get();
}

std::string Symbols::name(uint64_t address)
{
    uint64_t in_file = 0;
    const Module* const module = module_of(address, in_file);
    if (!module)
        read_map_of_code();
    const Symbol* const found = find(module ? module->symbols : made_, in_file);
    if (!found)
        return fmt::format("0x{:x}", address);
    return fmt::format("{}+{}", readable(found->name), in_file - found->start);
}

std::vector<std::string> Symbols::frame(uint64_t address, bool returns)
{
    std::vector<std::string> names;
    uint64_t in_file = 0;
    // The call is before where it comes back to, and may be the last instruction of what was inlined.
    if (Module* const module = module_of(address - returns, in_file); module && module->file) {
        if (!module->inlined)
            module->inlined = std::make_unique<Inlined>(path_of(module->file));
        for (const std::string& name : module->inlined->at(in_file))
            names.push_back(fmt::format("{}{}", readable(name), inlined_mark));
    }
    names.push_back(name(address));
    return names;
}

} // namespace fastsdt::engine

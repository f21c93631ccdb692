// SPDX-License-Identifier: BSD-2-Clause
#include "process/symbols.h"

#include "base/demangle.h"
#include "base/printable.h"
#include "base/unusable.h"
#include "elf/entries.h"
#include "elf/inlined.h"
#include "proc/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {

/// A file; its symbols are read when the first is wanted.
struct Symbols::Module {
    Mapping mapping; // one of it
    bool is_read = false;
    struct Loaded {
        FileOffset offset;
        Vaddr address;
        uint64_t size;
    };
    std::vector<Loaded> segments;
    std::vector<Symbol> symbols; // by address
    std::string build_id;        // hexadecimal
    std::unique_ptr<Inlined> inlined;
};

namespace {

// A hostile process may have names as long as it likes, and map files.
constexpr size_t longest_name = 1024;
constexpr off_t largest_map = off_t(256) << 20;

constexpr size_t most_open = 128;  // files at a time: descriptors are few
constexpr size_t most_gone = 4096; // mappings that are not there any more

constexpr char vdso[] = "[vdso]"; // a mapping's name

// This tool's: one kernel has one for all processes of a kind, and those of a process cannot be read any more when it has ended.
std::span<const std::byte> own_vdso()
{
    const auto address = getauxval(AT_SYSINFO_EHDR);
    const std::vector<Mapping> mappings = read_maps(getpid());
    const Mapping* const mapping = mapping_at(mappings, address);
    if (!mapping)
        return {};
    return {reinterpret_cast<const std::byte*>(mapping->start),
            mapping->end - mapping->start}; // NOLINT(performance-no-int-to-ptr)
}

// Not a 32-bit program's, whose addresses have no upper half.
bool is_own_vdso(const Mapping& mapping)
{
    return mapping.name == vdso && mapping.start >> 32 != 0;
}

std::string readable(const std::string& name)
{
    if (name.size() > longest_name)
        return printable(name.substr(0, longest_name)) + "...";
    return printable(shown_name(name));
}

std::string at_source(const std::string& source)
{
    return source.empty() ? "" : "@" + printable(source);
}

} // namespace

Symbols::Symbols(ProcessView& view, StackStyle style)
    : view_(view), style_(style), root_(open(view.entry("root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      folder_(open(view.entry("cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))
{
    view.keep_files(most_open);
}

Symbols::~Symbols() = default;

void Symbols::look(const std::vector<Mapping>& mappings)
{
    std::vector<Piece> now;
    for (const Mapping& mapping : mappings) {
        if (!mapping.executable || !(mapping.inode || is_own_vdso(mapping)))
            continue;
        std::shared_ptr<Module>& module = modules_[fmt::format("{} {}", mapping.device, mapping.inode)];
        const bool fresh = !module;
        if (fresh)
            module = std::make_shared<Module>();
        module->mapping = mapping;
        if (fresh && mapping.inode)
            view_.file(mapping); // its name may soon lead to another file
        now.push_back({mapping.start, mapping.end, mapping.offset, module});
        // Whoever writes a jitdump maps its first page executable, so that others find it.
        if (!dump_ && mapping.name.ends_with(fmt::format("/jit-{}.dump", view_.inner_number())))
            dump_ = open_mapped_file(view_.pid(), mapping);
    }
    std::erase_if(pieces_, [&](const Piece& old) {
        return std::any_of(now.begin(), now.end(),
                           [&](const Piece& piece) { return piece.start < old.end && old.start < piece.end; });
    });
    if (pieces_.size() > most_gone)
        pieces_.erase(pieces_.begin(), pieces_.end() - most_gone);
    pieces_.insert(pieces_.end(), now.begin(), now.end());
    std::erase_if(modules_, [](const auto& module) { return module.second.use_count() == 1; });
}

void Symbols::add(const Image& image, std::vector<Symbol>& to)
{
    const Section* table = image.section(".symtab");
    if (!table)
        table = image.section(".dynsym"); // .symtab has all that it has
    if (!table)
        return;
    const Entries<Elf64_Sym> symbols(image, *table);
    for (size_t i = 0; i < symbols.size(); ++i) {
        const Elf64_Sym symbol = symbols[i];
        const auto type = ELF64_ST_TYPE(symbol.st_info);
        const bool may_be_code = type == STT_NOTYPE || type == STT_FUNC || type == STT_GNU_IFUNC;
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_size != 0 && may_be_code)
            to.push_back({symbol.st_value, symbol.st_size, std::string(without_version(symbols.text(symbol.st_name)))});
    }
}

void Symbols::read(Module& module)
{
    module.is_read = true;
    const auto read_from = [&](const std::string& path, std::span<const std::byte> bytes) {
        Image::each(
            path, bytes, // where debug files are looked for
            [&](const Image& image) {
                for (const Segment& segment : image.segments())
                    if (segment.executable)
                        module.segments.push_back({segment.offset, segment.address, segment.file_size});
                module.build_id = image.build_id();
                image.find_names();
                for (const Error& refused : image.refused_names())
                    refused_.insert(refused.at(module.mapping.name).text());
                for (const Image* one : image.files_with_symbols())
                    add(*one, module.symbols);
                for (const Function& of_go : image.functions_of_go())
                    module.symbols.push_back({of_go.address, of_go.size, std::string(of_go.name)});
            },
            [](const Error&) {});
    };
    try {
        if (!module.mapping.inode)
            read_from(vdso, own_vdso());
        else if (const Descriptor& descriptor = view_.file(module.mapping))
            read_from(view_.path(module.mapping.name), MappedFile(path_of(descriptor)).bytes());
    } catch (const Unusable&) {
        // no ELF file
    }
    std::stable_sort(module.symbols.begin(), module.symbols.end(),
                     [](const Symbol& a, const Symbol& b) { return a.start < b.start; });
}

std::optional<SymbolInFile> symbol_in(const std::string& path, const std::string& name)
{
    std::optional<SymbolInFile> found;
    const auto look = [&](const Image& image) {
        for (const char* table : {".symtab", ".dynsym"}) {
            const Section* const section = image.section(table);
            if (!section || found)
                continue;
            const Entries<Elf64_Sym> symbols(image, *section);
            for (size_t i = 0; i < symbols.size() && !found; ++i)
                if (const Elf64_Sym symbol = symbols[i];
                    symbol.st_shndx != SHN_UNDEF && without_version(symbols.text(symbol.st_name)) == name)
                    found = {symbol.st_value, symbol.st_size};
        }
    };
    each_image(path, [&](const Image& image) {
        look(image);
        if (!found)
            image.find_names();
        for (const Image* other : image.files_with_symbols())
            look(*other);
    });
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
    const std::string name = fmt::format("tmp/perf-{}.map", view_.inner_number());
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

// tools/perf/Documentation/jitdump-specification.txt: a header with its own size, and records, which are appended while the program runs.
void Symbols::read_dump()
{
    struct Header {
        uint32_t magic, version, size, machine, padding, pid;
        uint64_t timestamp, flags;
    };
    struct Prefix {
        uint32_t id, size;
        uint64_t timestamp;
    };
    struct Load { // a name and the code behind it
        uint32_t pid, tid;
        uint64_t vma, address, size, index;
    };
    struct Move {
        uint32_t pid, tid;
        uint64_t vma, from, to, size, index;
    };
    constexpr uint32_t magic = 0x4a695444, load = 0, move = 1;
    const auto read = [this](uint64_t at, auto& to) {
        return pread(dump_.get(), &to, sizeof to, off_t(at)) == ssize_t(sizeof to);
    };
    Header header;
    if (!dump_) { // V8 writes it there, and the process may have ended before anybody saw it mapped
        Descriptor file(openat(folder_.get(), fmt::format("jit-{}.dump", view_.inner_number()).c_str(),
                               O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
        struct stat status{};
        if (file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))
            dump_ = std::move(file);
    }
    if (!dump_ || !read(0, header) || header.magic != magic || header.size < sizeof header)
        return;
    const auto add = [this](Symbol symbol) { // in place of what was there
        auto at = dumped_.upper_bound(symbol.start);
        if (const auto before = at == dumped_.begin() ? at : std::prev(at);
            before != at && symbol.start - before->first < before->second.size)
            at = dumped_.erase(before);
        while (at != dumped_.end() && at->first - symbol.start < symbol.size)
            at = dumped_.erase(at);
        dumped_.insert_or_assign(symbol.start, std::move(symbol));
    };
    dump_read_ = std::max<uint64_t>(dump_read_, header.size);
    Prefix prefix;
    for (; dump_read_ < uint64_t(largest_map) && read(dump_read_, prefix) && prefix.size >= sizeof prefix;
         dump_read_ += prefix.size) {
        const uint64_t body = dump_read_ + sizeof prefix;
        if (Load one; prefix.id == load && prefix.size > sizeof prefix + sizeof one && read(body, one)) {
            std::string name(std::min<size_t>(prefix.size - sizeof prefix - sizeof one, longest_name), '\0');
            const ssize_t got = pread(dump_.get(), name.data(), name.size(), off_t(body + sizeof one));
            if (got <= 0 || one.size == 0)
                break; // it is being written
            name.resize(strnlen(name.data(), size_t(got)));
            add({one.address, one.size, std::move(name)});
        } else if (Move moved; prefix.id == move && read(body, moved)) {
            if (auto old = dumped_.extract(moved.from))
                add({moved.to, moved.size, std::move(old.mapped().name)});
        }
    }
}

Symbols::Module* Symbols::module_of(uint64_t address, uint64_t& in_file)
{
    in_file = address;
    const auto piece = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                    [&](const Piece& each) { return each.start <= address && address < each.end; });
    if (piece == pieces_.rend())
        return nullptr;
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
    const Symbol* found = module ? find(module->symbols, in_file) : nullptr;
    if (!found
        && (!module || module->symbols.empty())) { // code that the program has made, in a file of its own perhaps
        in_file = address;
        read_dump();
        if (const auto behind = dumped_.upper_bound(address);
            behind != dumped_.begin() && address - std::prev(behind)->first < std::prev(behind)->second.size)
            found = &std::prev(behind)->second;
    }
    if (!found && in_file == address) {
        read_map_of_code();
        found = find(made_, address);
    }
    if (!found)
        return fmt::format("0x{:x}", address);
    return fmt::format("{}+{}", readable(found->name), in_file - found->start);
}

std::string Symbols::calls(std::span<const uint64_t> addresses)
{
    std::string lines;
    for (bool returns = false; const uint64_t address : addresses)
        for (const std::string& name : frame(address, std::exchange(returns, true)))
            lines += name + '\n';
    return lines;
}

std::string Symbols::function(uint64_t address)
{
    const std::string symbol = name(address);
    return symbol.substr(0, symbol.rfind('+'));
}

std::string function_of_any(const std::vector<Symbols*>& processes, uint64_t address)
{
    const std::string unknown = fmt::format("0x{:x}", address);
    std::set<std::string> found;
    for (Symbols* const process : processes)
        found.insert(process->function(address));
    found.erase(unknown);
    return found.size() == 1 ? *found.begin() : unknown;
}

// Its file's build id, and where in the file it is. The address alone, where no file has it.
std::string Symbols::in_file_of_code(uint64_t address)
{
    const auto piece = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                    [&](const Piece& each) { return address >= each.start && address < each.end; });
    if (piece == pieces_.rend())
        return fmt::format("{:x}", address);
    if (!piece->module->is_read)
        read(*piece->module);
    const std::string& build_id = piece->module->build_id;
    return fmt::format("{} 0x{:x}", build_id.empty() ? "0" : build_id, address - piece->start + piece->offset);
}

std::vector<std::string> Symbols::frame(uint64_t address, bool returns)
{
    if (style_.form == StackForm::raw)
        return {fmt::format("{:x}", address)};
    if (style_.form == StackForm::build_id)
        return {in_file_of_code(address)};
    const bool has_lines = style_.has_lines && style_.form == StackForm::bpftrace;
    std::vector<std::string> names;
    std::string source;
    uint64_t in_file = 0;
    std::string file = "unknown";
    // The call is before where it comes back to, and may be the last instruction of what was inlined.
    if (Module* const module = module_of(address - returns, in_file);
        module && (module->inlined || view_.file(module->mapping))) {
        file = printable(module->mapping.name);
        if (!module->inlined) {
            if (inlined_++ == most_open) { // each has its file open
                for (const auto& [key, each] : modules_)
                    each->inlined.reset();
                inlined_ = 1;
            }
            module->inlined = std::make_unique<Inlined>(path_of(view_.file(module->mapping)));
        }
        const Inlined::Place place = module->inlined->at(in_file);
        for (const Inlined::Function& function : place.inlined)
            names.push_back(has_lines ? "[inlined] " + readable(function.name) + at_source(function.source)
                                      : fmt::format("{}{}", readable(function.name), inlined_mark));
        source = has_lines ? at_source(place.source) : "";
    }
    names.push_back(name(address) + source);
    if (style_.form == StackForm::perf)
        for (std::string& each : names)
            each = fmt::format("{:x} {}{}", address, each, each.ends_with(inlined_mark) ? "" : " (" + file + ")");
    return names;
}

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
//
// libdw reads the debug information, libdwfl says where a relocatable object's sections are. Two things are done here: units are found by their
// address ranges, since clang writes no .debug_aranges; and nothing is read that costs more than a file of that size
// should, because libdw decompresses whole sections and keeps about a hundred bytes for each row of a line table.
#include "base/cover.h"
#include "base/integers.h"
#include "elf/debug_file.h"
#include "elf/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt {
namespace {

// Bytes that libdw takes for a unit's line table (libdw/dwarf_getsrclines.c): for each row, and for each byte of the header,
// which names directories and files.
constexpr uint64_t row_cost = 100, header_cost = 32;

// What libdw would take for the line table at `offset`: its rows are counted by its program (DWARF 5, 6.2.5). Nothing: damaged.
std::optional<uint64_t> cost_of(std::span<const std::byte> tables, uint64_t offset, bool big)
{
    const auto number = [&](std::span<const std::byte> from, size_t at, size_t size) -> uint64_t {
        return at <= from.size() && size <= from.size() - at ? load(&from[at], size, big) : 0;
    };
    if (offset > tables.size() || tables.size() - offset < 12)
        return {};
    auto table = tables.subspan(offset);
    const size_t word = number(table, 0, 4) == 0xffffffff ? 8 : 4; // of the 64-bit form
    const uint64_t size = word == 8 ? number(table, 4, 8) : number(table, 0, 4);
    table = table.subspan(word == 8 ? 12 : 4);
    if (size > table.size())
        return {};
    table = table.first(size);
    const uint64_t version = number(table, 0, 2);
    const size_t before = version >= 5 ? 4 : 2; // and the sizes of addresses and segments
    const uint64_t header = number(table, before, word);
    const size_t lengths = before + word + (version >= 4 ? 6 : 5); // instruction's least length, ..., opcode_base
    if (lengths > table.size() || header > table.size() - before - word)
        return {};
    const auto opcode_base = std::to_integer<unsigned>(table[lengths - 1]);
    const auto operands = table.subspan(lengths);
    const auto program = table.subspan(before + word + header);
    uint64_t rows = 0;
    size_t at = 0;
    const auto uleb = [&] {
        uint64_t value = 0;
        for (unsigned shift = 0; at < program.size(); shift += 7) {
            const auto byte = std::to_integer<uint64_t>(program[at++]);
            value |= shift < 64 ? (byte & 0x7f) << shift : 0;
            if (byte < 0x80)
                break;
        }
        return value;
    };
    while (at < program.size()) {
        const auto opcode = std::to_integer<unsigned>(program[at++]);
        if (opcode >= opcode_base) {
            ++rows;
        } else if (opcode == 0) {
            const uint64_t length = uleb();
            rows += length > 0 && at < program.size() && program[at] == std::byte(DW_LNE_end_sequence);
            at += std::min<uint64_t>(length, program.size() - at);
        } else if (opcode == DW_LNS_fixed_advance_pc) {
            at += 2;
        } else {
            rows += opcode == DW_LNS_copy;
            for (auto left = opcode <= operands.size() ? std::to_integer<unsigned>(operands[opcode - 1]) : 0; left > 0;
                 --left)
                uleb();
        }
    }
    return rows * row_cost + header * header_cost;
}

bool regular_or_absent(const std::filesystem::path& path)
{
    struct stat status;
    return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

} // namespace

struct Lines::State {
    explicit State(const Image& image) : image(image) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const Image& image;
    bool looked = false; // for the separate debug file
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    Elf* elf = nullptr; // libdwfl's own, in which relocatable sections have the addresses it gave them
    GElf_Addr bias = 0; // what libdwfl adds to the file's addresses
    Dwarf* dwarf = nullptr;
    Dwarf_Addr dwarf_bias = 0;
    Cover covered;                // addresses in `dwarf`, by number in `units`
    std::vector<Dwarf_Off> units; // of the unit's first entry; one number for each range of addresses
    std::span<const std::byte> line_tables;
    std::map<Dwarf_Word, bool> asked; // line tables by offset: whether the budget allowed them
    uint64_t budget = 0;              // bytes that libdw may still take for line tables

    ~State()
    {
        if (dwfl)
            dwfl_end(dwfl);
    }

    static int find_debug_file(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                               const char* link, GElf_Word crc, char** found);
    template <class Visit> void each_unit(const Visit& visit);
    void find_units(uint64_t most);
    void find_line_tables();
    bool afford(Dwarf_Die& unit);
};

// libdwfl's own search opens whatever has the name, and asks debuginfod servers unasked. It asks a second time for what dwz has put into
// another file, which libdw opens by itself.
int Lines::State::find_debug_file(Dwfl_Module*, void** data, const char*, Dwarf_Addr, const char*, const char*,
                                  GElf_Word, char** found)
{
    auto* const state = static_cast<State*>(*data);
    if (!state || std::exchange(state->looked, true) || !state->image.member().empty())
        return -1;
    const DebugFile debug = fastsdt::find_debug_file(state->image);
    if (!debug.file || !affordable(debug.file->descriptor()))
        return -1;
    *found = strdup(debug.path.c_str());
    return fcntl(debug.file->descriptor(), F_DUPFD_CLOEXEC, 0);
}

// Those with code. @param visit  false: no more
template <class Visit> void Lines::State::each_unit(const Visit& visit)
{
    Dwarf_CU* cu = nullptr;
    Dwarf_Die die;
    uint8_t type = 0;
    while (dwarf_get_units(dwarf, cu, &cu, nullptr, &type, &die, nullptr) == 0)
        if (type != DW_UT_type && type != DW_UT_split_type && type != DW_UT_partial && !visit(die))
            return;
}

// The address ranges of all units.
void Lines::State::find_units(uint64_t most)
{
    std::vector<Cover::Range> ranges;
    bool all = true;
    each_unit([&](Dwarf_Die& die) {
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
            if (ranges.size() >= most)
                return all = false;
            ranges.push_back({begin, end});
            units.push_back(dwarf_dieoffset(&die));
        }
        return true;
    });
    if (!all)
        return;
    covered = Cover(ranges);
}

// The section with the line tables. libdw has unpacked it.
void Lines::State::find_line_tables()
{
    Elf* const file = dwarf_getelf(dwarf);
    size_t names = 0;
    if (elf_getshdrstrndx(file, &names) != 0)
        return;
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(file, scn));) {
        GElf_Shdr header;
        const char* name = gelf_getshdr(scn, &header) ? elf_strptr(file, names, header.sh_name) : nullptr;
        if (name && (strcmp(name, ".debug_line") == 0 || strcmp(name, ".zdebug_line") == 0)) {
            if (Elf_Data* data = elf_rawdata(scn, nullptr); data && data->d_buf)
                line_tables = {static_cast<const std::byte*>(data->d_buf), data->d_size};
            return;
        }
    }
}

// Whether the unit's line table can be read: its size stands before it.
bool Lines::State::afford(Dwarf_Die& unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (!dwarf_attr(&unit, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &offset) != 0)
        return false;
    const auto [known, fresh] = asked.try_emplace(offset, false);
    if (!fresh)
        return known->second;
    const auto cost = cost_of(line_tables, offset, elf_getident(dwarf_getelf(dwarf), nullptr)[EI_DATA] == ELFDATA2MSB);
    if (!cost)
        return false;
    if (*cost > budget) {
        budget = 0;
        return false;
    }
    budget -= *cost;
    return known->second = true;
}

Lines::Lines(const Image& image) : image_(image) {}
Lines::~Lines() = default;

void Lines::open()
{
    state_ = std::make_unique<State>(image_);
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {dwfl_build_id_find_elf, State::find_debug_file,
                                             dwfl_offline_section_address, &no_path};
    // libdwfl reads files, so a member of an archive is given to it as one without a name.
    int fd = -1;
    if (image_.member().empty()) {
        fd = ::open(image_.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } else if (fd = ::memfd_create("member", MFD_CLOEXEC); fd >= 0) {
        const auto bytes = image_.file();
        for (size_t done = 0; done < bytes.size();) {
            const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
            if (wrote <= 0) {
                ::close(fd);
                return;
            }
            done += size_t(wrote);
        }
    }
    if (fd < 0)
        return;
    if (!affordable(fd)) {
        left_out_ = true;
        ::close(fd);
        return;
    }
    state_->dwfl = dwfl_begin(&callbacks);
    if (!state_->dwfl) {
        ::close(fd);
        return;
    }
    dwfl_report_begin(state_->dwfl);
    state_->module = dwfl_report_elf(state_->dwfl, image_.name().c_str(), image_.path().c_str(), fd, 0, true);
    if (!state_->module)
        ::close(fd); // otherwise it is libdwfl's now
    dwfl_report_end(state_->dwfl, nullptr, nullptr);
    if (void** data = nullptr;
        state_->module && dwfl_module_info(state_->module, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
        *data = state_.get();
    if (state_->module)
        state_->elf = dwfl_module_getelf(state_->module, &state_->bias);
    Dwarf* const dwarf = state_->elf ? dwfl_module_getdwarf(state_->module, &state_->dwarf_bias) : nullptr;
    if (!dwarf)
        return;
    // The supplementary file of dwz, which libdw opens by itself.
    const char* other = nullptr;
    const void* build_id = nullptr;
    if (dwelf_dwarf_gnu_debugaltlink(dwarf, &other, &build_id) > 0
        && (!regular_or_absent(other)
            || !regular_or_absent(std::filesystem::path(image_.path()).parent_path() / other)))
        return;
    state_->dwarf = dwarf;
    size_t size = 0;
    if (elf_rawfile(dwarf_getelf(dwarf), &size) == nullptr || size == 0)
        size = image_.file().size();
    // All line tables of fastsdt-check, built with -g, would take 1.3 times the file; those of libc6-dbg, which are compressed,
    // 14 times its 4 MB. Read are those of units with probes.
    state_->budget = 8 * size + 64 * least_cost;
    state_->find_units(size / 2 + least_cost);
    state_->find_line_tables();
}

std::optional<Line> Lines::at(uint64_t address)
{
    if (!state_)
        open();
    if (!state_->dwarf)
        return {};
    GElf_Addr there = address + state_->bias;
    if (image_.relocatable()) {
        const Section* section = image_.section_at(address);
        GElf_Shdr header;
        if (!section || !gelf_getshdr(elf_getscn(state_->elf, section->index), &header))
            return {};
        there = state_->bias + header.sh_addr + (address - section->address);
    }
    there -= state_->dwarf_bias;
    const auto unit = state_->covered.first(there);
    Dwarf_Die die;
    if (!unit || !dwarf_offdie(state_->dwarf, state_->units[*unit], &die))
        return {};
    if (!state_->afford(die)) {
        left_out_ |= state_->budget == 0;
        return {};
    }
    Dwarf_Line* const line = dwarf_getsrc_die(&die, there);
    int number = 0;
    const char* file = line && dwarf_lineno(line, &number) == 0 ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    if (!file || number <= 0)
        return {};
    return Line{file, number};
}

Lines::Places Lines::places(std::string_view source, int line, int column)
{
    if (!state_)
        open();
    Places found;
    if (!state_->dwarf || image_.relocatable())
        return found;
    const auto is_source = [&](const char* file) {
        const std::string_view path = file ? file : "";
        return path.ends_with(source) && (path.size() == source.size() || path[path.size() - source.size() - 1] == '/');
    };
    // Rows without instructions, at whose address another line's row stands, count where there is no other.
    struct Lowest {
        uint64_t address = UINT64_MAX, empty = UINT64_MAX;
    };
    std::map<Dwarf_Off, Lowest>
        lowest; // by the function or its copy; of unknown ones each by itself, the empty ones together
    const auto in_file = [&](Dwarf_Addr address) { return address + state_->dwarf_bias - state_->bias; };
    const auto add = [&](Dwarf_Die& unit, Dwarf_Addr address, bool empty) {
        Dwarf_Die* scopes = nullptr;
        const int count = dwarf_getscopes(&unit, address, &scopes);
        Dwarf_Off scope = empty ? 0 : ~address;
        for (int i = 0; i < count; ++i)
            if (const int tag = dwarf_tag(&scopes[i]); tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
                scope = dwarf_dieoffset(&scopes[i]);
                break;
            }
        free(scopes);
        uint64_t& known = empty ? lowest[scope].empty : lowest[scope].address;
        known = std::min(known, in_file(address));
    };
    const auto look = [&](Dwarf_Die unit) {
        Dwarf_Lines* lines = nullptr;
        size_t count = 0;
        if (!state_->afford(unit) || dwarf_getsrclines(&unit, &lines, &count) != 0) {
            left_out_ |= state_->budget == 0;
            return;
        }
        bool before = false; // the row before is of the line
        for (size_t i = 0; i < count; ++i) {
            Dwarf_Line* const row = dwarf_onesrcline(lines, i);
            int number = 0, at = 0;
            bool begins = false, ends = false;
            Dwarf_Addr address = 0;
            if (dwarf_lineno(row, &number) != 0 || dwarf_linecol(row, &at) != 0 || dwarf_lineaddr(row, &address) != 0
                || dwarf_linebeginstatement(row, &begins) != 0 || dwarf_lineendsequence(row, &ends) != 0)
                continue;
            const bool of_source = !ends && is_source(dwarf_linesrc(row, nullptr, nullptr));
            found.has_file = found.has_file || of_source;
            const bool is_it = of_source && number == line && (column == 0 || at == column);
            Dwarf_Addr end = 0;
            const bool empty =
                i + 1 < count && dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) == 0 && end == address;
            // Rows of functions that the linker has dropped begin at 0.
            if (is_it && !before && begins && image_.executable_at(in_file(address)))
                add(unit, address, empty);
            if (of_source && number > line && (found.next == 0 || number < found.next))
                found.next = number;
            before = is_it && !empty && (before || begins);
        }
    };
    // Units of that source first. Those of others may have lines of it too, of headers: they are looked at where it is none's.
    bool named = false;
    state_->each_unit([&](Dwarf_Die& unit) {
        if (is_source(dwarf_diename(&unit))) {
            named = true;
            look(unit);
        }
        return true;
    });
    if (!named)
        state_->each_unit([&](Dwarf_Die& unit) {
            look(unit);
            return true;
        });
    for (const auto& [scope, of_scope] : lowest)
        if (of_scope.address != UINT64_MAX || scope != 0 || lowest.size() == 1)
            found.addresses.push_back(of_scope.address != UINT64_MAX ? of_scope.address : of_scope.empty);
    std::sort(found.addresses.begin(), found.addresses.end());
    return found;
}

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// An ELF file by address. Everything above asks "what stands at this address", and does not care what kind of file it is:
//
//     program, library:  segment  -> file bytes         bytes_at(0x1136): the PT_LOAD whose [address, address + file_size) has it
//     object (.o):       section  -> file bytes         sections have no addresses yet, so lay_out() gives each a multiple of 4096,
//                                                       and place() prints ".text+0x36" for 0x1036
//
// In an object the notes' addresses are relocations. contents() applies those that are absolute, to a copy of the section: a note
// that says `.quad site` reads as the made-up address of the site, and one whose symbol is elsewhere as undefined(), all ones.
//
// Nothing in a header is trusted. Segments are clamped to the file, tables that do not fit end in Unusable, and what libelf would
// copy is paid for: sections of a sound file do not overlap, so all of them together are no larger than the file (afford()).
#include "arch/architecture.h"
#include "base/integers.h"
#include "elf/archive.h"
#include "elf/image.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <limits>

namespace fastsdt {
namespace {

template <class Item, class Address>
auto last_not_above(const std::vector<Item>& sorted, uint64_t address, Address address_of)
{
    const auto after = std::upper_bound(sorted.begin(), sorted.end(), address,
                                        [&](uint64_t a, const Item& item) { return a < address_of(item); });
    return after == sorted.begin() ? sorted.end() : after - 1;
}

// Section numbers that do not fit into a symbol stand in a table of their own.
Elf_Data* wide_indexes(Elf* elf, const std::map<size_t, size_t>& tables, size_t symbol_table)
{
    const auto found = tables.find(symbol_table);
    return found == tables.end() ? nullptr : elf_getdata(elf_getscn(elf, found->second), nullptr);
}

} // namespace

std::string_view name(Image::Kind kind)
{
    switch (kind) {
    case Image::Kind::executable: return "executable";
    case Image::Kind::pie: return "pie";
    case Image::Kind::shared: return "shared";
    case Image::Kind::relocatable: return "relocatable";
    }
    return "";
}

void Image::each(const std::string& path, const std::function<void(const Image&)>& visit,
                 const std::function<void(const Error&)>& trouble, Access access)
{
    const MappedFile file(path, access.copy);
    each(path, file.bytes(), visit, trouble, access);
}

void Image::each(const std::string& path, std::span<const std::byte> file,
                 const std::function<void(const Image&)>& visit, const std::function<void(const Error&)>& trouble,
                 Access access)
{
    if (!is_archive(file)) {
        visit(Image(path, {}, file, access));
        return;
    }
    bool any = false;
    each_member(
        path, file, access,
        [&](const std::string& name, std::span<const std::byte> contents) {
            if (contents.size() < SELFMAG
                || std::string_view(reinterpret_cast<const char*>(contents.data()), SELFMAG) != ELFMAG)
                return;
            any = true;
            try {
                visit(Image(path, name, contents, access));
            } catch (const Unusable& error) {
                trouble(error.error());
            }
        },
        [&](const Error& error) {
            any = true;
            trouble(error);
        });
    if (!any)
        throw Unusable({"an archive without ELF files", path});
}

void Image::unusable(std::string why, std::string cure) const
{
    throw Unusable({std::move(why), path_.empty() ? "" : name(), std::move(cure)});
}

std::string Image::name() const
{
    return member_.empty() ? path_ : fmt::format("{}({})", path_, member_);
}

Image::Image(std::string path, std::string member, std::span<const std::byte> file, Access access)
    : path_(std::move(path)), member_(std::move(member)), access_(access), file_(file)
{
    const std::string_view head(reinterpret_cast<const char*>(file.data()), file.size());
    if (head.starts_with("BC\xc0\xde"))
        unusable("LLVM bitcode (clang -flto), which has no machine code and no notes yet", "read the linked file");
    if (!head.starts_with(ELFMAG))
        unusable("not an ELF file or an ar archive");
    if (file.size() < EI_NIDENT)
        unusable("truncated: the file ends inside its ELF header");
    const auto elf_class = std::to_integer<int>(file[EI_CLASS]);
    const auto data = std::to_integer<int>(file[EI_DATA]);
    if ((elf_class != ELFCLASS32 && elf_class != ELFCLASS64) || (data != ELFDATA2LSB && data != ELFDATA2MSB))
        unusable("damaged ELF header: neither class nor byte order is known");
    encoding_ = {elf_class == ELFCLASS64, data == ELFDATA2MSB};
    if (file.size() < (encoding_.elf64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
        unusable("truncated: the file ends inside its ELF header");

    elf_version(EV_CURRENT);
    // libelf wants writable memory; it does not write, and the mapping is private.
    elf_ = elf_memory(const_cast<char*>(head.data()), head.size());
    GElf_Ehdr header;
    if (!elf_ || elf_kind(elf_) != ELF_K_ELF || !gelf_getehdr(elf_, &header)) {
        const std::string why = elf_errmsg(-1) ? elf_errmsg(-1) : "no ELF header";
        elf_end(elf_);
        unusable("damaged ELF file: " + why);
    }
    machine_ = header.e_machine;
    arch_ = arch_of(machine_, encoding_.elf64);
    layout_.header_size = header.e_ehsize;
    layout_.program_headers = {header.e_phoff, header.e_phentsize, 0};
    layout_.section_headers = {header.e_shoff, header.e_shentsize, 0};
    try {
        if (header.e_type != ET_REL && header.e_type != ET_EXEC && header.e_type != ET_DYN)
            header.e_type == ET_CORE ? unusable("a core file", "name the executable it came from")
                                     : unusable("an ELF file that is no program, library or object");
        kind_ = header.e_type == ET_REL ? Kind::relocatable
            : header.e_type == ET_EXEC  ? Kind::executable
                                        : Kind::shared;
        read_segments();
        read_sections();
        if (relocatable())
            lay_out();
    } catch (...) {
        elf_end(elf_);
        throw;
    }
    for (const Section& section : sections_)
        if (section.flags & SHF_ALLOC && section.size > 0 && !(section.flags & SHF_TLS))
            allocated_.push_back(&section);
    std::stable_sort(allocated_.begin(), allocated_.end(),
                     [](const Section* a, const Section* b) { return a->address < b->address; });
    // fastsdt-index gives the name .stapsdt.base to a byte of another section where the section is lost.
    if (const Section* base = section(".stapsdt.base"))
        std::erase_if(allocated_, [&](const Section* other) {
            return other == base && std::any_of(allocated_.begin(), allocated_.end(), [&](const Section* around) {
                       return around != base && base->address - around->address < around->size;
                   });
        });
    for (const Section* section : allocated_)
        separate_debug_ |= section->flags & SHF_EXECINSTR && section->type == SHT_NOBITS;
}

void Image::read_segments()
{
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0)
        unusable(fmt::format("damaged program headers: {}", elf_errmsg(-1)));
    layout_.program_headers.count = count;
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf_, int(i), &header))
            unusable("truncated: the program headers lie past the end of the file");
        layout_.segments.push_back({header.p_offset, header.p_filesz});
        interpreted_ |= header.p_type == PT_INTERP;
        if (header.p_type != PT_LOAD || header.p_memsz == 0)
            continue; // an empty one would hide what lies around it
        Segment segment{Vaddr(header.p_vaddr),
                        header.p_memsz,
                        FileOffset(std::min<uint64_t>(header.p_offset, file_.size())),
                        header.p_filesz,
                        (header.p_flags & PF_W) != 0,
                        (header.p_flags & PF_X) != 0};
        segment.size = std::min(segment.size, ~uint64_t(0) - segment.address.value);
        segment.file_size = std::min({segment.file_size, segment.size, file_.size() - segment.offset.value});
        segments_.push_back(segment);
    }
    std::stable_sort(segments_.begin(), segments_.end(),
                     [](const Segment& a, const Segment& b) { return a.address < b.address; });
}

void Image::read_sections()
{
    GElf_Ehdr header;
    gelf_getehdr(elf_, &header);
    size_t count = 0, names = 0;
    if (elf_getshdrnum(elf_, &count) != 0 || (header.e_shoff != 0 && count == 0))
        unusable("truncated: the section headers lie past the end of the file");
    const uint64_t header_size = encoding_.elf64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (count > 0 && (header.e_shoff > file_.size() || (file_.size() - header.e_shoff) / header_size < count))
        unusable("truncated: the section headers lie past the end of the file");
    if (count > 0 && elf_getshdrstrndx(elf_, &names) != 0)
        unusable(fmt::format("damaged section headers: {}", elf_errmsg(-1)));
    layout_.section_headers.count = count;
    layout_.section_names = names < count ? names : 0;
    sections_.reserve(count);
    std::vector<uint64_t> name_offsets;
    for (size_t i = 0; i < count; ++i) {
        Elf_Scn* scn = elf_getscn(elf_, i);
        GElf_Shdr section;
        if (!scn || !gelf_getshdr(scn, &section))
            unusable(fmt::format("damaged section header {}: {}", i, elf_errmsg(-1)));
        sections_.push_back({{},
                             i,
                             section.sh_type,
                             section.sh_flags,
                             section.sh_addr,
                             section.sh_offset,
                             section.sh_size,
                             section.sh_addralign,
                             section.sh_entsize,
                             section.sh_link,
                             section.sh_info});
        name_offsets.push_back(section.sh_name);
        if (section.sh_type == SHT_REL || section.sh_type == SHT_RELA)
            relocations_of_.emplace(section.sh_info, i); // the first one counts
        if (section.sh_type == SHT_SYMTAB_SHNDX)
            wide_indexes_of_.emplace(section.sh_link, i);
    }
    for (Section& section : sections_)
        section.name = string_at(names, name_offsets[section.index]);
    if (kind_ == Kind::shared && position_independent_program())
        kind_ = Kind::pie;
}

// Linkers since 2015 mark such programs with DF_1_PIE. An older file is one if it has an interpreter and no DT_SONAME:
// some libraries have an interpreter too (libc.so.6).
bool Image::position_independent_program() const
{
    bool named = false;
    for (const Section& section : sections_) {
        if (section.type != SHT_DYNAMIC)
            continue;
        Elf_Data* data = elf_getdata(elf_getscn(elf_, section.index), nullptr);
        const size_t entry = gelf_fsize(elf_, ELF_T_DYN, 1, EV_CURRENT);
        if (!data || !data->d_buf || entry == 0)
            break;
        GElf_Dyn dynamic;
        for (size_t i = 0; i < data->d_size / entry && gelf_getdyn(data, int(i), &dynamic) && dynamic.d_tag != DT_NULL;
             ++i) {
            if (dynamic.d_tag == DT_FLAGS_1 && dynamic.d_un.d_val & DF_1_PIE)
                return true;
            named |= dynamic.d_tag == DT_SONAME;
        }
        break;
    }
    return interpreted_ && !named;
}

void Image::lay_out()
{
    const uint64_t limit = undefined() - (uint64_t(1) << 20); // room for the padding
    constexpr uint64_t apart = 4096;
    uint64_t next = apart; // 0 keeps its meaning of "no address"
    for (Section& section : sections_) {
        if (!(section.flags & SHF_ALLOC))
            continue;
        section.address = next;
        if (section.size > limit - next)
            unusable(fmt::format("damaged: section {} does not fit into the address space", section.name));
        next = (next + section.size + apart) / apart * apart;
        if (next > limit)
            unusable("damaged: the sections do not fit into the address space");
    }
}

std::string_view Image::string_at(size_t table, uint64_t offset) const
{
    if (table >= sections_.size())
        return {};
    const auto all = raw_contents(sections_[table]);
    if (offset >= all.size())
        return {};
    const char* text = reinterpret_cast<const char*>(all.data()) + offset;
    // No longer than any real name: a hostile file could make each of many names as long as itself.
    return {text, strnlen(text, std::min<uint64_t>(all.size() - offset, 8192))};
}

const Section* Image::section(std::string_view name) const
{
    for (const Section& section : sections_)
        if (section.name == name)
            return &section;
    return nullptr;
}

std::span<const std::byte> Image::raw_contents(const Section& section) const
{
    if (section.type == SHT_NOBITS || section.offset >= file_.size())
        return {};
    return file_.subspan(section.offset, std::min<uint64_t>(section.size, file_.size() - section.offset));
}

std::span<const std::byte> Image::contents(const Section& section) const
{
    const auto raw = raw_contents(section);
    if (!relocatable() || raw.empty())
        return raw;
    if (const auto done = relocated_.find(section.index); done != relocated_.end())
        return done->second;
    std::vector<std::byte> bytes(raw.begin(), raw.end());
    if (const auto found = relocations_of_.find(section.index); found != relocations_of_.end()) {
        const Section& table = sections_[found->second];
        if (afford(table) && (table.link >= sections_.size() || afford(sections_[table.link])))
            relocate(table, bytes);
    }
    return relocated_.emplace(section.index, std::move(bytes)).first->second;
}

// Sections of a sound file do not overlap: together they are no larger than the file. libelf keeps a copy of each one
// whose byte order is not this machine's.
bool Image::afford(const Section& section) const
{
    if (!paid_.insert(section.index).second)
        return true;
    const uint64_t size = raw_contents(section).size();
    overlapping_ |= size > file_.size() - spent_;
    if (overlapping_)
        return false;
    spent_ += size;
    return true;
}

void Image::relocate(const Section& relocations, std::vector<std::byte>& bytes) const
{
    const bool addends = relocations.type == SHT_RELA;
    Elf_Data* table = elf_getdata(elf_getscn(elf_, relocations.index), nullptr);
    Elf_Data* symbols =
        relocations.link < sections_.size() ? elf_getdata(elf_getscn(elf_, relocations.link), nullptr) : nullptr;
    const size_t entry = gelf_fsize(elf_, addends ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
    if (!table || !symbols || !table->d_buf || entry == 0)
        return;
    Elf_Data* wide = wide_indexes(elf_, wide_indexes_of_, relocations.link);
    const auto absolute_width = architecture(arch_).absolute_width;

    for (size_t i = 0; i < std::min<size_t>(table->d_size / entry, std::numeric_limits<int>::max()); ++i) {
        GElf_Rela rela{};
        GElf_Rel rel{};
        if (addends ? !gelf_getrela(table, int(i), &rela) : !gelf_getrel(table, int(i), &rel))
            return;
        const uint64_t offset = addends ? rela.r_offset : rel.r_offset;
        const uint64_t info = addends ? rela.r_info : rel.r_info;
        uint64_t number = GELF_R_SYM(info);
        uint32_t type = GELF_R_TYPE(info);
        if (machine_ == EM_MIPS && encoding_.elf64) {
            // r_sym:32, r_ssym:8, r_type3:8, r_type2:8, r_type:8, in file order whatever the byte order.
            number = encoding_.big_endian ? info >> 32 : info & 0xffffffff;
            type = encoding_.big_endian ? info & 0xff : info >> 56;
        }
        const size_t width = absolute_width(machine_, type);
        if (width == 0 || offset > bytes.size() || bytes.size() - offset < width)
            continue;
        GElf_Sym symbol;
        Elf32_Word index = 0;
        if (!gelf_getsymshndx(symbols, wide, int(number), &symbol, &index))
            continue;
        if (symbol.st_shndx != SHN_XINDEX)
            index = symbol.st_shndx;
        uint64_t value = undefined();
        if (symbol.st_shndx == SHN_ABS || number == 0)
            value = symbol.st_value;
        else if (index != SHN_UNDEF && index < sections_.size() && symbol.st_shndx != SHN_COMMON)
            value = sections_[index].address + symbol.st_value;
        if (value != undefined())
            value += addends ? uint64_t(rela.r_addend) : load(&bytes[offset], width, encoding_.big_endian);
        store(&bytes[offset], width, value, encoding_.big_endian);
    }
}

const Segment* Image::segment_at(uint64_t address) const
{
    const auto found = last_not_above(segments_, address, [](const Segment& s) { return s.address.value; });
    return found != segments_.end() && address - found->address.value < found->size ? &*found : nullptr;
}

const Section* Image::section_at(uint64_t address) const
{
    const auto found = last_not_above(allocated_, address, [](const Section* s) { return s->address; });
    return found != allocated_.end() && address - (*found)->address < (*found)->size ? *found : nullptr;
}

bool Image::slim_lto() const
{
    // struct lto_section of gcc/lto-streamer.h: two version numbers of 16 bits, then slim_object.
    constexpr size_t slim_object = 4;
    return relocatable() && std::any_of(sections_.begin(), sections_.end(), [&](const Section& section) {
               const auto bytes = raw_contents(section);
               return section.name.starts_with(".gnu.lto_.lto.") && bytes.size() > slim_object
                   && bytes[slim_object] != std::byte(0);
           });
}

std::span<const std::byte> Image::bytes_at(uint64_t address) const
{
    if (separate_debug_)
        return {};
    if (relocatable()) {
        const Section* section = section_at(address);
        if (!section)
            return {};
        const auto all = raw_contents(*section);
        const uint64_t offset = address - section->address;
        return offset < all.size() ? all.subspan(offset) : std::span<const std::byte>();
    }
    const Segment* segment = segment_at(address);
    if (!segment || address - segment->address.value >= segment->file_size)
        return {};
    const uint64_t in_segment = address - segment->address.value;
    return file_.subspan(segment->offset.value + in_segment, segment->file_size - in_segment);
}

bool Image::executable_at(uint64_t address) const
{
    if (relocatable()) {
        const Section* section = section_at(address);
        return section && section->flags & SHF_EXECINSTR;
    }
    const Segment* segment = segment_at(address);
    return segment && segment->executable;
}

bool Image::writable_at(uint64_t address) const
{
    if (relocatable()) {
        const Section* section = section_at(address);
        return section && section->flags & SHF_WRITE;
    }
    const Segment* segment = segment_at(address);
    return segment && segment->writable;
}

std::optional<FileOffset> Image::file_offset(Vaddr address) const
{
    const auto bytes = bytes_at(address.value);
    if (bytes.empty())
        return {};
    return FileOffset(uint64_t(bytes.data() - file_.data()));
}

std::string Image::place(uint64_t address) const
{
    if (relocatable())
        if (const Section* section = section_at(address))
            return fmt::format("{}+{:#x}", section->name, address - section->address);
    return fmt::format("{:#x}", address);
}

std::string Image::build_id() const
{
    // Note: name "GNU", type 3 (NT_GNU_BUILD_ID).
    const Section* section = this->section(".note.gnu.build-id");
    if (!section)
        return {};
    const auto bytes = raw_contents(*section);
    if (bytes.size() < 16 || load(&bytes[0], 4, encoding_.big_endian) != 4
        || load(&bytes[8], 4, encoding_.big_endian) != NT_GNU_BUILD_ID)
        return {};
    const uint64_t size = load(&bytes[4], 4, encoding_.big_endian);
    if (size > bytes.size() - 16 || size > 64)
        return {};
    std::string text;
    for (std::byte byte : bytes.subspan(16, size))
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

bool is_part_name(std::string_view name)
{
    return name.ends_with(".cold") || name.find(".cold.") != name.npos || name.find(".__part.") != name.npos;
}

void Image::add_functions(bool parts, std::vector<Function>& functions) const
{
    const Section* table = nullptr;
    for (const Section& section : sections_)
        if (section.type == SHT_SYMTAB || (section.type == SHT_DYNSYM && !table))
            table = &section;
    if (!table)
        return;
    Elf_Data* data = elf_getdata(elf_getscn(elf_, table->index), nullptr);
    const size_t entry = gelf_fsize(elf_, ELF_T_SYM, 1, EV_CURRENT);
    if (!data || !data->d_buf || entry == 0)
        return;
    Elf_Data* wide = wide_indexes(elf_, wide_indexes_of_, table->index);
    for (size_t i = 1; i < std::min<size_t>(data->d_size / entry, std::numeric_limits<int>::max()); ++i) {
        GElf_Sym symbol;
        Elf32_Word index = 0;
        if (!gelf_getsymshndx(data, wide, int(i), &symbol, &index))
            break;
        const int type = GELF_ST_TYPE(symbol.st_info);
        const bool typed = type == STT_FUNC || type == STT_GNU_IFUNC;
        if ((!typed && !(parts && type == STT_NOTYPE)) || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
            continue;
        if (symbol.st_shndx != SHN_XINDEX)
            index = symbol.st_shndx;
        const std::string_view name = without_version(string_at(table->link, symbol.st_name));
        const bool part = is_part_name(name);
        if (parts ? !typed && !part : part)
            continue;
        uint64_t address = symbol.st_value;
        if (machine_ == EM_ARM)
            address &= ~uint64_t(1);
        if (relocatable()) {
            if (index >= sections_.size())
                continue;
            address += sections_[index].address;
        }
        functions.push_back(
            {address, symbol.st_size, name, {}, GELF_ST_BIND(symbol.st_info) == STB_LOCAL, type == STT_GNU_IFUNC});
    }
}

const Function* function_before(const std::vector<Function>& functions, uint64_t address)
{
    const auto behind = std::upper_bound(functions.begin(), functions.end(), address,
                                         [](uint64_t a, const Function& f) { return a < f.address; });
    return behind == functions.begin() ? nullptr : &*std::prev(behind);
}

std::vector<Function> Image::functions(bool parts) const
{
    std::vector<Function> functions;
    for (const Image* image : files_with_symbols())
        image->add_functions(parts, functions);
    const auto of_go = functions_of_go();
    functions.insert(functions.end(), of_go.begin(), of_go.end());
    std::stable_sort(functions.begin(), functions.end(),
                     [](const Function& a, const Function& b) { return a.address < b.address; });
    std::vector<Function> merged;
    for (Function& function : functions)
        if (merged.empty() || merged.back().address != function.address) {
            merged.push_back(std::move(function));
        } else {
            auto& has = merged.back();
            if (has.size == 0 && function.size != 0) { // a mark where it begins, as Go's runtime.text
                std::swap(has.size, function.size);
                std::swap(has.name, function.name);
            }
            if (function.name != has.name
                && std::find(has.aliases.begin(), has.aliases.end(), function.name) == has.aliases.end())
                has.aliases.push_back(function.name);
            has.local |= function.local;
            has.indirect |= function.indirect;
        }
    return merged;
}

} // namespace fastsdt

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The shared object of a provider: two segments, of which one can be executed and the other written to, with copies of the functions of
 * sites.c, their notes, and what the dynamic linker, unwinders and tracers ask of such a file. Offsets in the file are the addresses.
 */
#include "probe.h"
#include "sites.h"

#include <fastsdt/note.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sections, by their index, and their names. */
enum {
    NONE,
    PROPERTIES,
    BUILD_ID,
    HASH,
    DYNSYM,
    DYNSTR,
    BASE,
    FRAMES_HEADER,
    FRAMES,
    TEXT,
    DYNAMIC,
    SEMAPHORES,
    LAYOUT,
    STAPSDT,
    NAMES,
    SHSTRTAB,
    SECTIONS
};
#ifndef PT_GNU_PROPERTY
#define PT_GNU_PROPERTY 0x6474e553
#endif
static const char* const section_names[SECTIONS] = {
    "",
    ".note.gnu.property",
    ".note.gnu.build-id",
    ".hash",
    ".dynsym",
    ".dynstr",
    ".stapsdt.base",
    ".eh_frame_hdr",
    ".eh_frame",
    ".text",
    ".dynamic",
    ".probes",
    FASTSDT_NOTE_SECTION,
    ".note.stapsdt",
    FASTSDT_NAMES_SECTION,
    ".shstrtab",
};
enum { CODE, DATA, DYNAMICS, UNWINDING, STACK, NOTES, PROPERTY, SEGMENTS };

/* The file as it grows. Its parts are found by offsets, since it moves. */
struct file {
    unsigned char* bytes;
    size_t size, room;
    int failed;
    Elf64_Shdr sections[SECTIONS];
};

/* So many bytes more, which are 0 or copied, and where they are. */
static size_t add(struct file* f, const void* bytes, size_t size)
{
    const size_t at = f->size;
    if (f->failed)
        return 0;
    if (size > f->room - f->size) {
        const size_t room = 2 * f->room + size + 4096;
        unsigned char* const grown = realloc(f->bytes, room);
        if (!grown) {
            f->failed = 1;
            return 0;
        }
        f->bytes = grown;
        f->room = room;
    }
    if (bytes)
        memcpy(f->bytes + at, bytes, size);
    else
        memset(f->bytes + at, 0, size);
    f->size += size;
    return at;
}

static void put(struct file* f, size_t at, const void* bytes, size_t size)
{
    if (!f->failed)
        memcpy(f->bytes + at, bytes, size);
}

static void put_half(struct file* f, size_t at, uint64_t value)
{
    const uint32_t half = (uint32_t)value;
    put(f, at, &half, sizeof half);
}

static void add_half(struct file* f, uint64_t value)
{
    const uint32_t half = (uint32_t)value;
    add(f, &half, sizeof half);
}

static void align(struct file* f, size_t to)
{
    add(f, NULL, (to - f->size % to) % to);
}

static void begin(struct file* f, int section, uint32_t type, uint64_t flags, size_t alignment)
{
    Elf64_Shdr* const header = f->sections + section;
    align(f, alignment);
    header->sh_type = type;
    header->sh_flags = flags;
    header->sh_addralign = alignment;
    header->sh_offset = f->size;
    header->sh_addr = flags & SHF_ALLOC ? f->size : 0;
}

static void end(struct file* f, int section)
{
    f->sections[section].sh_size = f->size - f->sections[section].sh_offset;
    if (f->sections[section].sh_size == 0 && f->sections[section].sh_type == SHT_NOTE)
        f->sections[section].sh_type = SHT_NULL; /* readelf takes notes that are not there for an error */
}

/* A note. @param descriptor  in two parts */
static void add_note(struct file* f, const char* owner, uint32_t type, const void* first, size_t first_size,
                     const void* second, size_t second_size)
{
    add_half(f, strlen(owner) + 1);
    add_half(f, first_size + second_size);
    add_half(f, type);
    add(f, owner, strlen(owner) + 1);
    align(f, 4);
    add(f, first, first_size);
    add(f, second, second_size);
    align(f, 4);
}

/* Where each copy will be, if the first may be at `from`: at the same distance from a multiple of the alignment as the original. */
static void place_code(fastsdt_probes* provider, const struct sites* sites, uint64_t from)
{
    struct probe* probe;
    for (probe = provider->first; probe; probe = probe->next) {
        const struct site* const site = sites->of + probe->arguments.count;
        from = (from + sites->alignment - 1) / sites->alignment * sites->alignment + site->residue;
        probe->code = from;
        from += site->size;
    }
}

static void add_symbols(struct file* f, const fastsdt_probes* provider)
{
    const uint32_t count = provider->count + 1;
    const struct probe* probe;
    uint32_t i;
    /* One chain with all of them: nobody looks one up but by its address. */
    begin(f, HASH, SHT_HASH, SHF_ALLOC, 8);
    add_half(f, 1);
    add_half(f, count);
    add_half(f, count > 1);
    for (i = 0; i < count; ++i)
        add_half(f, i != 0 && i + 1 < count ? i + 1 : 0);
    end(f, HASH);
    begin(f, DYNSYM, SHT_DYNSYM, SHF_ALLOC, 8);
    add(f, NULL, count * sizeof(Elf64_Sym)); /* when their addresses are known */
    end(f, DYNSYM);
    begin(f, DYNSTR, SHT_STRTAB, SHF_ALLOC, 1);
    add(f, "", 1);
    for (probe = provider->first; probe; probe = probe->next)
        add(f, probe->name, strlen(probe->name) + 1);
    end(f, DYNSTR);
    f->sections[HASH].sh_link = DYNSYM;
    f->sections[HASH].sh_entsize = 4;
    f->sections[DYNSYM].sh_link = DYNSTR;
    f->sections[DYNSYM].sh_entsize = sizeof(Elf64_Sym);
    f->sections[DYNSYM].sh_info = 1;
}

static void fill_symbols(struct file* f, const fastsdt_probes* provider, const struct sites* sites)
{
    size_t at = f->sections[DYNSYM].sh_offset + sizeof(Elf64_Sym);
    uint32_t name = 1;
    const struct probe* probe;
    for (probe = provider->first; probe; probe = probe->next) {
        Elf64_Sym symbol;
        memset(&symbol, 0, sizeof symbol);
        symbol.st_name = name;
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        symbol.st_shndx = TEXT;
        symbol.st_value = probe->code;
        symbol.st_size = sites->of[probe->arguments.count].size;
        put(f, at, &symbol, sizeof symbol);
        at += sizeof symbol;
        name += (uint32_t)strlen(probe->name) + 1;
    }
}

/* .eh_frame and its table, which come before the code: so where that begins is asked for. */
static void add_frames(struct file* f, fastsdt_probes* provider, const struct sites* sites)
{
    size_t header, table, common;
    struct probe* probe;
    begin(f, FRAMES_HEADER, SHT_PROGBITS, SHF_ALLOC, 4);
    header = add(f, "\1\33\3\73",
                 4); /* version; then how a pointer, the count and the table are written: relative, in four bytes */
    add_half(f, 0);
    add_half(f, provider->count);
    table = add(f, NULL, 8 * (size_t)provider->count);
    end(f, FRAMES_HEADER);
    begin(f, FRAMES, SHT_PROGBITS, SHF_ALLOC, 8);
    put_half(f, header + 4, f->size - (header + 4));
    common = add(f, sites->common, sites->common_size);
    for (probe = provider->first; probe; probe = probe->next) {
        const struct site* const site = sites->of + probe->arguments.count;
        /* A length, the way back to what is common, the address from here, the rest. Where the code is, fill_frames() writes. */
        add_half(f, site->frame_size);
        put_half(f, table + 4, f->size - 4 - header);
        add_half(f, f->size - common);
        put_half(f, table, f->size);
        add(f, site->frame + 4, site->frame_size - 4);
        table += 8;
    }
    add_half(f, 0);
    end(f, FRAMES);
}

static void fill_frames(struct file* f, const fastsdt_probes* provider)
{
    const size_t header = f->sections[FRAMES_HEADER].sh_offset;
    size_t table = header + 12;
    const struct probe* probe;
    for (probe = provider->first; probe && !f->failed; probe = probe->next) {
        uint32_t at; /* add_frames() left there where the address is written */
        memcpy(&at, f->bytes + table, sizeof at);
        put_half(f, at, probe->code - at);
        put_half(f, table, probe->code - header);
        table += 8;
    }
}

static void add_code(struct file* f, const fastsdt_probes* provider, const struct sites* sites)
{
    const struct probe* probe;
    for (probe = provider->first; probe; probe = probe->next) {
        const struct site* const site = sites->of + probe->arguments.count;
        add(f, NULL, probe->code - f->size); /* the padding is never executed */
        add(f, site->code, site->size);
    }
}

static void add_notes(struct file* f, const fastsdt_probes* provider, const struct sites* sites)
{
    const uint64_t base = f->sections[BASE].sh_addr;
    const struct probe* probe;
    begin(f, LAYOUT, SHT_NOTE, 0, 4);
    for (probe = provider->first; probe; probe = probe->next) {
        const struct site* const site = sites->of + probe->arguments.count;
        const uint64_t addresses[2] = {probe->code + site->place, probe->semaphore};
        add_note(f, FASTSDT_NOTE_OWNER, FASTSDT_NOTE_SITE, site->layout, 8, addresses, sizeof addresses);
    }
    end(f, LAYOUT);
    begin(f, STAPSDT, SHT_NOTE, 0, 4);
    for (probe = provider->first; probe; probe = probe->next) {
        const struct site* const site = sites->of + probe->arguments.count;
        const uint64_t addresses[3] = {probe->code + site->place, base, probe->semaphore};
        /* The operands are those of the compiler, with other sizes. Each of them has "-8@" but once. */
        char text[2 * (FASTSDT_PROBES_LONGEST + 1) + FASTSDT_PROBES_MOST * 40];
        char* out = text;
        const char* in = site->operands;
        unsigned argument = 0;
        out += strlen(strcpy(out, provider->name)) + 1;
        out += strlen(strcpy(out, probe->name)) + 1;
        while (*in) {
            if (strncmp(in, "-8@", 3) == 0) {
                const int size = probe->arguments.sizes[argument++];
                if (size < 0)
                    *out++ = '-';
                *out++ = (char)('0' + abs(size));
                in += 2;
            } else {
                *out++ = *in++;
            }
        }
        *out++ = '\0';
        add_note(f, "stapsdt", 3, addresses, sizeof addresses, text, (size_t)(out - text));
    }
    end(f, STAPSDT);
    begin(f, NAMES, SHT_NOTE, 0, 4);
    for (probe = provider->first; probe; probe = probe->next) {
        char text[4 + 2 * (FASTSDT_PROBES_LONGEST + 1)];
        char* out = text;
        if (!probe->arguments.count)
            continue;
        *out++ = FASTSDT_NOTE_VERSION;
        *out++ = (char)probe->arguments.count;
        *out++ = 0;
        *out++ = 0;
        out += strlen(strcpy(out, provider->name)) + 1;
        out += strlen(strcpy(out, probe->name)) + 1;
        add_note(f, FASTSDT_NOTE_OWNER, FASTSDT_NOTE_NAMES, text, (size_t)(out - text), probe->arguments.texts,
                 probe->arguments.texts_size);
    }
    end(f, NAMES);
}

static void add_dynamic(struct file* f)
{
    const Elf64_Shdr* const s = f->sections;
    Elf64_Dyn entries[6];
    memset(entries, 0, sizeof entries);
    entries[0].d_tag = DT_HASH;
    entries[0].d_un.d_ptr = s[HASH].sh_addr;
    entries[1].d_tag = DT_STRTAB;
    entries[1].d_un.d_ptr = s[DYNSTR].sh_addr;
    entries[2].d_tag = DT_SYMTAB;
    entries[2].d_un.d_ptr = s[DYNSYM].sh_addr;
    entries[3].d_tag = DT_STRSZ;
    entries[3].d_un.d_val = s[DYNSTR].sh_size;
    entries[4].d_tag = DT_SYMENT;
    entries[4].d_un.d_val = sizeof(Elf64_Sym);
    entries[5].d_tag = DT_NULL;
    begin(f, DYNAMIC, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8);
    add(f, entries, sizeof entries);
    end(f, DYNAMIC);
    f->sections[DYNAMIC].sh_link = DYNSTR;
    f->sections[DYNAMIC].sh_entsize = sizeof(Elf64_Dyn);
}

static void of_section(Elf64_Phdr* segment, uint32_t type, uint32_t flags, const Elf64_Shdr* section,
                       uint64_t alignment)
{
    segment->p_type = type;
    segment->p_flags = flags;
    segment->p_offset = section->sh_offset;
    segment->p_filesz = section->sh_size;
    segment->p_align = alignment;
}

static void fill_headers(struct file* f, const struct sites* sites, size_t page)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS];
    const Elf64_Shdr* const s = f->sections;
    size_t at, name = 0;
    int i;
    begin(f, SHSTRTAB, SHT_STRTAB, 0, 1);
    for (i = 0; i < SECTIONS; ++i) {
        if (f->sections[i].sh_type != SHT_NULL)
            f->sections[i].sh_name = (uint32_t)name;
        add(f, section_names[i], strlen(section_names[i]) + 1);
        name += strlen(section_names[i]) + 1;
    }
    end(f, SHSTRTAB);
    align(f, 8);
    at = add(f, f->sections, sizeof f->sections);

    memset(&header, 0, sizeof header);
    memcpy(header.e_ident, sites->header->e_ident, sizeof header.e_ident);
    header.e_type = ET_DYN;
    header.e_machine = sites->header->e_machine;
    header.e_flags = sites->header->e_flags;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = at;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = SEGMENTS;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = SECTIONS;
    header.e_shstrndx = SHSTRTAB;
    put(f, 0, &header, sizeof header);

    memset(segments, 0, sizeof segments);
    segments[CODE].p_type = PT_LOAD;
    segments[CODE].p_flags = PF_R | PF_X;
    segments[CODE].p_filesz = s[TEXT].sh_offset + s[TEXT].sh_size;
    segments[CODE].p_align = page;
    segments[DATA].p_type = PT_LOAD;
    segments[DATA].p_flags = PF_R | PF_W;
    segments[DATA].p_offset = s[DYNAMIC].sh_offset;
    segments[DATA].p_filesz = s[SEMAPHORES].sh_offset + s[SEMAPHORES].sh_size - s[DYNAMIC].sh_offset;
    segments[DATA].p_align = page;
    of_section(&segments[DYNAMICS], PT_DYNAMIC, PF_R | PF_W, &s[DYNAMIC], 8);
    of_section(&segments[UNWINDING], PT_GNU_EH_FRAME, PF_R, &s[FRAMES_HEADER], 4);
    segments[STACK].p_type = PT_GNU_STACK; /* without it, the program's stack would become executable */
    segments[STACK].p_flags = PF_R | PF_W;
    if (s[PROPERTIES].sh_size) /* else it stays PT_NULL */
        of_section(&segments[PROPERTY], PT_GNU_PROPERTY, PF_R, &s[PROPERTIES], 8);
    of_section(&segments[NOTES], PT_NOTE, PF_R, &s[BUILD_ID], 4);
    for (i = 0; i < SEGMENTS; ++i) {
        segments[i].p_vaddr = segments[i].p_paddr = segments[i].p_offset;
        segments[i].p_memsz = segments[i].p_filesz;
    }
    put(f, sizeof header, segments, sizeof segments);
}

/* A build ID, without which perf takes no probes from a file: what the file has in it (FNV-1a, twice), so that no two objects have the same
 * unless they are the same. */
static void fill_build_id(struct file* f)
{
    uint64_t sums[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    size_t i;
    if (f->failed)
        return;
    for (i = 0; i < f->size; ++i) {
        sums[0] = (sums[0] ^ f->bytes[i]) * 0x100000001b3u;
        sums[1] = (sums[1] ^ f->bytes[i]) * 0x100000001b3u;
    }
    put(f, f->sections[BUILD_ID].sh_offset + f->sections[BUILD_ID].sh_size - sizeof sums, sums, sizeof sums);
}

unsigned char* image_make(fastsdt_probes* provider, size_t* size, int* broken)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const unsigned char no_id[2 * sizeof(uint64_t)] = {0};
    struct sites sites;
    struct file file;
    struct probe* probe;
    memset(&file, 0, sizeof file);
    *broken = sites_read(&sites) != 0;
    if (*broken)
        return NULL;
    add(&file, NULL, sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr));
    begin(&file, PROPERTIES, SHT_NOTE, SHF_ALLOC, 8);
    add(&file, sites.properties, sites.properties_size);
    end(&file, PROPERTIES);
    begin(&file, BUILD_ID, SHT_NOTE, SHF_ALLOC, 4);
    add_note(&file, "GNU", NT_GNU_BUILD_ID, no_id, sizeof no_id, NULL, 0);
    end(&file, BUILD_ID);
    add_symbols(&file, provider);
    begin(&file, BASE, SHT_PROGBITS, SHF_ALLOC, 1);
    add(&file, "", 1);
    end(&file, BASE);
    add_frames(&file, provider, &sites);
    begin(&file, TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, sites.alignment);
    place_code(provider, &sites, file.size);
    add_code(&file, provider, &sites);
    end(&file, TEXT);
    fill_symbols(&file, provider, &sites);
    fill_frames(&file, provider);
    align(&file, page);
    add_dynamic(&file);
    begin(&file, SEMAPHORES, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 2);
    for (probe = provider->first; probe; probe = probe->next)
        probe->semaphore = add(&file, NULL, 2);
    end(&file, SEMAPHORES);
    add_notes(&file, provider, &sites);
    fill_headers(&file, &sites, page);
    fill_build_id(&file);
    if (file.failed) {
        free(file.bytes);
        return NULL;
    }
    *size = file.size;
    return file.bytes;
}

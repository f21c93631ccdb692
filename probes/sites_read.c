/* SPDX-License-Identifier: BSD-2-Clause */
#include "sites.h"

#include <fastsdt/note.h>

#include <stdio.h>
#include <string.h>

extern const unsigned char fastsdt_sites_file[], fastsdt_sites_file_end[];

static const Elf64_Shdr* section(const char* name)
{
    const Elf64_Ehdr* header = (const Elf64_Ehdr*)fastsdt_sites_file;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(fastsdt_sites_file + header->e_shoff);
    const char* names = (const char*)fastsdt_sites_file + sections[header->e_shstrndx].sh_offset;
    unsigned i;
    for (i = 0; i < header->e_shnum; ++i)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return sections + i;
    return NULL;
}

static const unsigned char* contents(const Elf64_Shdr* of)
{
    return fastsdt_sites_file + of->sh_offset;
}

static size_t rounded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static uint64_t word(const unsigned char* at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t half(const unsigned char* at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The descriptor of the note whose site is in the function, the address being `from` bytes behind its start. */
static const unsigned char* note_in(const Elf64_Shdr* notes, size_t from, const Elf64_Sym* function)
{
    const unsigned char* at = contents(notes);
    const unsigned char* const end = at + notes->sh_size;
    while (at < end) {
        const unsigned char* const descriptor = at + 12 + rounded(half(at));
        if (word(descriptor + from) - function->st_value < function->st_size)
            return descriptor;
        at = descriptor + rounded(half(at + 4));
    }
    return NULL;
}

/* What .eh_frame says of the function: behind a length each entry has 0, or the way back to what it shares with others; then its
 * address, counted from there, in four bytes, as the augmentation "zR" with 0x1b says. */
static int read_frame(struct sites* sites, struct site* site, const Elf64_Sym* function)
{
    const Elf64_Shdr* const frames = section(".eh_frame");
    size_t at = 0;
    while (frames && at + 8 <= frames->sh_size && half(contents(frames) + at) != 0) {
        const unsigned char* const entry = contents(frames) + at;
        const size_t length = half(entry);
        if (half(entry + 4) != 0
            && frames->sh_addr + at + 8 + (uint64_t)(int64_t)(int32_t)half(entry + 8) == function->st_value) {
            sites->common = entry + 4 - half(entry + 4);
            sites->common_size = half(sites->common) + 4;
            site->frame = entry + 4;
            site->frame_size = length;
            return memcmp(sites->common + 9, "zR", 3) == 0 ? 0 : -1;
        }
        at += length + 4;
    }
    return -1;
}

int sites_read(struct sites* sites)
{
    const Elf64_Shdr* const symbols = section(".dynsym");
    const Elf64_Shdr* const names = section(".dynstr");
    const Elf64_Shdr* const code = section(".text");
    const Elf64_Shdr* const stapsdt = section(".note.stapsdt");
    const Elf64_Shdr* const layouts = section(FASTSDT_NOTE_SECTION);
    const Elf64_Shdr* const properties = section(".note.gnu.property");
    unsigned count;
    if (!symbols || !names || !code || !stapsdt || !layouts)
        return -1;
    sites->header = (const Elf64_Ehdr*)fastsdt_sites_file;
    sites->properties = properties ? contents(properties) : NULL;
    sites->properties_size = properties ? (size_t)properties->sh_size : 0;
    sites->alignment = (size_t)code->sh_addralign;
    for (count = 0; count <= FASTSDT_PROBES_MOST; ++count) {
        struct site* const site = sites->of + count;
        const Elf64_Sym* symbol = (const Elf64_Sym*)contents(symbols);
        const Elf64_Sym* const end = symbol + symbols->sh_size / sizeof *symbol;
        const unsigned char* note;
        char name[16];
        sprintf(name, "site%u", count);
        while (symbol < end && strcmp((const char*)contents(names) + symbol->st_name, name) != 0)
            ++symbol;
        if (symbol == end)
            return -1;
        site->code = fastsdt_sites_file + code->sh_offset + (symbol->st_value - code->sh_addr);
        site->size = symbol->st_size;
        site->residue = symbol->st_value % sites->alignment;
        note = note_in(stapsdt, 0, symbol);
        site->layout = note_in(layouts, 8, symbol);
        if (!note || !site->layout || read_frame(sites, site, symbol) != 0)
            return -1;
        site->place = (size_t)(word(note) - symbol->st_value);
        site->operands = (const char*)note + 24;
        site->operands += strlen(site->operands) + 1; /* provider */
        site->operands += strlen(site->operands) + 1; /* name */
    }
    return 0;
}

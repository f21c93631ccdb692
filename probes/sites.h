/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of sites.c, taken out of the file that the linker made: each is code that can be copied anywhere, since it refers to
 * nothing.
 */
#ifndef FASTSDT_PROBES_SITES_H
#define FASTSDT_PROBES_SITES_H

#include <fastsdt/probes.h>

#include <elf.h>

struct site {
    const unsigned char* code;
    size_t size;
    size_t residue;              /* of its address, to the alignment: copies keep it, and with it the layout's bound */
    size_t place;                /* of the site, from the function's address */
    const char* operands;        /* of the stapsdt note; all are of -8 bytes */
    const unsigned char* layout; /* the descriptor of the layout note, whose first eight bytes know no address */
    const unsigned char* frame;  /* of .eh_frame, from its second word on */
    size_t frame_size;
};

struct sites {
    const Elf64_Ehdr* header;
    const unsigned char*
        properties; /* .note.gnu.property, where the compiler makes one: that the code may run with a shadow stack */
    size_t properties_size;
    size_t alignment;
    const unsigned char* common; /* what the frames have in common, with its length */
    size_t common_size;
    struct site of[FASTSDT_PROBES_MOST + 1]; /* by the number of arguments */
};

/* 0, or -1: the file is not what sites.c is expected to become, which tests/probes would have seen. */
int sites_read(struct sites* sites);

#endif

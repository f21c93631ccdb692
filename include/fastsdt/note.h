/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The layout bytes and the constants of .note.fastsdt, without the probe macros.
 *
 * They live in fastsdt.h because that header has to work as a single copied file; this one is for
 * readers and for the compiler plugins, which want the format and none of the rest.
 */
#ifndef FASTSDT_NOTE_H
#define FASTSDT_NOTE_H

#define FASTSDT_FORMAT_ONLY
#include "../fastsdt.h"
#undef FASTSDT_FORMAT_ONLY

#endif /* FASTSDT_NOTE_H */

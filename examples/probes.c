/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists the probes of a process, or of a file, and what this kernel does at each:
 *
 *     cc -I../include probes.c -o probes $(pkg-config --libs fastsdt-reader)
 *     ./probes 4711
 *     ./probes /usr/bin/shop
 */
#include <fastsdt/reader.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
    fastsdt_reader_options options = {sizeof options, 0, "this"};
    fastsdt_reader_error error;
    fastsdt_reader* reader;
    const fastsdt_reader_image* image;
    const fastsdt_reader_probe* probe;
    const char* of = argc > 1 ? argv[1] : "";
    size_t i, j;

    reader = atoi(of) > 0 ? fastsdt_reader_open_process(atoi(of), &options, &error)
                          : fastsdt_reader_open(of, &options, &error);
    if (!reader) {
        fprintf(stderr, "probes: %s: %s%s%s\n", error.where, error.what, *error.cure ? "; " : "", error.cure);
        return 1;
    }
    for (i = 0; (image = fastsdt_reader_image_at(reader, i)); ++i)
        for (j = 0; (probe = fastsdt_reader_probe_at(image, j)); ++j) {
            const fastsdt_reader_verdict* verdict = fastsdt_reader_verdict_at(probe->place, 0);
            printf("%s:%s:%s(%s) at %#" PRIx64 ": %s, %s, %s\n", image->path, probe->provider, probe->name,
                   probe->argument_string, probe->place->file_offset, probe->place->layout_name,
                   verdict ? verdict->name : "no code",
                   probe->place->change_name ? probe->place->change_name : "not running");
        }
    fastsdt_reader_close(reader);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump [descriptor|memory|map] FILE, dump process PID: everything that fastsdt/reader.h tells, as JSON in the words of fastsdt-check
 * --json --functions. C89 and C++98, and nothing but the header.
 */
#include <fastsdt/reader.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void text(const char* name, const char* value)
{
    const unsigned char* at;
    printf("\"%s\": ", name);
    if (!value) {
        printf("null, ");
        return;
    }
    putchar('"');
    for (at = (const unsigned char*)value; *at; ++at)
        if (*at == '"' || *at == '\\' || *at < 0x20)
            printf("\\u%04x", *at);
        else
            putchar(*at);
    printf("\", ");
}

static void number(const char* name, uint64_t value)
{
    if (value == FASTSDT_READER_NONE)
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %lu, ", name, (unsigned long)value);
}

static void integer(const char* name, int value)
{
    printf("\"%s\": %d, ", name, value);
}

static void hex(const char* name, const unsigned char* bytes, size_t count)
{
    size_t i;
    printf("\"%s\": \"", name);
    for (i = 0; i < count; ++i)
        printf("%02x", bytes[i]);
    printf("\", ");
}

static void finding(const fastsdt_reader_finding* one)
{
    static const char* const severities[] = {"info", "warning", "error"};
    putchar('{');
    text("id", one->id);
    text("severity", severities[one->severity]);
    text("message", one->message);
    number("address", one->address);
    text("section", one->section);
    printf("\"\": 0}, ");
}

static void place(const fastsdt_reader_place* of)
{
    const fastsdt_reader_verdict* verdict;
    size_t i;
    number("address", of->address);
    number("file_offset", of->file_offset);
    text("section", of->section);
    integer("layout_id", of->layout);
    text("layout", of->layout_name);
    integer("state_id", of->state);
    text("state", of->state_name);
    integer("recorded", of->recorded);
    integer("patch_offset", (int)of->patch_offset);
    integer("patch_length", (int)of->patch_length);
    integer("lead", (int)of->lead);
    integer("flags", (int)of->flags);
    number("bound", of->bound);
    hex("bytes", of->bytes, of->byte_count);
    number("runtime", of->runtime);
    text("change", of->change_name);
    integer("change_id", of->change);
    hex("live_bytes", of->live_bytes, of->live_byte_count);
    number("target", of->target);
    printf("\"kernels\": {");
    for (i = 0; (verdict = fastsdt_reader_verdict_at(of, i)); ++i) {
        printf("\"%s\": {", verdict->kernel);
        integer("id", verdict->verdict);
        text("verdict", verdict->name);
        text("why", verdict->why);
        integer("patch_id", verdict->patch_verdict);
        text("patch_verdict", verdict->patch_name);
        text("patch_why", verdict->patch_why);
        printf("\"libbpf_moves\": %d}, ", verdict->attaches_at_patch);
    }
    printf("\"\": 0}, ");
}

static void argument(const fastsdt_reader_argument* of)
{
    static const char* const verdicts[] = {"reads", "conditional", "unsupported", "misreads", "rejects"};
    const fastsdt_reader_reading* reading;
    size_t i;
    putchar('{');
    text("text", of->text);
    integer("size", of->size);
    integer("signed", of->is_signed);
    integer("float", of->is_float);
    text("operand", of->operand);
    text("name", of->name);
    text("type", of->type);
    printf("\"tracers\": {");
    for (i = 0; (reading = fastsdt_reader_reading_at(of, i)); ++i) {
        printf("\"%s\": {", reading->tracer);
        text("verdict", verdicts[reading->verdict]);
        text("why", reading->why);
        printf("\"\": 0}, ");
    }
    printf("\"\": 0}}, ");
}

static void probe(const fastsdt_reader_probe* of)
{
    size_t i;
    putchar('{');
    place(of->place);
    text("provider", of->provider);
    text("name", of->name);
    text("argument_string", of->argument_string);
    text("file", of->file);
    integer("line", of->line);
    number("semaphore", of->semaphore);
    number("semaphore_offset", of->semaphore_offset);
    integer("semaphore_value", of->semaphore_value);
    printf("\"arguments\": [");
    for (i = 0; i < of->arguments; ++i)
        argument(fastsdt_reader_argument_at(of, i));
    printf("0], \"findings\": [");
    for (i = 0; i < of->findings; ++i)
        finding(fastsdt_reader_probe_finding_at(of, i));
    printf("0]}, ");
}

static void function(const fastsdt_reader_function* of)
{
    size_t i, j;
    putchar('{');
    place(of->place);
    text("name", of->name);
    number("size", of->size);
    integer("ifunc", of->ifunc);
    integer("selected", of->selected);
    integer("added", of->added);
    integer("missed", of->missed);
    integer("returns_twice", of->returns_twice);
    integer("all_exits", of->all_exits);
    number("stack_arguments", of->stack_arguments);
    printf("\"aliases\": [");
    for (i = 0; i < of->aliases; ++i) {
        putchar('{');
        text("name", fastsdt_reader_alias_at(of, i));
        printf("\"\": 0}, ");
    }
    printf("0], \"exits\": [");
    for (i = 0; i < of->exits; ++i) {
        const fastsdt_reader_exit* exit = fastsdt_reader_exit_at(of, i);
        putchar('{');
        place(exit->place);
        integer("tail_call", exit->tail_call);
        integer("result_id", exit->result);
        text("result", exit->result_name);
        integer("result_size", (int)exit->result_size);
        integer("result_signed", exit->result_signed);
        printf("\"findings\": [");
        for (j = 0; j < exit->findings; ++j)
            finding(fastsdt_reader_exit_finding_at(exit, j));
        printf("0]}, ");
    }
    printf("0], \"findings\": [");
    for (i = 0; i < of->findings; ++i)
        finding(fastsdt_reader_function_finding_at(of, i));
    printf("0]}, ");
}

static void image(const fastsdt_reader_image* of)
{
    static const char* const kinds[] = {"executable", "pie", "shared", "relocatable"};
    size_t i;
    putchar('{');
    text("path", of->path);
    text("member", of->member);
    text("build_id", of->build_id);
    text("arch", of->arch);
    integer("machine", of->machine);
    integer("class", of->bits);
    text("byte_order", of->big_endian ? "big" : "little");
    text("kind", kinds[of->kind]);
    integer("separate_debug", of->separate_debug);
    integer("indexed", of->indexed);
    number("start", of->start);
    integer("deleted", of->deleted);
    printf("\"probes\": [");
    for (i = 0; i < of->probes; ++i)
        probe(fastsdt_reader_probe_at(of, i));
    printf("0], \"functions\": [");
    for (i = 0; i < of->functions; ++i)
        function(fastsdt_reader_function_at(of, i));
    printf("0], \"findings\": [");
    for (i = 0; i < of->findings; ++i)
        finding(fastsdt_reader_image_finding_at(of, i));
    printf("0]}, ");
}

int main(int argc, char** argv)
{
    fastsdt_reader_options options;
    fastsdt_reader_error error;
    fastsdt_reader* reader;
    const fastsdt_reader_error* trouble;
    const fastsdt_reader_image* one;
    const char* name;
    size_t i;

    (void)argc;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.flags = FASTSDT_READER_FUNCTIONS | FASTSDT_READER_LINES;
    if (!argv[2]) {
        reader = fastsdt_reader_open(argv[1], &options, &error);
    } else if (strcmp(argv[1], "process") == 0) {
        reader = fastsdt_reader_open_process((pid_t)atoi(argv[2]), &options, &error);
    } else if (strcmp(argv[1], "map") == 0) {
        options.flags |= FASTSDT_READER_MAP;
        reader = fastsdt_reader_open(argv[2], &options, &error);
    } else {
        const int file = open(argv[2], O_RDONLY);
        if (strcmp(argv[1], "descriptor") == 0) {
            lseek(file, 77, SEEK_SET);
            reader = fastsdt_reader_open_descriptor(file, &options, &error);
            if (lseek(file, 0, SEEK_CUR) != 77)
                return 3;
        } else {
            struct stat status;
            void* bytes;
            fstat(file, &status);
            bytes = malloc((size_t)status.st_size);
            if (read(file, bytes, (size_t)status.st_size) != status.st_size)
                return 3;
            reader = fastsdt_reader_open_memory(bytes, (size_t)status.st_size, &options, &error);
            memset(bytes, 0xee, (size_t)status.st_size);
            free(bytes);
        }
        close(file);
    }
    if (!reader) {
        fprintf(stderr, "%d|%s|%s|%s\n", error.kind, error.where, error.what, error.cure);
        return 1;
    }
    printf("{\"kernels\": [");
    for (i = 0; (name = fastsdt_reader_kernel_at(reader, i)); ++i)
        printf("\"%s\", ", name);
    printf("0], \"troubles\": [");
    for (i = 0; (trouble = fastsdt_reader_trouble_at(reader, i)); ++i) {
        putchar('{');
        text("where", trouble->where);
        text("what", trouble->what);
        text("cure", trouble->cure);
        printf("\"\": 0}, ");
    }
    printf("0], \"files\": [");
    for (i = 0; (one = fastsdt_reader_image_at(reader, i)); ++i)
        image(one);
    printf("0]}\n");
    fastsdt_reader_close(reader);
    return 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "prologue_end.h"

#include "debug.h"

namespace fastprobe {
namespace {

const gcc_debug_hooks* original;
gcc_debug_hooks ours;
tree marked = NULL_TREE;
bool due = false; // the marked function's prologue is over; its next line is the first behind it

void end_prologue(unsigned line, const char* file)
{
    original->end_prologue(line, file);
    due = marked && marked == current_function_decl;
    marked = NULL_TREE;
}

void source_line(unsigned line, unsigned column, const char* file, int discriminator, bool is_statement)
{
    if (!due)
        return original->source_line(line, column, file, discriminator, is_statement);
    due = false;
    // Only GCC knows the number that the assembler has for the file: take the line that GCC prints, and add the word.
    char* text = nullptr;
    size_t size = 0;
    FILE* const output = asm_out_file;
    FILE* const memory = open_memstream(&text, &size);
    if (!memory)
        return original->source_line(line, column, file, discriminator, is_statement);
    asm_out_file = memory;
    original->source_line(line, column, file, discriminator, is_statement);
    asm_out_file = output;
    fclose(memory);
    const char* loc = strstr(text, "\t.loc ");
    int numbers = 0;
    if (loc)
        sscanf(loc, "\t.loc %*u %*u %*u%n", &numbers);
    const int head = numbers ? static_cast<int>(loc - text) + numbers : 0;
    fprintf(output, "%.*s%s%s", head, text, numbers ? " prologue_end" : "", text + head);
    free(text);
}

} // namespace

void watch_line_table()
{
    original = debug_hooks;
    ours = *original;
    ours.end_prologue = end_prologue;
    ours.source_line = source_line;
    debug_hooks = &ours;
}

void mark_prologue_end(tree function)
{
    marked = flag_var_tracking ? NULL_TREE : function;
    due = false;
}

} // namespace fastprobe

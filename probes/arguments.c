/* SPDX-License-Identifier: BSD-2-Clause
 *
 * "long id, const char *item": types and names of arguments, as C has its parameters.
 */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

struct type {
    const char* name;
    int size;
};

/* The words of C come first: they may stand together, and never are a parameter's name. */
static const struct type words[] = {
    {"char", -1},  {"short", -2}, {"int", -4},  {"long", -8},  {"signed", -4}, {"unsigned", 4},
    {"bool", 1},   {"_Bool", 1},  {"float", 4}, {"double", 8}, {"const", 0},   {"volatile", 0},
    {"struct", 0}, {"union", 0},  {"enum", 4},  {"void", 0},   {NULL, 0},
};
static const struct type others[] = {
    {"int8_t", -1},   {"int16_t", -2}, {"int32_t", -4}, {"int64_t", -8}, {"uint8_t", 1},    {"uint16_t", 2},
    {"uint32_t", 4},  {"uint64_t", 8}, {"size_t", 8},   {"ssize_t", -8}, {"ptrdiff_t", -8}, {"intptr_t", -8},
    {"uintptr_t", 8}, {"off_t", -8},   {"pid_t", -4},   {"time_t", -8},  {NULL, 0},
};

static const struct type* find(const struct type* in, const char* word, size_t length)
{
    for (; in->name; ++in)
        if (strlen(in->name) == length && memcmp(in->name, word, length) == 0)
            return in;
    return NULL;
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* What is known of one parameter while it is read from left to right. */
struct parameter {
    int pointer, is_signed, is_unsigned, shorts, longs;
    const struct type* base; /* char, int, double, int32_t, ...; NULL: not said yet */
    int tag;                 /* struct, union or enum was said: the next word is its name */
    int described;           /* something of a type was said */
    const char* name;        /* NULL: none yet */
    size_t name_length;
};

/* One word of it. 0: it cannot stand there. */
static int take(struct parameter* p, const char* word, size_t length)
{
    const struct type* known = find(words, word, length);
    if (p->name)
        return 0; /* something behind the name */
    if (p->tag) {
        p->tag = 0;
        return !known;
    }
    if (known) {
        if (strcmp(known->name, "const") == 0 || strcmp(known->name, "volatile") == 0)
            return 1;
        if (p->pointer)
            return 0;
        p->described = 1;
        if (strcmp(known->name, "signed") == 0)
            return !p->is_unsigned && ++p->is_signed == 1;
        if (strcmp(known->name, "unsigned") == 0)
            return !p->is_signed && ++p->is_unsigned == 1;
        if (strcmp(known->name, "short") == 0)
            return !p->longs && ++p->shorts == 1;
        if (strcmp(known->name, "long") == 0)
            return !p->shorts && ++p->longs <= 2;
        if (p->base)
            return 0;
        p->base = known;
        p->tag =
            strcmp(known->name, "struct") == 0 || strcmp(known->name, "union") == 0 || strcmp(known->name, "enum") == 0;
        return 1;
    }
    if (word[0] >= '0' && word[0] <= '9')
        return 0;
    known = find(others, word, length);
    if (known && !p->described) {
        p->base = known;
        p->described = 1;
        return 1;
    }
    if (!p->described) { /* a type that we do not know: only a pointer to it says how long it is */
        p->described = 1;
        return 1;
    }
    p->name = word;
    p->name_length = length;
    return 1;
}

/* Its size as notes have it; 0: there is none. */
static int size_of(const struct parameter* p)
{
    int size;
    if (p->tag || !p->described)
        return 0;
    if (p->pointer)
        return 8;
    if (!p->base) {
        if (!p->is_signed && !p->is_unsigned && !p->shorts && !p->longs)
            return 0;
        size = -4;
    } else {
        const int whole = p->base->name[0] == 'i' && p->base->name[3] == '\0'; /* int */
        if ((p->is_signed || p->is_unsigned) && !whole && strcmp(p->base->name, "char") != 0)
            return 0;
        if ((p->shorts || p->longs) && !whole)
            return 0; /* long double too: it is in no integer register */
        size = p->base->size;
    }
    if (p->shorts)
        size = -2;
    if (p->longs)
        size = -8;
#ifdef __CHAR_UNSIGNED__
    if (p->base && strcmp(p->base->name, "char") == 0 && !p->is_signed)
        size = 1;
#endif
    return p->is_unsigned && size < 0 ? -size : size;
}

static int all_blank(const char* text)
{
    while (is_blank(*text))
        ++text;
    return *text == '\0';
}

int arguments_read(struct arguments* arguments, const char* text, const char* where, fastsdt_probes_error* error)
{
    char* out;
    memset(arguments, 0, sizeof *arguments);
    if (!text || all_blank(text))
        return 0;
    /* Each becomes its type and its name, with two NULs and at most a blank before each asterisk. */
    out = arguments->texts = malloc(2 * strlen(text) + 4);
    if (!out)
        return fails(error, FASTSDT_PROBES_MEMORY, where, "", "no memory is left");
    for (;;) {
        struct parameter p;
        const char* const start = text;
        char* const type = out;
        int size, sound = 1;
        memset(&p, 0, sizeof p);
        while (*text && *text != ',' && sound) {
            size_t length = 0;
            if (is_blank(*text)) {
                ++text;
                continue;
            }
            while (is_word(text[length]))
                ++length;
            if (length) {
                sound = take(&p, text, length);
            } else {
                sound = *text == '*' && p.described && !p.tag && !p.name;
                p.pointer = 1;
                length = 1;
            }
            if (!p.name) { /* a part of the type: one blank between words, and before the first asterisk */
                if (out != type && out[-1] != '*')
                    *out++ = ' ';
                memcpy(out, text, length);
                out += length;
            }
            text += length;
        }
        size = sound ? size_of(&p) : 0;
        if (!size) {
            while (*text && *text != ',')
                ++text;
            free(arguments->texts);
            arguments->texts = NULL;
            return fails(error, FASTSDT_PROBES_MISUSE, where,
                         "write types of C of up to 8 bytes: \"long id, const char *item\"",
                         "\"%.*s\" is no argument of a probe", (int)(text - start), start);
        }
        if (arguments->count == FASTSDT_PROBES_MOST) {
            free(arguments->texts);
            arguments->texts = NULL;
            return fails(error, FASTSDT_PROBES_MISUSE, where, "", "a probe has at most %d arguments",
                         FASTSDT_PROBES_MOST);
        }
        arguments->sizes[arguments->count++] = size;
        *out++ = '\0';
        memcpy(out, p.name ? p.name : "", p.name_length);
        out += p.name_length;
        *out++ = '\0';
        if (!*text)
            break;
        ++text;
    }
    arguments->texts_size = (size_t)(out - arguments->texts);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// The functions of fastsdt/reader.h: those that open, which read everything and copy it (copy.cpp), and the accessors.
//
// They are a thin layer: each calls what fastsdt-check calls (Image::each, read_notes, Report, read_process). The tools themselves use
// lib, since they word what the header leaves out, and are built with it; `fastsdt-check --diff` is the one that goes through here.
#include "base/no_cancel.h"
#include "base/printable.h"
#include "handles.h"

#include <fastsdt.h>

#include <cstring>
#include <memory>
#include <new>

namespace fastsdt::reader {
namespace {

struct Misuse {
    Error error;
};

[[noreturn]] void wrong_options(std::string why)
{
    throw Misuse{{std::move(why), "fastsdt_reader_options"}};
}

void put(char* to, size_t size, std::string_view text)
{
    const std::string clean = cut(printable(text), size - 1);
    std::memcpy(to, clean.c_str(), clean.size() + 1);
}

struct Asked {
    unsigned flags = 0;
    std::vector<Kernel> kernels = default_kernels();

    ReportOptions report() const
    {
        return {.kernels = kernels,
                .functions = (flags & FASTSDT_READER_FUNCTIONS) != 0,
                .lines = (flags & FASTSDT_READER_LINES) != 0,
                .select = {}};
    }
    Access access(Access::Outside outside) const
    {
        return {outside, (flags & FASTSDT_READER_MAP) == 0, "FASTSDT_READER_OUTSIDE reads them"};
    }
};

Asked read_options(const fastsdt_reader_options* options)
{
    Asked asked;
    if (!options)
        return asked;
    // A caller that knows more of the structure than we do may say so only by zeros.
    fastsdt_reader_options known{};
    const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
    if (options->size < offsetof(fastsdt_reader_options, kernels) || options->size > 4096)
        wrong_options("its size is not set");
    std::memcpy(&known, options, std::min(options->size, sizeof known));
    for (size_t i = sizeof known; i < options->size; ++i)
        if (bytes[i] != 0)
            wrong_options("this version of libfastsdt does not know one of its members");
    if (known.flags
        & ~unsigned(FASTSDT_READER_FUNCTIONS | FASTSDT_READER_LINES | FASTSDT_READER_OUTSIDE | FASTSDT_READER_MAP))
        wrong_options("this version of libfastsdt does not know one of its flags");
    asked.flags = known.flags;
    if (!known.kernels)
        return asked;
    asked.kernels.clear();
    if (*known.kernels) {
        auto kernels = parse_kernels(known.kernels);
        if (!kernels)
            throw Misuse{kernels.error().at("fastsdt_reader_options: kernels")};
        asked.kernels = *std::move(kernels);
    }
    return asked;
}

// Makes a reader and has `work` fill it.
template <class F>
fastsdt_reader* opened(const fastsdt_reader_options* options, fastsdt_reader_error* error, F&& work) noexcept
{
    const NoCancel no_cancel;
    try {
        if (error)
            *error = {};
        auto reader = std::make_unique<fastsdt_reader>();
        const Asked asked = read_options(options);
        for (const Kernel& kernel : asked.kernels)
            reader->kernels.push_back(reader->texts(kernel.name()));
        work(*reader, asked);
        return reader.release();
    } catch (const Misuse& misuse) {
        set_error(error, FASTSDT_READER_MISUSE, misuse.error);
    } catch (const Unusable& unusable) {
        set_error(error, FASTSDT_READER_UNUSABLE, unusable.error());
    } catch (const std::bad_alloc&) {
        if (error) { // without making anything
            error->kind = FASTSDT_READER_MEMORY;
            std::strcpy(error->what, "no memory is left");
        }
    } catch (const std::exception& other) {
        set_error(error, FASTSDT_READER_UNUSABLE, {other.what()});
    }
    return nullptr;
}

auto add_trouble(fastsdt_reader& reader)
{
    return [&reader](const Error& trouble) {
        set_error(&reader.troubles.emplace_back(), FASTSDT_READER_UNUSABLE, trouble);
    };
}

auto add_image(fastsdt_reader& reader, const Asked& asked)
{
    return [&reader, options = asked.report()](const fastsdt::Image& image) {
        const Notes notes = read_notes(image);
        add(reader, Report(image, notes, options), nullptr);
    };
}

template <class Items> auto at(const Items& items, size_t index) -> decltype(&items[index])
{
    return index < items.size() ? &items[index] : nullptr;
}

} // namespace

void set_error(fastsdt_reader_error* error, int kind, const Error& what)
{
    if (!error)
        return;
    *error = {};
    error->kind = kind;
    put(error->what, sizeof error->what, what.what);
    put(error->where, sizeof error->where, what.where);
    put(error->cure, sizeof error->cure, what.cure);
}

} // namespace fastsdt::reader

using namespace fastsdt;
using namespace fastsdt::reader;

unsigned fastsdt_reader_version(void)
{
    return FASTSDT_VERSION;
}

fastsdt_reader* fastsdt_reader_open(const char* path, const fastsdt_reader_options* options,
                                    fastsdt_reader_error* error)
{
    return opened(options, error, [&](fastsdt_reader& reader, const Asked& asked) {
        if (!path)
            throw Misuse{{"there is no path: NULL"}};
        const auto outside = asked.flags & FASTSDT_READER_OUTSIDE ? Access::read : Access::refuse;
        fastsdt::Image::each(path, add_image(reader, asked), add_trouble(reader), asked.access(outside));
    });
}

fastsdt_reader* fastsdt_reader_open_descriptor(int descriptor, const fastsdt_reader_options* options,
                                               fastsdt_reader_error* error)
{
    return opened(options, error, [&](fastsdt_reader& reader, const Asked& asked) {
        // A thin archive's members would be looked for beside it, in the folder of our descriptors.
        fastsdt::Image::each("/proc/self/fd/" + std::to_string(descriptor), add_image(reader, asked),
                             add_trouble(reader), asked.access(Access::alone));
    });
}

fastsdt_reader* fastsdt_reader_open_memory(const void* bytes, size_t size, const fastsdt_reader_options* options,
                                           fastsdt_reader_error* error)
{
    return opened(options, error, [&](fastsdt_reader& reader, Asked asked) {
        if (!bytes && size > 0)
            throw Misuse{{"there are no bytes: NULL"}};
        asked.flags &= ~unsigned(FASTSDT_READER_LINES); // they are read from a file
        fastsdt::Image::each("", {static_cast<const std::byte*>(bytes), size}, add_image(reader, asked),
                             add_trouble(reader), asked.access(Access::alone));
    });
}

fastsdt_reader* fastsdt_reader_open_process(pid_t pid, const fastsdt_reader_options* options,
                                            fastsdt_reader_error* error)
{
    return opened(options, error, [&](fastsdt_reader& reader, const Asked& asked) {
        const ReportOptions wanted = asked.report();
        const auto visit = [&](const fastsdt::Image& image, const Notes& notes, const LiveFile& file) {
            add(reader, Report(image, notes, wanted), &file);
        };
        const Process process = read_process(pid, wanted.functions, nullptr, {}, visit, asked.access(Access::refuse));
        std::for_each(process.troubles.begin(), process.troubles.end(), add_trouble(reader));
    });
}

void fastsdt_reader_close(fastsdt_reader* reader)
{
    const NoCancel no_cancel;
    delete reader;
}

const fastsdt_reader_error* fastsdt_reader_trouble_at(const fastsdt_reader* reader, size_t index)
{
    return reader ? at(reader->troubles, index) : nullptr;
}

const char* fastsdt_reader_kernel_at(const fastsdt_reader* reader, size_t index)
{
    return reader && index < reader->kernels.size() ? reader->kernels[index] : nullptr;
}

const fastsdt_reader_image* fastsdt_reader_image_at(const fastsdt_reader* reader, size_t index)
{
    return reader ? at(reader->images, index) : nullptr;
}

const fastsdt_reader_finding* fastsdt_reader_image_finding_at(const fastsdt_reader_image* image, size_t index)
{
    return image ? at(static_cast<const reader::Image*>(image)->all_findings, index) : nullptr;
}

const fastsdt_reader_probe* fastsdt_reader_probe_at(const fastsdt_reader_image* image, size_t index)
{
    return image ? at(static_cast<const reader::Image*>(image)->all_probes, index) : nullptr;
}

const fastsdt_reader_finding* fastsdt_reader_probe_finding_at(const fastsdt_reader_probe* probe, size_t index)
{
    return probe ? at(static_cast<const Probe*>(probe)->all_findings, index) : nullptr;
}

const fastsdt_reader_argument* fastsdt_reader_argument_at(const fastsdt_reader_probe* probe, size_t index)
{
    return probe ? at(static_cast<const Probe*>(probe)->all_arguments, index) : nullptr;
}

const fastsdt_reader_reading* fastsdt_reader_reading_at(const fastsdt_reader_argument* argument, size_t tracer)
{
    return argument ? at(static_cast<const reader::Argument*>(argument)->readings, tracer) : nullptr;
}

const fastsdt_reader_verdict* fastsdt_reader_verdict_at(const fastsdt_reader_place* place, size_t kernel)
{
    const Verdicts* const verdicts = place ? static_cast<const Place*>(place)->verdicts : nullptr;
    return verdicts ? at(*verdicts, kernel) : nullptr;
}

const fastsdt_reader_function* fastsdt_reader_function_at(const fastsdt_reader_image* image, size_t index)
{
    return image ? at(static_cast<const reader::Image*>(image)->all_functions, index) : nullptr;
}

const char* fastsdt_reader_alias_at(const fastsdt_reader_function* function, size_t index)
{
    if (!function)
        return nullptr;
    const char* const* const found = at(static_cast<const reader::Function*>(function)->all_aliases, index);
    return found ? *found : nullptr;
}

const fastsdt_reader_finding* fastsdt_reader_function_finding_at(const fastsdt_reader_function* function, size_t index)
{
    return function ? at(static_cast<const reader::Function*>(function)->all_findings, index) : nullptr;
}

const fastsdt_reader_exit* fastsdt_reader_exit_at(const fastsdt_reader_function* function, size_t index)
{
    return function ? at(static_cast<const reader::Function*>(function)->all_exits_of_it, index) : nullptr;
}

const fastsdt_reader_finding* fastsdt_reader_exit_finding_at(const fastsdt_reader_exit* exit, size_t index)
{
    return exit ? at(static_cast<const Exit*>(exit)->all_findings, index) : nullptr;
}

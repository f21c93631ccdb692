// SPDX-License-Identifier: BSD-2-Clause
#include "elf/notes.h"
#include "judge/evaluate.h"
#include "probe.h"
#include "report/plan.h"

#include <fastsdt/note.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

namespace fastsdt::probe {
namespace {

uint64_t number(const std::string& text, const char* option)
{
    uint64_t value = 0;
    const bool hex = text.starts_with("0x");
    const char* first = text.data() + (hex ? 2 : 0);
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
    if (error != std::errc() || end != last || first == last)
        throw Unusable({fmt::format("\"{}\" is not a number", text), option, "write 4502 or 0x1196"});
    return value;
}

bool matches(const std::string& glob, const AttachPoint& point)
{
    const std::string full = point.provider + ':' + point.name;
    return fnmatch(glob.c_str(), (glob.find(':') == glob.npos ? point.name : full).c_str(), 0) == 0;
}

class Finder {
public:
    Finder(const Image& image, const Options& options, const Kernel& kernel)
        : image_(image), options_(options), kernel_(kernel), path_(std::filesystem::absolute(options.file))
    {}

    std::vector<Row> run()
    {
        add_probes();
        add_symbols();
        for (const std::string& text : options_.addresses) {
            const uint64_t address = number(text, "--address");
            if (!image_.executable_at(address))
                throw Unusable({fmt::format("address {} is in no executable segment", text), options_.file_name});
            add("address", text, Vaddr(address), "address");
        }
        add_offsets();
        if (rows_.empty())
            throw Unusable({"it has no USDT probe and no selected function entry", options_.file_name,
                            "name a place with --symbol, --address or --offset"});
        return std::move(rows_);
    }

private:
    Row& add(std::string kind, std::string name, Vaddr address, std::string_view place)
    {
        return add(std::move(kind), std::move(name), address, place,
                   evaluate(image_, {address.value}, kernel_).at_start, FileOffset());
    }

    Row& add(std::string kind, std::string name, Vaddr address, std::string_view place, const Judgement& model,
             FileOffset semaphore)
    {
        const auto offset = image_.file_offset(address);
        if (!offset)
            throw Unusable(
                {fmt::format("{} {}: address {:#x} is not in the file", kind, name, address), options_.file_name});
        Row row;
        row.target = {path_, offset->value, semaphore.value, false};
        row.kind = std::move(kind);
        row.name = std::move(name);
        row.address = address;
        row.place = place;
        row.arch = image_.arch();
        row.model = model;
        rows_.push_back(row);
        // A return probe makes sense where the return address is on top of the stack: at functions, not at sites.
        if (options_.on_return && row.kind != "probe" && row.kind != "exit") {
            rows_.push_back(row);
            rows_.back().target.on_return = true;
        }
        return rows_.back();
    }

    void add_probes()
    {
        if (!options_.everything && options_.probes.empty() && options_.entries.empty() && options_.exits.empty())
            return;
        const Notes notes = read_notes(image_);
        std::map<uint64_t, std::string_view> arguments;
        for (const ProbeNote& probe : notes.probes)
            arguments.emplace(probe.address, probe.arguments);
        std::set<const std::string*> used;
        const auto chosen = [&](const std::vector<std::string>& globs, const AttachPoint& point) {
            bool any = options_.everything;
            for (const std::string& glob : globs)
                if (matches(glob, point)) {
                    any = true;
                    used.insert(&glob);
                }
            return any;
        };
        const auto add_point = [&](const char* kind, std::string name, const AttachPoint& point) -> Row& {
            const bool note = options_.at_note || !point.offset;
            return add(kind, std::move(name), note ? point.note_address : point.address, note ? "note" : point.place,
                       note ? point.at_note : point.judgement, point.semaphore_offset);
        };
        for (const AttachPoint& point : plan(image_, notes, kernel_)) {
            if (chosen(point.entry ? options_.entries : options_.probes, point)) {
                Row& row = add_point(point.entry ? "entry" : "probe",
                                     point.entry ? point.name : point.provider + ':' + point.name, point);
                if (const auto found = arguments.find(point.note_address.value);
                    !point.entry && found != arguments.end())
                    row.arguments = found->second;
            }
            if (!point.exits.empty() && chosen(options_.exits, point))
                for (const AttachPoint& exit : point.exits)
                    add_point("exit", exit.name + (exit.exit->tail_call() ? " (tail call)" : " (exit)"), exit);
        }
        for (const auto& [globs, what] :
             {std::pair(&options_.probes, "USDT probe"), std::pair(&options_.entries, "selected function entry"),
              std::pair(&options_.exits, "function with exit sites")})
            for (const std::string& glob : *globs)
                if (!used.contains(&glob))
                    throw Unusable({fmt::format("no {} matches \"{}\"", what, glob), options_.file_name,
                                    fmt::format("`fastsdt-check --plan {}` lists them", options_.file_name)});
    }

    void add_symbols()
    {
        if (options_.symbols.empty())
            return;
        image_.find_names();
        std::map<std::string_view, const Function*> by_name;
        const auto functions = image_.functions();
        for (const Function& function : functions) {
            by_name.emplace(function.name, &function);
            for (std::string_view alias : function.aliases)
                by_name.emplace(alias, &function);
        }
        for (const std::string& text : options_.symbols) {
            const size_t plus = text.find('+');
            const std::string name = text.substr(0, plus);
            const uint64_t offset = plus == text.npos ? 0 : number(text.substr(plus + 1), "--symbol");
            const auto found = by_name.find(name);
            if (found == by_name.end())
                throw Unusable({fmt::format("no function \"{}\" in its symbol table", name), options_.file_name,
                                "if it is stripped and has no debug file, use --address"});
            if (found->second->indirect && !options_.force)
                throw Unusable(
                    {fmt::format("{} is an indirect function (ifunc): what stands there runs once and chooses an "
                                 "implementation",
                                 name),
                     options_.file_name,
                     fmt::format("name that one (gdb: `info line {}` in a process), or probe the resolver with --force",
                                 name)});
            add("symbol", text, Vaddr(found->second->address + offset), offset ? "inside" : "function");
        }
    }

    void add_offsets()
    {
        for (const std::string& text : options_.offsets) {
            const FileOffset offset(number(text, "--offset"));
            const Segment* in = nullptr;
            for (const Segment& segment : image_.segments())
                if (segment.executable && offset >= segment.offset && offset - segment.offset < segment.file_size)
                    in = &segment;
            if (!in)
                throw Unusable({fmt::format("offset {} is in no executable segment", text), options_.file_name});
            add("offset", text, in->address + (offset - in->offset), "offset");
        }
    }

    const Image& image_;
    const Options& options_;
    const Kernel& kernel_;
    const std::string path_;
    std::vector<Row> rows_;
};

} // namespace

std::vector<Row> find_rows(const Image& image, const Options& options, const Kernel& kernel)
{
    return Finder(image, options, kernel).run();
}

} // namespace fastsdt::probe

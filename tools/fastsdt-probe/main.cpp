// SPDX-License-Identifier: BSD-2-Clause
#include "follow.h"
#include "image.h"
#include "notes.h"
#include "plan.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fnmatch.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastsdt;
using Json = nlohmann::ordered_json;

namespace {

constexpr int all_attached = 0, some_refused = 1, unusable = 2;

std::atomic<int> stop_signal = 0;

struct Wanted {
    std::vector<std::string> probes, entries, symbols, addresses, offsets;
    bool everything = false, at_note = false, on_return = false;
    bool none() const
    {
        return !everything && probes.empty() && entries.empty() && symbols.empty() && addresses.empty()
            && offsets.empty();
    }
};

/// A target with what is told about it.
struct Row {
    Target target;
    std::string kind, name;
    uint64_t address = 0; ///< ELF vaddr
    std::string place;
    Judgement model;
    Observation seen;
    Counted counted;
    std::optional<double> ns_per_hit;
};

[[noreturn]] void give_up(const std::string& message)
{
    fmt::print(stderr, "fastsdt-probe: {}\n", message);
    std::exit(unusable);
}

uint64_t number(const std::string& text, const char* option)
{
    uint64_t value = 0;
    const bool hex = text.starts_with("0x");
    const char* first = text.data() + (hex ? 2 : 0);
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
    if (error != std::errc() || end != last || first == last)
        give_up(fmt::format("{}: \"{}\" is no number; write 4502 or 0x1196", option, text));
    return value;
}

bool matches(const std::vector<std::string>& globs, const AttachPoint& point)
{
    const std::string full = point.provider + ':' + point.name;
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return fnmatch(glob.c_str(), (glob.find(':') == glob.npos ? point.name : full).c_str(), 0) == 0;
    });
}

/// The first twelve bytes are enough for every layout.
constexpr size_t live_size = 12;

std::vector<Row> find_targets(const Image& image, const Wanted& wanted, const Kernel& kernel)
{
    std::vector<Row> rows;
    const std::string path = std::filesystem::absolute(image.path());
    const auto add = [&](std::string kind, std::string name, uint64_t address, std::string_view place,
                         uint64_t semaphore) {
        const auto offset = image.file_offset(address);
        if (!offset)
            give_up(fmt::format("{}: {} {}: address {:#x} is not in the file", image.path(), kind, name, address));
        Row row;
        row.target = {path, *offset, semaphore, false};
        row.kind = std::move(kind);
        row.name = std::move(name);
        row.address = address;
        row.place = place;
        row.model = judge(kernel, image.arch(), image.bytes_at(address), address);
        rows.push_back(row);
        // A return probe makes sense where the return address is on top of the stack: at functions, not at sites.
        if (wanted.on_return && row.kind != "probe") {
            rows.push_back(row);
            rows.back().target.on_return = true;
        }
    };

    const auto points = plan(image, read_notes(image), kernel);
    std::vector<bool> used_probe(wanted.probes.size()), used_entry(wanted.entries.size());
    for (const AttachPoint& point : points) {
        const auto& globs = point.entry ? wanted.entries : wanted.probes;
        auto& used = point.entry ? used_entry : used_probe;
        bool chosen = wanted.everything;
        for (size_t i = 0; i < globs.size(); ++i)
            if (matches({globs[i]}, point))
                chosen = used[i] = true;
        if (!chosen)
            continue;
        const bool note = wanted.at_note || !point.offset;
        add(point.entry ? "entry" : "probe", point.entry ? point.name : point.provider + ':' + point.name,
            note ? point.note_address : point.address, note ? "note" : point.place, point.semaphore_offset);
    }
    for (const auto& [globs, used, what] : {std::tuple(&wanted.probes, &used_probe, "USDT probe"),
                                            std::tuple(&wanted.entries, &used_entry, "selected function entry")})
        for (size_t i = 0; i < globs->size(); ++i)
            if (!(*used)[i])
                give_up(fmt::format("{}: no {} matches \"{}\"; `fastsdt-check {}` lists them", image.path(), what,
                                    (*globs)[i], image.path()));
    if (!wanted.symbols.empty()) {
        const auto functions = image.functions();
        for (const std::string& text : wanted.symbols) {
            const size_t plus = text.find('+');
            const std::string name = text.substr(0, plus);
            const uint64_t offset = plus == text.npos ? 0 : number(text.substr(plus + 1), "--symbol");
            const auto found =
                std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
            if (found == functions.end())
                give_up(fmt::format("{}: no function \"{}\" in its symbol table; if it is stripped, use --address",
                                    image.path(), name));
            add("symbol", text, found->address + offset, offset ? "inside" : "function", 0);
        }
    }
    for (const std::string& text : wanted.addresses)
        add("address", text, number(text, "--address"), "address", 0);
    for (const std::string& text : wanted.offsets) {
        const uint64_t offset = number(text, "--offset");
        const Segment* in = nullptr;
        for (const Segment& segment : image.segments())
            if (segment.executable && offset >= segment.offset && offset - segment.offset < segment.file_size)
                in = &segment;
        if (!in)
            give_up(fmt::format("{}: offset {} is in no executable segment", image.path(), text));
        add("offset", text, in->address + (offset - in->offset), "offset", 0);
    }
    if (rows.empty())
        give_up(fmt::format("{}: it has no USDT probe and no selected function entry; name a place with --symbol, "
                            "--address or --offset",
                            image.path()));
    return rows;
}

/// The bytes show the kernel's call: at the site itself, as 7.2 and 6.18 write it, behind a nop1 when the target is that.
bool shows_call(const std::vector<std::byte>& live)
{
    static constexpr uint8_t lea[] = {0x48, 0x8d, 0x64, 0x24, 0x80};
    const auto at = [&](size_t i) { return i < live.size() ? std::to_integer<unsigned>(live[i]) : 0; };
    if (at(0) == 0xe8)
        return true;
    for (size_t i = 0; i < std::size(lea); ++i)
        if (at(i) != lea[i])
            return false;
    return at(5) == 0xe8;
}

/// What the kernel did: as seen, except that an optimizable site which still has its breakpoint was emulated.
std::string_view mode(const Row& row)
{
    if (!row.seen.verdict)
        return row.counted.error ? "reject" : "unknown";
    if (*row.seen.verdict == Verdict::optimize && row.counted.hits > 1 && !row.counted.live.empty()
        && !shows_call(row.counted.live))
        return name(Verdict::emulate);
    return name(*row.seen.verdict);
}

int error_of(const Row& row)
{
    return row.counted.error ? row.counted.error : row.seen.error;
}

std::string hex(const std::vector<std::byte>& bytes)
{
    std::string text;
    for (std::byte byte : bytes)
        text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(byte));
    return text;
}

std::string release()
{
    utsname system{};
    uname(&system);
    return system.release;
}

std::string text_report(const std::vector<Row>& rows, bool ran, bool timed)
{
    std::string out;
    size_t width = 4;
    for (const Row& row : rows)
        width = std::max(width, row.name.size() + (row.target.on_return ? 9 : 0));
    out += fmt::format("{:<{}}  {:<18}  {:>10}  {:<10}  {:<15}", "NAME", width, "ADDRESS", "ATTACH", "MODE", "MODEL");
    if (ran)
        out += fmt::format("  {:>12}  {}{}", "HITS", timed ? "  NS/HIT  " : "", "LIVE BYTES");
    out += '\n';
    for (const Row& row : rows) {
        out += fmt::format("{:<{}}  {:#018x}  {:>10}  {:<10}  {:<15}",
                           row.name + (row.target.on_return ? " (return)" : ""), width, row.address,
                           error_of(row) ? errno_name(error_of(row)) : "ok", mode(row), name(row.model.verdict));
        if (ran) {
            out += fmt::format("  {:>12}  ", row.counted.hits);
            if (timed)
                out += row.ns_per_hit ? fmt::format("{:>8.0f}  ", *row.ns_per_hit) : "       -  ";
            out += row.counted.live.empty() ? "-" : hex(row.counted.live);
        }
        while (out.ends_with(' '))
            out.pop_back();
        out += '\n';
    }
    return out;
}

std::string json_report(const std::string& file, const std::vector<Row>& rows, bool ran, std::optional<int> wait_status)
{
    Json json = {{"file", file}, {"release", release()}, {"targets", Json::array()}};
    for (const Row& row : rows) {
        Json target = {{"kind", row.kind},
                       {"name", row.name},
                       {"return", row.target.on_return},
                       {"place", row.place},
                       {"address", row.address},
                       {"file_offset", row.target.file_offset},
                       {"attach", error_of(row) ? errno_name(error_of(row)) : "ok"},
                       {"mode", mode(row)},
                       {"model", name(row.model.verdict)}};
        if (ran) {
            target["hits"] = row.counted.hits;
            target["live"] = row.counted.live.empty() ? Json() : Json(hex(row.counted.live));
            target["ns_per_hit"] = row.ns_per_hit ? Json(*row.ns_per_hit) : Json();
        }
        json["targets"].push_back(std::move(target));
    }
    if (wait_status && WIFSIGNALED(*wait_status))
        json["killed_by"] = WTERMSIG(*wait_status);
    else if (wait_status)
        json["exit_status"] = WEXITSTATUS(*wait_status);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// The report appears whole or not at all.
void write_report(const std::string& text, const std::string& file)
{
    if (file.empty()) {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            give_up(fmt::format("cannot write the report: {}", std::strerror(errno)));
        return;
    }
    const std::string part = fmt::format("{}.{}.part", file, getpid());
    std::FILE* out = std::fopen(part.c_str(), "we");
    const bool good = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if ((out && std::fclose(out) != 0) || !good || std::rename(part.c_str(), file.c_str()) != 0) {
        const int error = errno;
        std::remove(part.c_str());
        give_up(fmt::format("{}: {}", file, std::strerror(error)));
    }
}

} // namespace

int main(int argc, char** argv)
{
    CLI::App app{"Attaches real uprobes to a program, runs it, and says what the kernel did at each: refused, "
                 "single-stepped, emulated "
                 "or optimized, how often, at what cost."};
    app.name("fastsdt-probe");
    app.set_version_flag("-V,--version", "fastsdt-probe " FASTSDT_VERSION_STRING);
    app.footer("FILE is probed and run, unless COMMAND or --pid says what to run; without either, and with --dry-run, "
               "the probes\n"
               "are only tried. Exit status: 0 all attached, 1 the kernel refused some, 2 unusable input, usage or "
               "permission.");
    Wanted wanted;
    std::string file, output;
    std::vector<std::string> command;
    pid_t pid = 0;
    double seconds = 0;
    unsigned runs = 0;
    bool json = false, dry = false;
    app.add_option("FILE", file, "ELF file to probe: a program or a shared library")->required();
    app.add_option("COMMAND", command, "After --: what to run; FILE itself by default");
    app.add_option("-P,--probe", wanted.probes, "USDT probes by name or provider:name")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("-e,--entry", wanted.entries, "Function entries that fastprobe selected")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("-s,--symbol", wanted.symbols, "A function of the symbol table")
        ->type_name("NAME[+OFFSET]")
        ->allow_extra_args(false);
    app.add_option("-a,--address", wanted.addresses, "An ELF virtual address")
        ->type_name("ADDRESS")
        ->allow_extra_args(false);
    app.add_option("-o,--offset", wanted.offsets, "A file offset")->type_name("OFFSET")->allow_extra_args(false);
    app.add_flag("-r,--return", wanted.on_return, "Return probes too, at everything but USDT probes");
    app.add_flag("-n,--at-note", wanted.at_note,
                 "Attach at the notes' addresses, not where the plan for this kernel says");
    app.add_flag("-d,--dry-run", dry, "Only try the probes, run nothing");
    app.add_option("-p,--pid", pid, "Attach to a running process instead of running something")->type_name("PID");
    app.add_option("-t,--seconds", seconds,
                   "With --pid: let go after this time; otherwise at its end or at an interrupt")
        ->check(CLI::PositiveNumber);
    app.add_option("--time", runs,
                   "Run the command RUNS times with and RUNS times without probes, and give the CPU time per hit")
        ->type_name("RUNS")
        ->check(CLI::Range(1u, 1000u));
    app.add_flag("-j,--json", json, "JSON");
    app.add_option("--output", output, "Write the report to a file instead of standard output")->type_name("FILE");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? all_attached : unusable;
    }
    if (pid && (!command.empty() || runs || dry))
        give_up("--pid goes with neither a command, --time nor --dry-run");
    if (seconds > 0 && !pid)
        give_up("--seconds goes with --pid");
    if (wanted.none())
        wanted.everything = true;
    if (const std::string why = cannot_attach(); !why.empty())
        give_up(why);

    try {
        const auto kernel = parse_kernel("this");
        if (!kernel)
            give_up("cannot tell this kernel's version from \"" + release() + '"');
        std::vector<Row> rows;
        bool runnable = false;
        Image::each(
            file,
            [&](const Image& image) {
                if (image.relocatable() || !image.member().empty())
                    give_up(fmt::format("{}: only linked programs and libraries can be probed", file));
                runnable = image.kind() == Image::Kind::executable || image.kind() == Image::Kind::pie;
                rows = find_targets(image, wanted, *kernel);
                for (Row& row : rows)
                    row.seen = observe(row.target, image.arch());
            },
            [&](const std::string& message) { give_up(message); });
        if (command.empty() && !pid && !runnable)
            dry = true; // a library
        if (command.empty())
            command = {std::filesystem::absolute(file)};

        std::optional<int> wait_status;
        if (!dry) {
            struct sigaction action{};
            action.sa_handler = [](int signal) { stop_signal = signal; };
            for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
                sigaction(signal, &action, nullptr);

            std::vector<Target> targets;
            for (const Row& row : rows)
                if (row.seen.verdict != Verdict::reject)
                    targets.push_back(row.target);
            double with = 0, without = 0;
            std::vector<Counted> counted;
            for (unsigned run = 0; run < std::max(runs, 1u) && !stop_signal; ++run) {
                Follower probed(targets, live_size);
                if (pid)
                    probed.seize(pid);
                else
                    probed.launch(command);
                probed.run(stop_signal,
                           seconds > 0 ? std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000))
                                       : std::chrono::milliseconds::max());
                counted = probed.counted();
                if (pid)
                    break;
                wait_status = probed.wait_status();
                with = run == 0 ? probed.cpu_seconds() : std::min(with, probed.cpu_seconds());
                if (runs && !stop_signal) {
                    Follower plain({}, 0);
                    plain.launch(command);
                    plain.run(stop_signal);
                    without = run == 0 ? plain.cpu_seconds() : std::min(without, plain.cpu_seconds());
                }
            }
            uint64_t hits = 0;
            for (size_t i = 0, attached = 0; i < rows.size(); ++i)
                if (rows[i].seen.verdict != Verdict::reject && attached < counted.size()) {
                    rows[i].counted = counted[attached++];
                    hits += rows[i].counted.hits;
                }
            // One figure for all: which of several probes cost how much is not to be told from outside.
            if (runs && hits && !stop_signal)
                for (Row& row : rows)
                    if (row.counted.hits)
                        row.ns_per_hit = std::max(0.0, (with - without) * 1e9 / static_cast<double>(hits));
        }
        write_report(json ? json_report(file, rows, !dry, wait_status) : text_report(rows, !dry, runs != 0), output);
        if (!json && wait_status && WIFSIGNALED(*wait_status))
            fmt::print(stderr, "fastsdt-probe: {} was killed by signal {}\n", command[0], WTERMSIG(*wait_status));
        const bool refused = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return error_of(row) != 0; });
        return refused ? some_refused : all_attached;
    } catch (const Unusable& error) {
        give_up(error.what());
    }
}

// SPDX-License-Identifier: BSD-2-Clause
// bench_attach [--rounds N] [--sites 1,100,10000] [--most SECONDS]: how long the running kernel takes to attach uprobes to many
// sites of a process and to detach them, by the interface: perf events, perf events with a BPF program, one BPF link
// (uprobe_multi), tracefs. The process is this one, which has mapped a file of sites of its own. Prints a line of JSON for each interface
// and number of sites: the seconds of each round, or why there are none. Exit 1: a site was not counted; 2: cannot.
#include "counter.h"
#include "unusable.h"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

using namespace fastsdt;

namespace {

constexpr size_t distance = 16; // bytes from a site to the next
#if defined(__x86_64__)
const std::string code = "\x90\xc3"; // nop; ret
#else
const std::string code = "\x1f\x20\x03\xd5\xc0\x03\x5f\xd6";
#endif
const std::string tracing = "/sys/kernel/tracing/", group = "fastsdt_bench";

double seconds(const std::function<void()>& work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A file of sites, mapped as a program's text is.
class Sites {
public:
    explicit Sites(size_t most) : size_(most * distance)
    {
        std::string name = "/var/tmp/fastsdt-attach-XXXXXX"; // /tmp may be a file system that uprobes refuse
        const Descriptor file(mkstemp(name.data()));
        path = name;
        std::string text(size_, '\0');
        for (size_t at = 0; at < size_; at += distance)
            text.replace(at, code.size(), code);
        if (!file || write(file.get(), text.data(), size_) != static_cast<ssize_t>(size_))
            throw Unusable(fmt::format("cannot write {}", path));
        text_ = mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
        if (text_ == MAP_FAILED)
            throw Unusable(fmt::format("cannot map {}", path));
    }
    Sites(const Sites&) = delete;
    Sites& operator=(const Sites&) = delete;
    ~Sites()
    {
        munmap(text_, size_);
        unlink(path.c_str());
    }

    std::vector<Target> targets(size_t count) const
    {
        std::vector<Target> all;
        for (size_t i = 0; i < count; ++i)
            all.push_back({path, i * distance, 0, false});
        return all;
    }
    void call(size_t site) const { reinterpret_cast<void (*)()>(static_cast<char*>(text_) + site * distance)(); }

    std::string path;

private:
    size_t size_;
    void* text_;
};

struct Took {
    double attach, detach;
};

// Hits of the first and the last of `count` sites, called once: every interface has to count 2.
void expect(uint64_t hits, const char* by)
{
    if (hits != 2)
        throw std::runtime_error(fmt::format("{}: two calls, {} counted", by, hits));
}

Took with_events(const Sites& sites, size_t count)
{
    const std::vector<Target> targets = sites.targets(count);
    std::vector<Descriptor> events;
    Took took{};
    took.attach = seconds([&] {
        for (const Target& target : targets) {
            events.push_back(open_uprobe_event(target, getpid(), -1, false));
            if (!events.back())
                throw Unusable(fmt::format("perf_event_open: {}", errno_name(errno)));
        }
    });
    sites.call(0);
    sites.call(count - 1);
    uint64_t hits = 0, value = 0;
    for (const Descriptor& event : events)
        hits += read(event.get(), &value, sizeof value) == sizeof value ? value : 0;
    expect(hits, "perf events");
    took.detach = seconds([&] { events.clear(); });
    return took;
}

Took with_bpf(const Sites& sites, size_t count, Means means)
{
    std::unique_ptr<Counter> counter;
    Took took{};
    took.attach =
        seconds([&] { counter = std::make_unique<Counter>(sites.targets(count), getpid(), Scope::process, means); });
    counter->start();
    sites.call(0);
    sites.call(count - 1);
    counter->stop();
    uint64_t hits = 0;
    for (size_t i = 0; i < count; ++i)
        hits += counter->counted(i).hits;
    expect(hits, means == Means::bpf_multi ? "uprobe_multi" : "perf events with BPF");
    took.detach = seconds([&] { counter.reset(); });
    return took;
}

void say(const std::string& file, const std::string& text, int flags = 0)
{
    const Descriptor out(open((tracing + file).c_str(), O_WRONLY | flags));
    // One write may have several commands, each whole: kernel/trace/trace.c, trace_parse_run_command().
    for (size_t at = 0; at < text.size();) {
        size_t end = text.size();
        if (end - at > 4000)
            end = text.rfind('\n', at + 4000) + 1;
        if (!out || write(out.get(), text.data() + at, end - at) < 0)
            throw Unusable(fmt::format("{}{}: {}", tracing, file, errno_name(errno)));
        at = end;
    }
}

Took with_tracefs(const Sites& sites, size_t count)
{
    std::string make, remove;
    for (size_t i = 0; i < count; ++i) {
        make += fmt::format("p:{}/s{} {}:{:#x}\n", group, i, sites.path, i * distance);
        remove += fmt::format("-:{}/s{}\n", group, i);
    }
    Took took{};
    took.attach = seconds([&] {
        say("uprobe_events", make, O_APPEND);
        say("events/" + group + "/enable", "1");
    });
    sites.call(0);
    sites.call(count - 1);
    uint64_t hits = 0, value = 0;
    std::ifstream profile(tracing + "uprobe_profile");
    for (std::string line, file, event; std::getline(profile, line);)
        if (std::istringstream(line) >> file >> event >> value && file == sites.path)
            hits += value;
    expect(hits, "tracefs");
    took.detach = seconds([&] {
        say("events/" + group + "/enable", "0");
        say("uprobe_events", remove, O_APPEND);
    });
    return took;
}

} // namespace

int main(int argc, char** argv)
try {
    unsigned rounds = 5;
    double most = 60;
    std::vector<size_t> numbers = {1, 100, 10000};
    CLI::App app{"How long the running kernel takes to attach uprobes and to detach them; lines of JSON"};
    app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
    app.add_option("--sites", numbers, "rising")->delimiter(',')->check(CLI::PositiveNumber);
    app.add_option("--most", most, "seconds that a round may take, as those with fewer sites tell")
        ->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);

    if (const std::string why = cannot_attach(); !why.empty())
        throw Unusable(why);
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const Sites sites(numbers.back());
    struct Interface {
        const char* name;
        std::function<Took(size_t)> measure;
        std::string why = {}; // it is not measured any more
        double one = 0;       // seconds for a site, as far as is known
    };
    Interface interfaces[] = {
        {"perf events", [&](size_t n) { return with_events(sites, n); }},
        {"perf events with BPF", [&](size_t n) { return with_bpf(sites, n, Means::bpf_events); }},
        {"one BPF link (uprobe_multi)", [&](size_t n) { return with_bpf(sites, n, Means::bpf_multi); }},
        {"tracefs", [&](size_t n) { return with_tracefs(sites, n); }},
    };
    if (multi_support() == MultiSupport::none)
        interfaces[2].why = "this kernel has no uprobe_multi";
    for (const size_t n : numbers) {
        std::vector<std::vector<double>> attach(std::size(interfaces)), detach(std::size(interfaces));
        for (unsigned round = 0; round < rounds; ++round)
            for (size_t i = 0; i < std::size(interfaces); ++i) {
                Interface& interface = interfaces[i];
                if (round == 0 && interface.why.empty() && interface.one * static_cast<double>(n) > most)
                    interface.why = fmt::format("it would take about {:.0f} s", interface.one * static_cast<double>(n));
                if (!interface.why.empty())
                    continue;
                try {
                    const Took took = interface.measure(n);
                    attach[i].push_back(took.attach);
                    detach[i].push_back(took.detach);
                    interface.one = (took.attach + took.detach) / static_cast<double>(n);
                } catch (const Unusable& why) {
                    interface.why = why.what();
                }
            }
        for (size_t i = 0; i < std::size(interfaces); ++i) {
            nlohmann::json row = {{"interface", interfaces[i].name}, {"sites", n}};
            if (interfaces[i].why.empty()) {
                row["attach_s"] = attach[i];
                row["detach_s"] = detach[i];
            } else {
                row["why"] = interfaces[i].why;
            }
            std::printf("%s\n", row.dump().c_str());
        }
    }
    return 0;
} catch (const Unusable& error) {
    std::fprintf(stderr, "bench_attach: %s\n", error.what());
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_attach: %s\n", error.what());
    return 1;
}

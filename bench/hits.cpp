// SPDX-License-Identifier: BSD-2-Clause
// bench_hits [--rounds N] [--milliseconds N] [--threads 1,2] [--perf | --bpf]: what the running kernel takes for one hit of
// a uprobe, by the instruction it stands on. The program probes functions of its own (hits_sites.S), all at once, and calls
// them in turn, round by round, so that what disturbs one disturbs all. Prints a line of JSON for
// each site, counter and number of threads: the nanoseconds for a call in each round; the same for a function without probe. Exit 1: hits were lost; 2: cannot.
#include "arch.h"
#include "counter.h"
#include "kernel.h"
#include "unusable.h"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

using namespace fastsdt;
using Function = void (*)();

extern "C" {
void site_unprobed();
void site_nop1();
void site_sub();
void site_mov();
void site_ret();
void site_return_nop1();
#if defined(__x86_64__)
void site_nop1_nop4();
void site_nop5();
void site_nop1_nop10();
void site_push();
void site_endbr64();
void site_return_push();
void site_return_ret();
#else
void site_stp();
void site_bti();
void site_return_stp();
#endif
}

namespace {

#if defined(__x86_64__)
constexpr Arch arch = Arch::x86_64;
#else
constexpr Arch arch = Arch::arm64;
#endif

struct Site {
    const char* name;   // as the JSON has it
    const char* series; // as the kernel's tools/testing/selftests/bpf/benchs/bench_trigger.c calls it; empty: not there
    Function function;
    bool on_return = false;
    bool moves =
        false; // the probe goes where `fastsdt-check --plan` says: to the nop behind a nop1, where that is better
};

const std::vector<Site> sites = {
    {"nop1", "trig-uprobe-nop", site_nop1},
#if defined(__x86_64__)
    {"nop1+nop4", "", site_nop1_nop4, false, true},
    {"nop5", "trig-uprobe-nop5", site_nop5},
    {"nop1+nop10", "usdt", site_nop1_nop10, false, true},
    {"push %rbp", "trig-uprobe-push", site_push},
    {"endbr64", "", site_endbr64},
    {"sub $8,%rsp", "", site_sub},
    {"mov %edi,%eax", "", site_mov},
    {"ret", "trig-uprobe-ret", site_ret},
    {"return: nop1", "trig-uretprobe-nop", site_return_nop1, true},
    {"return: push %rbp", "trig-uretprobe-push", site_return_push, true},
    {"return: ret", "trig-uretprobe-ret", site_return_ret, true},
#else
    {"stp x29,x30,[sp,#-16]!", "trig-uprobe-push", site_stp},
    {"bti c", "", site_bti},
    {"sub sp,sp,#16", "", site_sub},
    {"mov w0,w1", "", site_mov},
    {"ret", "trig-uprobe-ret", site_ret},
    {"return: nop1", "trig-uretprobe-nop", site_return_nop1, true},
    {"return: stp", "trig-uretprobe-push", site_return_stp, true},
#endif
};

struct Place {
    Target target;
    Verdict verdict;
};

// Runtime address -> file offset, by the mapping it is in.
uint64_t file_offset(uint64_t address)
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long start, end, offset;
        if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && start <= address
            && address < end)
            return address - start + offset;
    }
    throw Unusable("a function is in no mapping");
}

Place place(const Site& site)
{
    const Kernel kernel = *parse_kernel("this");
    auto address = reinterpret_cast<uint64_t>(site.function);
    const auto judged = [&](uint64_t at) {
        return judge(kernel, arch, {reinterpret_cast<const std::byte*>(at), 16}, at).verdict;
    };
    Verdict verdict = judged(address);
    if (site.moves && judged(address + 1) == Verdict::optimize) {
        ++address;
        verdict = Verdict::optimize;
    }
    return {{"/proc/self/exe", file_offset(address), 0, site.on_return}, verdict};
}

// Nanoseconds for a call, of the slowest thread.
double time_calls(Function function, long calls, unsigned threads)
{
    std::vector<double> took(threads);
    const auto work = [&](unsigned thread) {
        const auto start = std::chrono::steady_clock::now();
        for (long i = 0; i < calls; ++i)
            function();
        took[thread] = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i)
        others.emplace_back(work, i);
    work(0);
    for (std::thread& other : others)
        other.join();
    return *std::max_element(took.begin(), took.end()) / static_cast<double>(calls);
}

} // namespace

int main(int argc, char** argv)
try {
    unsigned rounds = 11, milliseconds = 20;
    std::vector<unsigned> threads = {1};
    bool perf = false, bpf = false;
    CLI::App app{
        "What the running kernel takes for one hit of a uprobe, by the instruction it stands on; lines of JSON"};
    app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
    app.add_option("--milliseconds", milliseconds, "of calls of one site in one round")->check(CLI::PositiveNumber);
    app.add_option("--threads", threads)->delimiter(',')->check(CLI::Range(1, 1024));
    app.add_flag("--perf", perf, "only count by perf events");
    app.add_flag("--bpf", bpf, "only count by BPF");
    CLI11_PARSE(app, argc, argv);

    if (const std::string why = cannot_attach(); !why.empty())
        throw Unusable(why);
    std::vector<Place> places;
    std::vector<Target> targets;
    for (const Site& site : sites) {
        places.push_back(place(site));
        targets.push_back(places.back().target);
    }
    nlohmann::json rows = nlohmann::json::array();
    bool lost = false;
    for (const Means means : {Means::perf_events, Means::bpf_multi}) {
        if (means == Means::perf_events ? bpf : perf)
            continue;
        Counter counter(targets, getpid(), Scope::process, means);
        counter.start();
        for (const unsigned n : threads) {
            std::vector<long> calls(sites.size()), total(sites.size());
            std::vector<uint64_t> before(sites.size());
            std::vector<std::vector<double>> ns(sites.size());
            const long unprobed_calls = static_cast<long>(milliseconds) * 200'000;
            std::vector<double> unprobed;
            for (size_t i = 0; i < sites.size(); ++i) {
                // The first hits are slower, the very first patches the site; the second lot tells how many fit into the time.
                before[i] = counter.counted(i).hits;
                time_calls(sites[i].function, 200, n);
                const double one = time_calls(sites[i].function, 200, n);
                calls[i] = std::max(100l, static_cast<long>(milliseconds * 1e6 / std::max(one, 1.)));
                total[i] = 400;
            }
            for (unsigned round = 0; round < rounds; ++round) {
                unprobed.push_back(time_calls(site_unprobed, unprobed_calls, n));
                for (size_t i = 0; i < sites.size(); ++i) {
                    ns[i].push_back(time_calls(sites[i].function, calls[i], n));
                    total[i] += calls[i];
                }
            }
            const std::string by = means == Means::perf_events ? "perf" : "bpf";
            rows.push_back({{"site", "unprobed"}, {"by", by}, {"threads", n}, {"ns", unprobed}});
            for (size_t i = 0; i < sites.size(); ++i) {
                const Counted counted = counter.counted(i);
                nlohmann::json row = {{"site", sites[i].name},
                                      {"series", sites[i].series},
                                      {"by", by},
                                      {"threads", n},
                                      {"verdict", std::string(name(places[i].verdict))}};
                if (counted.error) {
                    row["error"] = errno_name(counted.error);
                } else {
                    row["ns"] = ns[i];
                    if (counted.hits - before[i] != static_cast<uint64_t>(total[i]) * n) {
                        std::fprintf(stderr, "bench_hits: %s: %ld calls, %ld hits\n", sites[i].name, total[i] * n,
                                     static_cast<long>(counted.hits - before[i]));
                        lost = true;
                    }
                }
                rows.push_back(row);
            }
        }
        counter.stop();
    }
    for (const nlohmann::json& row : rows)
        std::printf("%s\n", row.dump().c_str());
    return lost;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_hits: %s\n", error.what());
    return 2;
}

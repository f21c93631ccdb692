// SPDX-License-Identifier: BSD-2-Clause
// bench_hits [--rounds N] [--milliseconds N] [--threads 1,2] [--perf | --bpf]: what the running kernel takes for one hit of
// a uprobe, by the instruction it stands on. The program probes functions of its own (hits_sites.S), all at once, and calls
// them in turn, round by round, so that what disturbs one disturbs all. Prints a line of JSON for
// each site, counter and number of threads: the nanoseconds for a call in each round; the same for a function without
// probe. Exit 1: hits were lost; 2: nothing can be measured.
#include "base/unusable.h"
#include "counter.h"
#include "judge/evaluate.h"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace fastsdt;
using Call = void (*)();

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

struct Site {
    const char* name;   // as the JSON has it
    const char* series; // as the kernel's tools/testing/selftests/bpf/benchs/bench_trigger.c calls it; empty: not there
    const char* symbol;
    Call function;
    bool on_return = false;
};
#define AT(name) "site_" #name, site_##name

const std::vector<Site> sites = {
    {"nop1", "trig-uprobe-nop", AT(nop1)},
#if defined(__x86_64__)
    {"nop1+nop4", "", AT(nop1_nop4)},
    {"nop5", "trig-uprobe-nop5", AT(nop5)},
    {"nop1+nop10", "usdt", AT(nop1_nop10)},
    {"push %rbp", "trig-uprobe-push", AT(push)},
    {"endbr64", "", AT(endbr64)},
    {"sub $8,%rsp", "", AT(sub)},
    {"mov %edi,%eax", "", AT(mov)},
    {"ret", "trig-uprobe-ret", AT(ret)},
    {"return: nop1", "trig-uretprobe-nop", AT(return_nop1), true},
    {"return: push %rbp", "trig-uretprobe-push", AT(return_push), true},
    {"return: ret", "trig-uretprobe-ret", AT(return_ret), true},
#else
    {"stp x29,x30,[sp,#-16]!", "trig-uprobe-push", AT(stp)},
    {"bti c", "", AT(bti)},
    {"sub sp,sp,#16", "", AT(sub)},
    {"mov w0,w1", "", AT(mov)},
    {"ret", "trig-uprobe-ret", AT(ret)},
    {"return: nop1", "trig-uretprobe-nop", AT(return_nop1), true},
    {"return: stp", "trig-uretprobe-push", AT(return_stp), true},
#endif
};

struct Probed {
    Target target;
    Verdict verdict;
};

// Where `fastsdt-check --plan` puts a probe on the site, and what this kernel does there.
Probed place(const Site& site, const Image& image, Evaluator& evaluator)
{
    for (const Function& function : image.functions()) {
        if (function.name != site.symbol)
            continue;
        const Evaluation& seen = *evaluator.at({function.address});
        const Behaviour& behaviour = seen.behaviours.front();
        const bool moves = behaviour.at_patch.verdict == Verdict::optimize;
        return {{"/proc/self/exe", image.file_offset(Vaddr(function.address + (moves ? seen.patch_offset : 0)))->value,
                 0, site.on_return},
                moves ? behaviour.at_patch.verdict : behaviour.at_start.verdict};
    }
    throw Unusable("bench_hits is stripped");
}

// Nanoseconds for a call, of the slowest thread.
double time_calls(Call function, long calls, unsigned threads)
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
    std::vector<Probed> places;
    std::vector<Target> targets;
    Image::each(
        "/proc/self/exe",
        [&](const Image& image) {
            Evaluator evaluator(image, {*parse_kernel("this")});
            for (const Site& site : sites) {
                places.push_back(place(site, image, evaluator));
                targets.push_back(places.back().target);
            }
        },
        [](const Error& trouble) { throw Unusable(trouble); });
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

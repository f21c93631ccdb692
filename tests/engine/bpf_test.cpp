// SPDX-License-Identifier: BSD-2-Clause
// The kernel's engine: a script's BPF programs leave the same maps and events as the reference (ir/interpret.cpp), of clauses made up of
// everything that has a type. The site is in this program, under a uprobe of this kernel.
#include "bpf/kernel.h"
#include "made_up.h"
#include "own_site.h"
#include "reference.h"

#include "ask.h"
#include "kernel/kernel.h"
#include "proc/maps.h"

#include <fastsdt/recognize.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>

using namespace fastsdt;
using namespace fastsdt::engine;

namespace {

// The instruction behind the nop10, which kernels before 7.2 refuse.
Site here(const Script& script)
{
    const uint64_t address = uint64_t(own_site) + 10;
    Site site = usdt(arguments);
    const std::vector<Mapping> mappings = read_maps(getpid());
    const Mapping* const text = mapping_at(mappings, address);
    site.file = text->name;
    site.device = text->device;
    site.inode = text->inode;
    site.address = address;
    site.probe = 5;
    site.function = 6;
    for (size_t i = 0; i < script.clauses.size(); ++i)
        site.clauses.push_back(i);
    return site;
}

std::optional<uint64_t> told(Value what)
{
    switch (what) {
    case Value::tid:
    case Value::pid: return getpid();
    case Value::cpu: return uint64_t(sched_getcpu());
    case Value::uid: return getuid();
    case Value::gid: return getgid();
    default: throw std::logic_error("not made up");
    }
}

std::string own_name()
{
    char name[17]{};
    prctl(PR_GET_NAME, name);
    return name;
}

// Zeros where nothing is mapped.
std::optional<std::string> memory(uint64_t address, size_t bytes)
{
    std::string found(bytes, '\0');
    const iovec to{found.data(), bytes}, from{reinterpret_cast<void*>(address), bytes};
    process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return found;
}

} // namespace

// From Linux 7.2 on. There its hits take no trap: what stands there is a call.
TEST(Bpf, ANop10BecomesACall)
{
    auto running = fastsdt::parse_kernel("this");
    if (!fastsdt::cannot_attach().empty())
        GTEST_SKIP() << fastsdt::cannot_attach();
    ask_running(*running);
    if (!(running->features.has & bit(Feature::optimize_nop10)))
        GTEST_SKIP() << "this kernel has a trap at each probe";
    const Script script = parse("usdt:*:p:n { @ = count(); @s = sum(arg1); }");
    bpf::Kernel kernel(script, {.only = getpid()});
    kernel.join(getpid());
    std::vector<Site> sites{here(script)};
    sites[0].address = sites[0].patch = uint64_t(own_site);
    sites[0].length = 10;
    ASSERT_EQ(text(kernel.attach(getpid(), sites, read_maps(getpid())).at(0)), "has a uprobe");
    kernel.start();
    for (uint64_t i = 0; i < 100; ++i) {
        Processor state;
        state.gpr[RCX] = i;
        own_site_pass(&state);
    }
    fastsdt_recognized found;
    fastsdt_recognize(&found, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_NOP10, own_site, 10);
    EXPECT_EQ(found.state, FASTSDT_STATE_LEA_CALL);
    const Maps maps = kernel.read();
    EXPECT_EQ(maps.maps[0].at(0).number, 100);
    EXPECT_EQ(maps.maps[1].at(0).number, 4950);
    kernel.stop();
    fastsdt_recognize(&found, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_NOP10, own_site, 10);
    EXPECT_NE(found.state, FASTSDT_STATE_LEA_CALL);
}

TEST(Bpf, ProgramsLeaveWhatTheReferenceLeaves)
{
    if (!fastsdt::cannot_attach().empty())
        GTEST_SKIP() << fastsdt::cannot_attach();
    // Before Linux 6.6 programs cannot wait: what they cannot read may be there, and counts as unread.
    const bool reads_all = multi_support() != MultiSupport::none;
    const char* const given_seed = std::getenv("FASTSDT_SEED");
    const char* const given_count = std::getenv("FASTSDT_CLAUSES");
    const uint64_t first = given_seed ? std::strtoull(given_seed, nullptr, 10) : 1;
    const uint64_t count = given_count ? std::strtoull(given_count, nullptr, 10) : 120;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    uint64_t attached = 0;
    std::map<std::string, size_t> refused;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const std::string text_of_script = MadeUpClauses(seed, false).script();
        std::mt19937_64 random(seed);
        std::optional<Script> parsed;
        try {
            parsed = parse(text_of_script);
        } catch (const ScriptError&) {
            continue;
        }
        const Script& script = *parsed;
        bpf::Kernel kernel(script, {.only = getpid(), .start_ns = 1000});
        kernel.join(getpid());
        const std::vector<Site> sites{here(script)};
        const SiteState state = kernel.attach(getpid(), sites, read_maps(getpid())).at(0);
        if (state.state != State::by_kernel) {
            ++refused[fastsdt::engine::text(state)];
            continue;
        }
        ++attached;
        Given maps(script);
        ReferenceHits reference(script, maps);
        reference.comm = own_name();
        reference.ask_for = told;
        reference.read = memory;
        const ir::Program program = ir::lower(script, script.clauses[0]);
        kernel.start();
        for (int i = 0; i < 8; ++i) {
            Processor before = random_state(random);
            before.gpr[RAX] = i == 5 && reads_all ? 8 : i == 6 && reads_all ? random() : uint64_t(&user);
            before.gpr[R12] = i == 7 && reads_all ? 16 : uint64_t(long_text) + random() % sizeof long_text;
            before.gpr[RCX] = i % 3 ? before.gpr[RCX] % 4 : before.gpr[RCX];
            reference.arguments = {before.gpr[RAX], before.gpr[RCX], before.gpr[R12],
                                   uint64_t(int64_t(int32_t(before.gpr[RBX])))};
            ir::interpret(program, reference);
            Processor after = before;
            own_site_pass(&after);
            after.gpr[RSP] = before.gpr[RSP];
            ASSERT_EQ(after, before) << "seed " << seed << "\n" << text_of_script;
        }
        const Maps made = kernel.read();
        std::vector<Event> events;
        kernel.read_events(events);
        ASSERT_EQ(reference.unread_hits + made.dropped + made.unread + made.lost, 0U) << "seed " << seed << "\n"
                                                                                      << text_of_script;
        ASSERT_EQ(text(script, made), text(script, maps.maps())) << "seed " << seed << "\n"
                                                                 << text_of_script << "\n"
                                                                 << print(program, script);
        ASSERT_EQ(events.size(), reference.events.size()) << "seed " << seed << "\n" << text_of_script;
        for (size_t i = 0; i < events.size(); ++i) {
            ASSERT_EQ(events[i].statement->number, reference.events[i].first) << "seed " << seed << "\n"
                                                                              << text_of_script;
            ASSERT_EQ(text(events[i].values), text(reference.events[i].second)) << "seed " << seed << "\n"
                                                                                << text_of_script << "\n"
                                                                                << print(program, script);
        }
    }
    std::string why;
    for (const auto& [text, times] : refused)
        why += std::to_string(times) + " " + text + "\n";
    EXPECT_GE(attached, count / 3) << why;
    if (given_seed)
        std::cout << attached << " of " << count << " attached\n" << why;
}

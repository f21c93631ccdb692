// SPDX-License-Identifier: BSD-2-Clause
//
// One process is traced again and again, by twenty scripts in turn, and some of the tracers are killed. Afterwards it has as much
// memory, and as many mappings, as after the first twenty. The environment variable FASTSDT_ATTACHMENTS sets another number than 200.
#include "program.h"

#include "process/ptrace.h"
#include "script/parse.h"
#include "session.h"
#include "proc/threads.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fastsdt::engine {
namespace {

using namespace test;

// Maps of all kinds. @i counts the passes, so that there are a thousand keys.
constexpr const char* scripts[] = {
    "@ = count();",
    "@[@i % 1000] = count();",
    "@[@i % 1000, 1] = count();",
    "@[@i % 1000] = hist(@i % 1000);",
    "@ = lhist(@i % 1000, 0, 100, 1);",
    "@[@i % 1000] = lhist(@i % 1000, 0, 1000, 1);",
    "@[tid] = count();",
    "@[tid, @i % 1000] = sum(@i % 1000);",
    "@[@i % 1000] = 1;",
    "@[@i % 1000, tid] = @i % 1000;",
    "@[@i % 1000] = \"a string\";",
    "@ = probe;",
    "@[probe] = count();",
    "@[\"a key\", @i % 1000] = count();",
    "@[@i % 1000] = nsecs; delete(@[@i % 1000]);",
    "@a = min(@i % 1000); @b = max(@i % 1000); @c = avg(@i % 1000);",
    "@a[@i % 1000] = min(@i % 1000); @b[@i % 1000] = max(@i % 1000);",
    "@a[@i % 1000] = count(); @b[@i % 1000] = count(); @c[@i % 1000] = count(); @d[@i % 1000] = count();",
    "@a[@i % 1000] = @i; @b[@a[@i % 1000] % 100] = count();",
    "@[@i % 1000] = stats(@i % 1000); @n = count();",
};

struct Memory {
    std::string size, shared;
    size_t mappings = 0;
    bool operator==(const Memory&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Memory& memory)
{
    return out << memory.size << " " << memory.shared << ", " << memory.mappings << " mappings";
}
Memory memory_of(pid_t pid)
{
    return {status_field(pid, pid, "VmSize:"), status_field(pid, pid, "RssShmem:"), mappings_of(pid).size()};
}

TEST(Attachments, LeaveNoMemoryBehind)
{
    const char* const wanted = std::getenv("FASTSDT_ATTACHMENTS");
    const size_t attachments = wanted ? std::strtoull(wanted, nullptr, 10) : 200;
    Program program;
    EXPECT_EQ(program.ask("many"), "many");
    const auto attach = [&](const char* statements, const std::function<void(Session&)>& then) {
        const Script script = parse("usdt:*:target:many { @i = @i + 1; " + std::string(statements) + " }");
        const auto target = open_outside(program.pid());
        Session session(script, *target);
        session.arm();
        EXPECT_EQ(program.passes("pass 20").wrong, 0);
        then(session);
    };
    program.passes("pass 20");
    const auto mappings = [&] {
        std::ostringstream text;
        text << std::ifstream("/proc/" + std::to_string(program.pid()) + "/maps").rdbuf();
        return text.str();
    };
    Memory first;
    for (size_t i = 0; i < attachments; ++i) {
        SCOPED_TRACE(i);
        const char* const statements = scripts[i % std::size(scripts)];
        // The last tracer of each twenty clears away what the killed ones left.
        if (i % 3 == 1 && i % std::size(scripts) != std::size(scripts) - 1) {
            const pid_t tracer = fork();
            if (tracer == 0) {
                attach(statements, [](Session&) { kill(getpid(), SIGKILL); });
                _exit(1);
            }
            int status = 0;
            waitpid(tracer, &status, 0);
            ASSERT_TRUE(WIFSIGNALED(status));
            continue;
        }
        attach(statements, [](Session& session) {
            const Maps maps = session.read();
            EXPECT_EQ(maps.dropped, 0u);
            EXPECT_EQ(maps.threads, 1u);
            for (const SiteState& state : session.verify())
                EXPECT_EQ(text(state), "armed");
        });
        // What could not go, since the process got no processor for two seconds, goes with the next.
        if (i + 1 == std::size(scripts)) {
            for (int again = 0; again < 2; ++again)
                attach(statements, [](Session&) {});
            first = memory_of(program.pid());
        } else if ((i + 1) % std::size(scripts) == 0) {
            for (int again = 0; again < 3 && memory_of(program.pid()) != first; ++again)
                attach(statements, [](Session&) {});
            ASSERT_EQ(memory_of(program.pid()), first) << mappings();
        }
    }
    EXPECT_EQ(program.passes("pass 20").wrong, 0);
}

} // namespace
} // namespace fastsdt::engine

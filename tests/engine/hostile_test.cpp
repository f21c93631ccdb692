// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that do with their memory what a tracer does not expect: none keeps it waiting, takes its memory or makes it write
// elsewhere.
#include "process/inject.h"
#include "process/launch.h"
#include "process/ptrace.h"
#include "program.h"

#include <atomic>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

namespace fastsdt::engine {
namespace {

using namespace test;
using namespace std::chrono_literals;

class Hostile : public testing::Test {
protected:
    using Seen = std::function<void(pid_t, size_t, int64_t)>;
    std::vector<int64_t> send_one(const Call& call, const Seen& seen = [](pid_t, size_t, int64_t) {})
    {
        std::vector<int64_t> results;
        const Memory memory = open_memory(program.pid(), O_RDWR);
        as_tracer([&] { results = send(program.pid(), memory.file.get(), {call, {SYS_getpid}}, "", seen); });
        return results;
    }
    // The thread that makes calls for us loops for ever behind the first of them.
    void loop(pid_t thread)
    {
        const unsigned char instruction[] = {
#if defined(__aarch64__)
            0x00, 0x00, 0x00, 0x14 // b .
#else
            0xeb, 0xfe // jmp .
#endif
        };
        const Memory memory = open_memory(program.pid(), O_RDWR);
        const auto pc = static_cast<off_t>(program_counter(Tracees::registers(thread)));
        EXPECT_EQ(pwrite(memory.file.get(), instruction, sizeof instruction, pc),
                  static_cast<ssize_t>(sizeof instruction));
    }
    // It goes on as if nothing had been: with its registers, its signals, and its sites to be armed.
    void is_well()
    {
        EXPECT_EQ(program.ask("mask"), "mask 0");
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites_of(program.pid()));
        for (const SiteState& state : arming.states())
            EXPECT_EQ(text(state), "armed");
        EXPECT_EQ(program.passes("run 2 200").wrong, 0);
        EXPECT_EQ(all_hits(*target, 4), 400u);
    }
    std::vector<std::byte> vdso(pid_t pid)
    {
        for (const Mapping& m : read_maps(pid))
            if (m.name == "[vdso]")
                return read_at(open_memory(pid, O_RDONLY).file, m.start, m.end - m.start);
        return {};
    }

    Program program;
};

TEST_F(Hostile, AnErrandThatDoesNotComeBack)
{
    try {
        send_one({SYS_getppid}, [&](pid_t thread, size_t, int64_t) { loop(thread); });
        ADD_FAILURE() << "came back";
    } catch (const Busy& e) {
        ADD_FAILURE() << e.what();
    } catch (const Unusable& e) {
        EXPECT_NE(std::string(e.what()).find("did not come back"), std::string::npos) << e.what();
    }
    is_well();
}

TEST_F(Hostile, ASignalEndsTheWait)
{
    sigset_t interrupt, former;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &former);
    try {
        send_one({SYS_getppid}, [&](pid_t thread, size_t, int64_t) {
            loop(thread);
            kill(getpid(), SIGINT);
        });
        ADD_FAILURE() << "came back";
    } catch (const Unusable& e) {
        EXPECT_NE(std::string(e.what()).find("a signal asks this tool to end"), std::string::npos) << e.what();
    }
    int signal = 0;
    sigwait(&interrupt, &signal);
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
    is_well();
}

// The errand of a tracer that was killed stays behind the vdso, until the next tracer has an errand.
TEST_F(Hostile, AnErrandThatIsLeftIsWiped)
{
    const auto original = vdso(program.pid());
    ASSERT_FALSE(original.empty());
    const pid_t tracer = fork();
    if (tracer == 0) {
        send_one({SYS_getppid}, [](pid_t, size_t, int64_t) { kill(getpid(), SIGKILL); });
        _exit(0);
    }
    waitpid(tracer, nullptr, 0);
    EXPECT_EQ(program.ask("mask"), "mask 0"); // it came home
    EXPECT_NE(vdso(program.pid()), original);
    EXPECT_EQ(send_one({SYS_getpid}), (std::vector<int64_t>{program.pid(), program.pid()}));
    EXPECT_EQ(vdso(program.pid()), original);
    is_well();
}

// What a front says of its size and of its sites is believed as far as a tracer can have made it.
TEST_F(Hostile, AForgedFrontCostsNothing)
{
    const auto target = open_outside(program.pid());
    const auto forge = [&](size_t size, uint32_t patches) {
        const int64_t at =
            send_one({SYS_mmap,
                      {0, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~uint64_t{0}, 0}})
                .at(0);
        Front front;
        front.start = static_cast<uint64_t>(at);
        front.size = size;
        std::vector<std::byte> bytes = encode(front);
        std::memcpy(bytes.data() + 12, &patches, sizeof patches);
        target->write_code(front.start, bytes);
        return front.start;
    };
    const auto number = [&] {
        size_t patches = 0;
        for (const Front& front : find_arenas(*target))
            patches += front.patches.size();
        return patches;
    };
    const size_t page = own_machine.page, mega = 1 << 20;
    forge(own_machine.most_code + page, 1); // more than one place ever has
    EXPECT_TRUE(find_arenas(*target).empty());
    forge(own_machine.most_code, static_cast<uint32_t>(own_machine.most_code / 32 - 4)); // no room for a stub
    EXPECT_TRUE(find_arenas(*target).empty());
    for (size_t i = 0; i < 12; ++i) // each could be; all of them cannot
        forge(8 * mega, 160'000);
    EXPECT_LE(number(), size_t{1} << 20);
    EXPECT_GE(number(), size_t{160'000});
    EXPECT_EQ(text(can_arm(*target, sites_of(program.pid()))[0]), "not armed");
    is_well();
}

// Memory that says something else each time it is read.
class Changing : public Target {
public:
    explicit Changing(unsigned seed) : random_(seed)
    {
        Mapping m;
        m.start = start;
        m.end = start + size;
        m.executable = m.readable = true;
        mappings_ = {m, m, m};
        mappings_[1].start += size;
        mappings_[1].end += size;
        mappings_[2].start += 2 * size;
        mappings_[2].end = ~uint64_t{0} << 12;
    }
    ProcessView& view() override { return view_; }
    std::vector<Mapping> mappings() override { return mappings_; }
    std::vector<std::byte> read(uint64_t address, size_t length) override
    {
        read_ += length;
        EXPECT_LE(length, own_machine.most_code);
        std::vector<std::byte> bytes(std::min<size_t>(length, random_() % 3 ? 4096 : random_() % 200));
        for (std::byte& b : bytes)
            b = static_cast<std::byte>(random_());
        Front front;
        front.start = address;
        constexpr uint64_t sizes[] = {0, 4096, size, 1 << 30, ~uint64_t{0}};
        front.size = sizes[random_() % 5];
        front.mark = random_();
        front.tracer.pid = static_cast<uint32_t>(random_() % 4);
        auto header = encode(front);
        if (random_() % 4) {
            const auto patches = static_cast<uint32_t>(random_() % 2 ? random_() : random_() % 1000);
            std::memcpy(header.data() + 12, &patches, sizeof patches);
        }
        if (random_() % 8)
            std::copy_n(header.begin(), std::min(header.size(), bytes.size()), bytes.begin());
        return bytes;
    }
    bool stores_thread_pointers() override { return false; }
    Window allocate_data(Needs) override { return {}; }
    Arena allocate_code(std::span<const uint64_t>, size_t) override { return {}; }
    void free_code(const Arena&, size_t) override {}
    bool release(std::span<const Range>, Range, bool) override { return false; }
    void write_code(uint64_t, std::span<const std::byte>) override { ADD_FAILURE() << "writes code"; }
    std::vector<Outcome> patch(std::span<const Patch>, bool) override
    {
        ADD_FAILURE() << "patches";
        return {};
    }
    std::vector<std::byte> read_data(size_t, size_t) override { return {}; }
    bool change_data(size_t, uint64_t, uint64_t) override { return false; }
    void forget_data(std::span<const Piece>) override {}
    void write_data(size_t, std::span<const std::byte>) override {}

    static constexpr uint64_t start = 0x10000000, size = 1 << 24;
    size_t read_ = 0;

private:
    ProcessView view_{0};
    std::mt19937 random_;
    std::vector<Mapping> mappings_;
};

TEST(HostileMemory, FrontsThatChangeWhileTheyAreRead)
{
    size_t found = 0;
    for (unsigned seed = 0; seed < 20'000; ++seed) {
        Changing target(seed);
        const auto fronts = find_arenas(target);
        found += fronts.size();
        for (const Front& front : fronts) {
            EXPECT_LE(front.size, own_machine.most_code);
            EXPECT_LE(front.patches.size(), own_machine.most_code / 48);
        }
        EXPECT_LE(target.read_, 3 * own_machine.most_code);
    }
    EXPECT_GT(found, 100u);
}

// While it is armed and disarmed. Whether that works is up to the process; its code is not.
TEST_F(Hostile, FrontsThatAreRewritten)
{
    const auto sites = sites_of(program.pid());
    const auto bytes = [&](const Site& site) {
        return read_at(open_memory(program.pid(), O_RDONLY).file, site.patch, own_machine.length);
    };
    const auto original = bytes(sites[0]);
    std::atomic<bool> done = false;
    std::thread rewriter([&] {
        std::mt19937 random(1);
        const Memory memory = open_memory(program.pid(), O_RDWR);
        while (!done)
            for (const Mapping& m : read_maps(program.pid())) {
                if (!m.executable || m.inode || m.name.starts_with('['))
                    continue;
                // Each field but the first, which makes it a front.
                const uint64_t word = random() % 2 ? random() : ~uint64_t{0} << random() % 64;
                const auto at = static_cast<off_t>(m.start + 8 + 8 * (random() % 20));
                (void)!pwrite(memory.file.get(), &word, sizeof word, at);
            }
    });
    size_t armed = 0;
    for (int i = 0; i < 60; ++i) {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        try {
            arming.arm(sites);
            armed += arming.states()[0].state == State::armed;
            EXPECT_EQ(program.passes("run 1 40").wrong, 0);
            arming.disarm();
        } catch (const Unusable&) {
            // said, and the next goes on
        }
        EXPECT_EQ(bytes(sites[0]), original);
    }
    done = true;
    rewriter.join();
    EXPECT_GT(armed, 0u);
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
}

// A program header that says that the dynamic section is without end, and no entry there for debuggers.
TEST(HostileStart, ADynamicSectionWithoutEnd)
{
    std::ifstream in(beside_us("engine_starter"), std::ios::binary);
    std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        char* const at = file.data() + header.e_phoff + i * sizeof segment;
        std::memcpy(&segment, at, sizeof segment);
        if (segment.p_type != PT_DYNAMIC)
            continue;
        for (size_t entry = segment.p_offset; entry < segment.p_offset + segment.p_filesz; entry += sizeof(Elf64_Dyn)) {
            int64_t tag = 0;
            std::memcpy(&tag, file.data() + entry, sizeof tag);
            if (tag == DT_DEBUG) {
                tag = 0x60001234; // nobody knows it
                std::memcpy(file.data() + entry, &tag, sizeof tag);
            } else if (tag == DT_NULL) {
                segment.p_memsz = uint64_t{1} << 50;
                std::memcpy(at, &segment, sizeof segment);
                break;
            }
        }
    }
    const std::string path = beside_us("hostile_starter." + std::to_string(getpid()));
    std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
    Signals signals;
    Launched launched({path, "42"}, signals);
    Held held(launched);
    unlink(path.c_str());
    held.let_go();
    const Launched::End end = launched.reap();
    EXPECT_TRUE(WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 42) << end.wait_status;
}

} // namespace
} // namespace fastsdt::engine

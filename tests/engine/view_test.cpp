// SPDX-License-Identifier: BSD-2-Clause
//
// What a view of a process keeps, and when it reads it anew.
#include "process/environment.h"
#include "process/known_function.h"
#include "process/view.h"
#include "program.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>

namespace fastsdt::engine {
namespace {

using namespace test;

size_t descriptors()
{
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(View, MappingsAreThoseOfTheLastLook)
{
    ProcessView view(getpid());
    const size_t page = page_size();
    void* const at = mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto middle = reinterpret_cast<uint64_t>(at) + page;
    ASSERT_TRUE(mapping_at(view.mappings(), middle)); // the first question is a look
    munmap(reinterpret_cast<void*>(middle), page);
    EXPECT_TRUE(mapping_at(view.mappings(), middle));
    EXPECT_FALSE(mapping_at(view.look(), middle));
    EXPECT_FALSE(mapping_at(view.mappings(), middle));
    munmap(at, 3 * page);
}

// Files that are all there are by their numbers, whatever leads to them by now.
class Files : public testing::Test {
protected:
    static constexpr int most = 12;
    Files()
    {
        for (int i = 0; i < most; ++i) {
            const std::string path = folder + "/" + std::to_string(i);
            std::ofstream(path) << std::string(page_size(), static_cast<char>('a' + i));
            const Descriptor file(open(path.c_str(), O_RDONLY));
            maps[i] = mmap(nullptr, page_size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
            places[i] = reinterpret_cast<uint64_t>(maps[i]);
            std::ofstream(path + ".new") << "another";
            std::filesystem::rename(path + ".new", path);
        }
    }
    ~Files() override
    {
        for (void* const at : maps)
            munmap(at, page_size());
        std::filesystem::remove_all(folder);
    }
    char first_of(ProcessView& view, int i)
    {
        const Mapping* const mapping = mapping_at(view.mappings(), places[i]);
        char byte = 0;
        return mapping && pread(view.file(*mapping).get(), &byte, 1, 0) == 1 ? byte : '?';
    }
    const std::string folder = [] {
        std::string name = std::filesystem::temp_directory_path() / "view.XXXXXX";
        return std::string(mkdtemp(name.data()));
    }();
    std::array<void*, most> maps{};
    std::array<uint64_t, most> places{};
};

TEST_F(Files, AreThoseThatAreMapped)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "/proc/PID/map_files is for root";
    ProcessView view(getpid());
    for (int i = 0; i < most; ++i)
        EXPECT_EQ(first_of(view, i), 'a' + i);
}

TEST_F(Files, FewStayOpen)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "/proc/PID/map_files is for root";
    const size_t before = descriptors();
    ProcessView view(getpid());
    for (int i = 0; i < most; ++i)
        first_of(view, i);
    EXPECT_EQ(descriptors(), before + 1);
    view.keep_files(3);
    for (int i = 0; i < most; ++i)
        first_of(view, i);
    EXPECT_EQ(descriptors(), before + 3);
    for (void*& at : maps)
        munmap(std::exchange(at, nullptr), page_size());
    EXPECT_EQ(first_of(view, most - 3), 'a' + most - 3); // though nothing leads to it any more
    EXPECT_EQ(first_of(view, 0), '?');
}

// A package upgrade replaces the C library under running programs: what the process has is in the old one.
TEST(View, TheCLibraryIsTheOneThatIsMapped)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "/proc/PID/map_files is for root";
    ProcessView own(getpid());
    const auto library = std::ranges::find_if(own.mappings(), [](const Mapping& m) {
        return m.executable && std::filesystem::path(m.name).filename().string().starts_with("libc.so");
    });
    if (library == own.mappings().end() || find_thread_stack(own) == 0)
        GTEST_SKIP() << "needs a C library that is found by its symbols";
    std::string folder = std::filesystem::temp_directory_path() / "libc.XXXXXX";
    ASSERT_TRUE(mkdtemp(folder.data()));
    const std::string copy = folder + "/" + std::filesystem::path(library->name).filename().string();
    std::filesystem::copy_file(library->name, copy);
    {
        Program program({beside_us("engine_target")}, [&] { setenv("LD_LIBRARY_PATH", folder.c_str(), 1); });
        ProcessView view(program.pid());
        EXPECT_TRUE(std::ranges::any_of(view.mappings(), [&](const Mapping& m) { return m.name == copy; }));
        EXPECT_EQ(find_thread_stack(view), find_thread_stack(own));
        std::ofstream(copy + ".new") << "no library";
        std::filesystem::rename(copy + ".new", copy);
        ProcessView now(program.pid());
        EXPECT_EQ(find_thread_stack(now), find_thread_stack(own));
    }
    std::filesystem::remove_all(folder);
}

// As the kernel keeps them for a process whose first thread has ended.
TEST(View, SignalsAndMemoryWithoutTheFirstThread)
{
    Program program;
    ProcessView view(program.pid());
    EXPECT_EQ(view.handled_signals() >> (SIGUSR1 - 1) & 1, 0U);
    EXPECT_EQ(program.ask("signals"), "signals");
    EXPECT_EQ(view.handled_signals() >> (SIGUSR1 - 1) & 1, 1U);
    EXPECT_EQ(program.ask("leave"), "left");
    EXPECT_EQ(program.line(), "ready");
    EXPECT_EQ(view.handled_signals() >> (SIGUSR1 - 1) & 1, 1U);
    ASSERT_FALSE(view.look().empty());
    EXPECT_EQ(view.read(view.mappings().front().start, 4).size(), 4U);
    EXPECT_FALSE(view.has_gone());
}

TEST(View, MemoryIsThatOfOneProgram)
{
    Program program;
    ProcessView view(program.pid());
    EXPECT_FALSE(view.has_gone());
    EXPECT_EQ(program.ask("exec"), "ready");
    EXPECT_TRUE(view.has_gone());
    EXPECT_TRUE(view.read(view.look().front().start, 4).empty());
    EXPECT_FALSE(ProcessView(program.pid()).has_gone());
}

// A file that comes in another one's place may have its number too.
TEST(View, AFunctionIsWhereTheFileHasItNow)
{
    Dl_info library{};
    ASSERT_TRUE(dladdr(reinterpret_cast<void*>(&getpid), &library));
    const std::string path = std::filesystem::canonical("/tmp").string() + "/fastsdt-view." + std::to_string(getpid());
    std::filesystem::copy_file(library.dli_fname, path);
    const Descriptor file(open(path.c_str(), O_RDONLY));
    void* const at = mmap(nullptr, page_size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
    ProcessView view(getpid());
    const Mapping* const mapping = mapping_at(view.look(), reinterpret_cast<uint64_t>(at));
    ASSERT_TRUE(mapping);
    const auto offset = reinterpret_cast<uint64_t>(&getpid) - reinterpret_cast<uint64_t>(library.dli_fbase);
    EXPECT_EQ(known_function(view, *mapping, "getpid"), mapping->start + offset);
    std::filesystem::copy_file("/proc/self/exe", path, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(known_function(view, *mapping, "getpid"), 0u); // the test has none
    munmap(at, page_size());
    std::filesystem::remove(path);
}

} // namespace
} // namespace fastsdt::engine

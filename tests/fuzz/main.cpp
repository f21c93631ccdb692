// SPDX-License-Identifier: BSD-2-Clause
// fuzz_reader [-t SECONDS] [-n INPUTS] [-s SEED] [-p FOLDER] FILE-OR-FOLDER...: gives each file of the corpus to the fuzz target as it
// is, and with -t mutations of them for so long, and no more than with -n. With -p, fastsdt-check and fastsdt-index in FOLDER get each file and
// each hundredth mutation too (programs.cpp). Input N of a seed and a corpus is the same on every machine. What fails is left in the file
// failed-SEED-N, and tried again as a file of the corpus.
#include "mutate.h"
#include "programs.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if SANITIZED
// Of <sanitizer/allocator_interface.h>, which GCC does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void*);
extern "C" void __sanitizer_set_death_callback(void (*)());
extern "C" const char* __asan_default_options()
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024:hard_rss_limit_mb=3000:handle_abort=1:malloc_"
           "context_size=8";
}
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

const Bytes* current = nullptr;
char failed[64]; // name of the file for it
char command[2048];

void keep_input()
{
    if (!current)
        return;
    const int file = open(failed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0 && write(file, current->data(), current->size()) == ssize_t(current->size()))
        dprintf(STDERR_FILENO, "\nfuzz_reader: to try it again: %s %s\n", command, failed);
    current = nullptr;
}

void by_signal(int signal)
{
    keep_input();
    raise(signal); // SA_RESETHAND: ends us
}

// What the code under test has on the heap, and has had at most. libelf's and libdw's are counted too.
size_t held = 0, most_held = 0, most_of_all = 0;

#if SANITIZED
void count_malloc(const volatile void*, size_t size)
{
    held += size;
    most_held = std::max(most_held, held);
}
void count_free(const volatile void* pointer)
{
    held -= pointer ? __sanitizer_get_allocated_size(pointer) : 0;
}
#endif

void guard()
{
#if SANITIZED
    __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free);
    __sanitizer_set_death_callback(keep_input);
    constexpr int signals[] = {SIGPROF};
#else
    const rlimit memory{rlim_t(1) << 30, rlim_t(1) << 30};
    setrlimit(RLIMIT_AS, &memory);
    constexpr int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGPROF};
#endif
    for (const int signal : signals) {
        struct sigaction action = {};
        action.sa_handler = by_signal;
        action.sa_flags = int(SA_RESETHAND) | SA_NODEFER;
        sigaction(signal, &action, nullptr);
    }
}

[[noreturn]] void fail(const std::string& what)
{
    std::fprintf(stderr, "fuzz_reader: %s\n", what.c_str());
    keep_input();
    std::exit(1);
}

void run(const Bytes& bytes)
{
    current = &bytes;
    const itimerval most_time{{}, {10, 0}}; // of the processor for one input, which takes milliseconds
    setitimer(ITIMER_PROF, &most_time, nullptr);
    const size_t before = held;
    most_held = held;
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    // Line tables may cost 64 MB and eight times the file (lib/elf/lines.cpp).
    if (most_held - before > (size_t(80) << 20) + 400 * bytes.size())
        fail(std::to_string(most_held - before) + " bytes of memory for a file of " + std::to_string(bytes.size()));
    setitimer(ITIMER_PROF, nullptr, nullptr);
    most_of_all = std::max(most_of_all, most_held - before);
    current = nullptr;
}

} // namespace

int main(int argc, char** argv)
{
    double seconds = 0;
    uint64_t seed = 1, most = UINT64_MAX;
    std::string folder;
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.size() == 2 && argument[0] == '-' && i + 1 < argc) {
            ++i;
            if (argument[1] == 't')
                seconds = std::atof(argv[i]);
            else if (argument[1] == 'n')
                most = std::strtoull(argv[i], nullptr, 0);
            else if (argument[1] == 's')
                seed = std::strtoull(argv[i], nullptr, 0);
            else
                folder = argv[i];
        } else if (std::filesystem::is_directory(argument)) {
            for (const auto& entry : std::filesystem::directory_iterator(argument))
                files.push_back(entry.path());
        } else {
            files.push_back(argument);
        }
    }
    std::sort(files.begin(), files.end());
    const auto object =
        std::find_if(files.begin(), files.end(), [](const auto& file) { return file.filename() == "object"; });
    if (object == files.end() && !folder.empty())
        fail("-p needs a corpus with a file called \"object\"");
    std::snprintf(command, sizeof command, "%s%s%s%s%s", argv[0], folder.empty() ? "" : " -p ", folder.c_str(),
                  folder.empty() ? "" : " ", folder.empty() ? "" : object->c_str());
    guard();
    std::vector<Bytes> corpus;
    std::snprintf(failed, sizeof failed, "failed-input");
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
        run(corpus.back());
        if (const auto wrong = folder.empty() ? std::nullopt : run_programs(folder, *object, corpus.back()))
            fail(file.string() + ": " + *wrong);
    }
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    size_t number = 0, programs = 0;
    for (; !corpus.empty() && number < most && std::chrono::steady_clock::now() < end; ++number) {
        Random random(seed << 32 ^ number);
        const Bytes bytes = mutated(corpus, random);
        std::snprintf(failed, sizeof failed, "failed-%llu-%zu", static_cast<unsigned long long>(seed), number);
        run(bytes);
        if (number % 100 != 0 || folder.empty())
            continue;
        ++programs;
        current = &bytes;
        if (const auto wrong = run_programs(folder, *object, bytes))
            fail(*wrong);
        current = nullptr;
    }
    std::printf("%zu inputs from %zu files, %zu of them for the programs too\n", number + files.size(), files.size(),
                programs);
    return files.empty();
}

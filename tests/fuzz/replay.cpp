// SPDX-License-Identifier: BSD-2-Clause
// replay [-t SECONDS [-s SEED]] FILE-OR-DIRECTORY...: gives each file of the corpus to the fuzz target as it is, cut short, and
// with single bytes and words changed. The same on every run, and no special compiler needed. With -t it goes on with other
// changes, and pieces of other files, for so long. All of it in 1 GB of memory; what fails is left in the file "failed-input".
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static const std::vector<uint8_t>* current;

static void keep_input(int signal)
{
    const int file = open("failed-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    [[maybe_unused]] const auto ignored = file >= 0 && current ? write(file, current->data(), current->size()) : 0;
    raise(signal); // SA_RESETHAND: ends us
}

int main(int argc, char** argv)
{
    double seconds = 0;
    uint32_t seed = 1;
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (argv[first][1] == 't')
            seconds = std::atof(argv[first + 1]);
        else
            seed = uint32_t(std::atol(argv[first + 1]));
#ifndef __SANITIZE_ADDRESS__
    const rlimit memory{rlim_t(1) << 30, rlim_t(1) << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGPROF}) {
        struct sigaction action = {};
        action.sa_handler = keep_input;
        action.sa_flags = int(SA_RESETHAND) | SA_NODEFER;
        sigaction(signal, &action, nullptr);
    }
    std::vector<std::filesystem::path> files;
    for (int i = first; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            files.push_back(argv[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    size_t runs = 0;
    uint32_t state = seed;
    const auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
    const itimerval most_time{{}, {10, 0}}; // of the processor for one input, which takes milliseconds
    const auto run = [&](const std::vector<uint8_t>& bytes) {
        current = &bytes;
        setitimer(ITIMER_PROF, &most_time, nullptr);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++runs;
    };
    const auto changed = [&](std::vector<uint8_t> bytes, unsigned most) {
        for (unsigned changes = 1 + random() % most; changes > 0; --changes) {
            // Headers are where it hurts: half of the changes go to the first 128 bytes and to the last kilobyte.
            const size_t size = bytes.size();
            const size_t at = random() % 4 == 0 ? random() % std::min<size_t>(size, 128)
                : random() % 4 == 0             ? size - 1 - random() % std::min<size_t>(size, 1024)
                                                : random() % size;
            static constexpr uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
            const uint8_t value = random() % 2 ? values[random() % 5] : uint8_t(random());
            for (size_t k = at; k < std::min(size, at + (random() % 3 ? 1 : 8)); ++k)
                bytes[k] = value;
        }
        return bytes;
    };
    std::vector<std::vector<uint8_t>> corpus;
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        const std::vector<uint8_t> original((std::istreambuf_iterator<char>(stream)), {});
        run(original);
        if (original.empty())
            continue;
        for (int i = 0; i < 40; ++i)
            run({original.begin(), original.begin() + long(random() % original.size())});
        for (int i = 0; i < 400; ++i)
            run(changed(original, 3));
        corpus.push_back(original);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!corpus.empty() && std::chrono::steady_clock::now() < end) {
        std::vector<uint8_t> bytes = corpus[random() % corpus.size()];
        if (random() % 4 == 0) { // a piece of another file
            const std::vector<uint8_t>& other = corpus[random() % corpus.size()];
            const size_t from = random() % other.size(),
                         length = random() % std::min<size_t>(256, other.size() - from) + 1;
            const size_t to = random() % bytes.size();
            std::copy_n(other.begin() + long(from), std::min(length, bytes.size() - to), bytes.begin() + long(to));
        }
        run(changed(std::move(bytes), 12));
    }
    current = nullptr;
    std::printf("seed %u: ", seed);
    std::printf("%zu inputs from %zu files\n", runs, files.size());
    return files.empty();
}

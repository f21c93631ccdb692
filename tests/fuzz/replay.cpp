// SPDX-License-Identifier: BSD-2-Clause
// replay FILE-OR-DIRECTORY...: gives each file of the corpus to the fuzz target as it is, cut short, and with single
// bytes and words changed. The same on every run, and no special compiler needed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv)
{
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            files.push_back(argv[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    size_t runs = 0;
    uint32_t state = 1;
    const auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
    const auto run = [&](const std::vector<uint8_t>& bytes) {
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++runs;
    };
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        const std::vector<uint8_t> original((std::istreambuf_iterator<char>(stream)), {});
        run(original);
        if (original.empty())
            continue;
        for (int i = 0; i < 40; ++i)
            run({original.begin(), original.begin() + long(random() % original.size())});
        for (int i = 0; i < 400; ++i) {
            auto bytes = original;
            for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
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
            run(bytes);
        }
    }
    std::printf("%zu inputs from %zu files\n", runs, files.size());
    return files.empty();
}

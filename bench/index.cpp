// SPDX-License-Identifier: BSD-2-Clause
// Finding the record of a pc in an index: bench/index.sh gives the file. The linear walk over plain notes is what
// readers do without an index.
#include "elf/index.h"

#include <fastsdt/note.h>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

using namespace fastsdt;

namespace {

std::vector<std::byte> read(const char* path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

constexpr size_t header = 12 + sizeof FASTSDT_NOTE_OWNER; // of a note of ours

} // namespace

// Arguments: the contents of .note.fastsdt without and with an index (64-bit, little endian), then benchmark's own.
int main(int argc, char** argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_index PLAIN INDEXED [benchmark options]; bench/index.sh makes both\n");
        return 2;
    }
    const auto plain = read(argv[1]), indexed = read(argv[2]);
    const auto index = indexed.size() < header ? Result<Index>(Error{"no INDEX note"})
                                               : Index::open(std::span(indexed).subspan(header), {});
    if (!index) {
        fprintf(stderr, "bench_index: %s: %s\n", argv[2], index.error().text().c_str());
        return 1;
    }
    std::mt19937_64 random(1);
    std::vector<uint64_t> addresses(4096); // of random records, in random order
    for (uint64_t& address : addresses)
        address = index->at(random() % index->size())->address;

    benchmark::RegisterBenchmark("index: find a record by address", [&](benchmark::State& state) {
        size_t i = 0;
        for (auto _ : state)
            benchmark::DoNotOptimize(index->at(index->lower_bound(addresses[i++ % addresses.size()])));
    });
    benchmark::RegisterBenchmark("plain notes: walk to a record", [&](benchmark::State& state) {
        size_t i = 0;
        for (auto _ : state) {
            const uint64_t address = addresses[i++ % addresses.size()];
            for (size_t at = 0; at + header <= plain.size();) {
                uint32_t size;
                memcpy(&size, &plain[at + 4], 4);
                auto record = decode_record(FASTSDT_NOTE_ENTRY, std::span(plain).subspan(at + header, size), {});
                if (record && record->address == address) {
                    benchmark::DoNotOptimize(*record);
                    break;
                }
                at += header + size;
            }
        }
    });
    argc -= 2;
    argv[2] = argv[0];
    benchmark::Initialize(&argc, argv + 2);
    benchmark::RunSpecifiedBenchmarks();
}

// SPDX-License-Identifier: BSD-2-Clause
// Mutations of ELF files and archives that know where the headers, tables, notes and symbols are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

using Bytes = std::vector<uint8_t>;

/// SplitMix64: the same numbers everywhere, and cheap to seed for each input.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next()
    {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    size_t below(size_t n) { return n ? next() % n : 0; }
    bool one_in(size_t n) { return below(n) == 0; }

private:
    uint64_t state_;
};

/// A file of the corpus with a few changes. No larger than 200 KB, mostly as small as the file.
Bytes mutated(const std::vector<Bytes>& corpus, Random& random);

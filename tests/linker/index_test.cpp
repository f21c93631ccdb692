// SPDX-License-Identifier: BSD-2-Clause
// The INDEX note's encoding, and fastsdt-index's core on damaged files.
#include "base/unusable.h"
#include "elf/index.h"
#include "indexer.h"

#include <fastsdt/note.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <random>

using namespace fastsdt;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values)
{
    std::vector<std::byte> result;
    for (int value : values)
        result.push_back(std::byte(value));
    return result;
}

Record site(uint64_t address, uint64_t semaphore = 0)
{
    return {address, FASTSDT_NOTE_SITE, FASTSDT_SHAPE_nop1_nop10, 4, 0, FASTSDT_SITE_FLAGS_DEAD, semaphore};
}

Record entry(uint64_t address, uint64_t stack_bytes = 0)
{
    return {address, FASTSDT_NOTE_ENTRY, FASTSDT_LAYOUT_PUSH, 0, 0, 0, 4, 0, stack_bytes};
}

Record exit_of(uint64_t function, uint64_t address, uint8_t result = FASTSDT_RESULT_REGISTER)
{
    return {address, FASTSDT_NOTE_EXIT, FASTSDT_SHAPE_nop1_nop10, 6, 0, FASTSDT_EXIT_SIGNED, function, result};
}

const Encoding encodings[] = {{true, false}, {true, true}, {false, false}, {false, true}};

TEST(Index, BytesAreAsDocumented)
{
    // By hand from docs/format.md: two kinds, three records.
    EXPECT_EQ(encode_index({site(0x1010), entry(0x1000), entry(0x1020)}, {true, false}),
              bytes({1,    4, 1, 16, 24,   0,  0, 0, 3,    0, 0, 0, 2, 0, 0, 0, 0x00, 0x10, 0, 0,
                     0,    0, 0, 0,  0x45, 16, 0, 0, 0,    4, 0, 0, 0, 0, 0, 0, 0,    0,    0, 0, //
                     0x53, 6, 1, 10, 4,    0,  1, 0, 0,    0, 0, 0, 0, 0, 0, 0,                   //
                     0,    0, 0, 0,  0x10, 0,  0, 0, 0x20, 0, 0, 0, 0, 1, 0}));
    EXPECT_EQ(encode_index({site(0x1010, 0x2000)}, {false, true}),
              bytes({1, 4, 1,    12,   0,    0, 0, 20, 0, 0, 0, 1, 0, 0, 0,    1,
                     0, 0, 0x10, 0x10, 0x53, 6, 1, 10, 4, 0, 0, 1, 0, 0, 0x20, 0, //
                     0, 0, 0,    0,    0}));
    // Exits behind all that the readers of the first version know.
    EXPECT_EQ(encode_index({exit_of(0x1000, 0x1023), entry(0x1000), exit_of(0x1000, 0x1011)}, {true, false}),
              bytes({1,    4, 1, 16, 28,   0, 0,    0,  1, 0, 0, 0, 2, 0, 0, 0, 0x00, 0x10, 0, 0, 0, 0,
                     0,    0, 2, 0,  0,    0, 0x45, 16, 0, 0, 0, 4, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, // kinds
                     0x58, 6, 1, 10, 6,    2, 2,    0,  0, 0, 0, 0, 0, 0, 0, 0,                         //
                     0,    0, 0, 0,  0, // offset and number of the entry
                     0x11, 0, 0, 0,  0x23, 0, 0,    0,  0, 0, 0, 0, 0, 0, 0, 0, 1,    1}));
}

TEST(Index, RecordsSurviveInEveryClassAndOrder)
{
    for (const Encoding encoding : encodings) {
        std::vector<Record> records;
        for (unsigned i = 0; i < 1000; ++i) // more than 256 kinds: wider numbers
            records.push_back(i % 3 ? entry(0x1000 + 16 * i, i) : site(0x1000 + 16 * i, 0x8000 + 2 * i));
        records.push_back(entry(0x1000 + 16 * 7, 7));
        records.push_back(site(0x1000 + 16 * 7));
        records.push_back(entry(0xf0000000, unknown_bytes));
        for (unsigned i = 0; i < 500; ++i)
            records.push_back(exit_of(0x1000 + 32 * i, 0x9000 - 8 * i, uint8_t(i % 6)));
        records.push_back(exit_of(0x20, 0x1000 + 16 * 7)); // a function below all that is recorded
        if (encoding.elf64)
            records.push_back(entry(0xffffffff80001000)); // more than 4 GiB away: wider offsets
        const auto descriptor = encode_index(records, encoding);
        const auto index = Index::open(descriptor, encoding);
        ASSERT_TRUE(index) << index.error().text();
        EXPECT_TRUE(index->check());
        std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
            const bool a_exit = a.type == FASTSDT_NOTE_EXIT, b_exit = b.type == FASTSDT_NOTE_EXIT;
            return a_exit != b_exit ? b_exit : a < b;
        });
        records.erase(std::unique(records.begin(), records.end()), records.end());
        ASSERT_EQ(index->size(), records.size());
        for (size_t i = 0; i < records.size(); ++i)
            EXPECT_EQ(index->at(i), records[i]);
        EXPECT_EQ(index->find(0x1000 + 16 * 7).size(), 3u);
        EXPECT_EQ(index->find(0x8ff8).size(), 1u);
        EXPECT_EQ(index->find(0x1008).size(), 0u);
        EXPECT_EQ(index->lower_bound(0), 0u);
        EXPECT_EQ(index->lower_bound(~uint64_t(0)), records.size() - 501);
    }
}

TEST(Index, SingleRecordsSurvive)
{
    for (const Encoding encoding : encodings)
        for (const Record& record :
             {site(0x1010, 0x2000), entry(0x1000, unknown_bytes), entry(0x1000, 24), exit_of(0x1000, 0x1010)}) {
            auto descriptor = encode_record(record, encoding);
            EXPECT_EQ(decode_record(record.type, descriptor, encoding), record);
            descriptor.resize(descriptor.size() + 4); // a later version's field
            EXPECT_EQ(decode_record(record.type, descriptor, encoding), record);
            descriptor.resize(descriptor.size() - 5);
            EXPECT_EQ(decode_record(record.type, descriptor, encoding), std::nullopt);
        }
}

TEST(Index, EmptyIsValid)
{
    const auto descriptor = encode_index({}, {});
    const auto index = Index::open(descriptor, {});
    ASSERT_TRUE(index) << index.error().text();
    EXPECT_EQ(index->size(), 0u);
    EXPECT_TRUE(index->find(0).empty());
}

TEST(Index, ReadersIgnoreWhatLaterVersionsAdd)
{
    auto descriptor = encode_index({entry(0x1000), exit_of(0x1000, 0x1010)}, {});
    descriptor.insert(descriptor.begin() + 28, 8, std::byte(0xee)); // a longer header
    descriptor[4] = std::byte(36);
    for (size_t kind : {2, 1}) // longer kinds
        descriptor.insert(descriptor.begin() + 36 + 16 * kind, 4, std::byte(0xee));
    descriptor[3] = std::byte(20);
    descriptor.insert(descriptor.end(), 100, std::byte(0xee)); // a further table
    const auto index = Index::open(descriptor, {});
    ASSERT_TRUE(index) << index.error().text();
    EXPECT_EQ(index->at(0), entry(0x1000));
    EXPECT_EQ(index->at(1), exit_of(0x1000, 0x1010));
}

TEST(Index, DamageIsAnErrorAndNeverACrash)
{
    const auto good = encode_index({site(0x1010), entry(0x1000), entry(0x1020, 8), exit_of(0x1000, 0x1030)}, {});
    for (size_t size = 0; size < good.size(); ++size) {
        const std::vector<std::byte> shorter(good.begin(), good.begin() + size); // exact allocation, for ASan
        EXPECT_FALSE(Index::open(shorter, {})) << size;
    }
    for (size_t at = 0; at < good.size(); ++at)
        for (int value : {0, 1, 2, 3, 5, 7, 8, 0x7f, 0x80, 0xff}) {
            auto bad = good;
            bad[at] = std::byte(value);
            if (const auto index = Index::open(bad, {})) {
                (void)index->check();
                index->at(index->size());
                index->find(0x1010);
            }
        }
    auto unsorted = good;
    std::swap(unsorted[28 + 4 * 16], unsorted[28 + 4 * 16 + 4]);
    const auto found = Index::open(unsorted, {})->check();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().text(), "INDEX note: record 1 is not in order of address");
}

// This very program is an ELF file with sections, segments and symbols.
std::vector<std::byte> own_file()
{
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

void expect_error_or_result(const std::vector<std::byte>& file)
{
    try {
        index_notes(file);
    } catch (const Unusable& error) {
        EXPECT_STRNE(error.what(), "");
        EXPECT_EQ(std::string(error.what()).find("this is a bug"), std::string::npos) << error.what();
    }
}

__attribute__((used, noinline)) void probed()
{
    // One live and one dangling pair of notes, and a duplicate, in the program that the tests damage.
    asm volatile(
        ".Llive%=: .byte 0x90\n"
        ".pushsection .note.stapsdt,\"\",\"note\"\n"
        ".macro PAIR pc\n"
        ".4byte 8, 8*3+8, 3\n.asciz \"stapsdt\"\n.8byte \\pc, 0, 0\n.asciz \"t\"\n.asciz \"n\"\n.asciz \"abc\"\n"
        ".pushsection .note.fastsdt,\"\",\"note\"\n"
        ".4byte 8, 24, 0x53\n.asciz \"fastsdt\"\n.byte 1,1,0,1,0,0,0,0\n.8byte \\pc, 0\n"
        ".popsection\n"
        ".endm\n"
        "PAIR .Llive%=\nPAIR 0\nPAIR .Llive%=\n"
        ".purgem PAIR\n"
        ".popsection\n"
        :
        :);
}

TEST(Indexer, KeepsLiveNotesAndDropsTheRest)
{
    const auto file = own_file();
    const IndexResult result = index_notes(file);
    EXPECT_TRUE(result.changed);
    EXPECT_EQ(result.sites, 1u);
    EXPECT_EQ(result.probes, 1u);
    EXPECT_EQ(result.removed.size(), 3u); // dangling pair, duplicate stapsdt note
    const IndexResult again = index_notes(result.file);
    EXPECT_FALSE(again.changed);
    EXPECT_EQ(again.sites, 1u);
    EXPECT_TRUE(again.removed.empty());
    EXPECT_TRUE(again.file.empty());
}

TEST(Indexer, RefusesWhatItCannotDo)
{
    EXPECT_THROW(index_notes({}), Unusable);
    EXPECT_THROW(index_notes(std::vector<std::byte>(1000)), Unusable);
    auto file = own_file();
    auto appended = file;
    appended.insert(appended.end(), 100, std::byte(1));
    EXPECT_THROW(index_notes(appended), Unusable);
    auto object = file;
    object[offsetof(Elf64_Ehdr, e_type)] = std::byte(ET_REL);
    EXPECT_THROW(index_notes(object), Unusable);
}

TEST(Indexer, DamagedFilesGiveAnErrorOrAValidResult)
{
    const auto good = own_file();
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    std::mt19937 random(1); // the same every time
    const auto damage = [&](size_t from, size_t size, int rounds) {
        for (int i = 0; i < rounds; ++i) {
            auto bad = good;
            for (int n = 0; n < 1 + i % 3; ++n) {
                static constexpr int interesting[] = {0, 1, 2, 4, 8, 0x7f, 0x80, 0xff};
                bad[from + random() % size] = std::byte(interesting[random() % 8]);
            }
            expect_error_or_result(bad);
        }
    };
    damage(0, sizeof header, 300);
    damage(header.e_phoff, header.e_phnum * header.e_phentsize, 300);
    damage(header.e_shoff, header.e_shnum * header.e_shentsize, 600);
    for (size_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, good.data() + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOTE && !(section.sh_flags & SHF_ALLOC))
            damage(section.sh_offset, section.sh_size, 600);
    }
    for (size_t size = 0; size < 4096; size += 7)
        expect_error_or_result({good.begin(), good.begin() + size});
}

TEST(Indexer, RefusesSectionsOverHeadersAndNamesThatAreNotThere)
{
    const auto good = own_file();
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    const auto with = [&](size_t number, size_t field, uint64_t value, size_t size) {
        auto bad = good;
        std::memcpy(&bad[header.e_shoff + number * sizeof(Elf64_Shdr) + field], &value, size);
        return bad;
    };
    const size_t offset = offsetof(Elf64_Shdr, sh_offset);
    for (const auto& bad : {with(1, offset, 0x10, 8), with(1, offset, header.e_shoff + 8, 8),
                            with(header.e_shstrndx, offsetof(Elf64_Shdr, sh_type), SHT_NULL, 4),
                            with(1, offsetof(Elf64_Shdr, sh_name), 1 << 30, 4)}) {
        EXPECT_THROW(index_notes(bad), Unusable);
        expect_error_or_result(bad); // refused before it is written, not by the check of the result
    }
}

} // namespace

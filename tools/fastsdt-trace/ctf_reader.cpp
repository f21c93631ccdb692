// SPDX-License-Identifier: BSD-2-Clause
#include "ctf_reader.h"

#include "base/integers.h"
#include "base/unusable.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

namespace fastsdt::trace_tool {
namespace {

constexpr bool big_endian = std::endian::native == std::endian::big;
constexpr size_t fixed_header = 4 + 16 + 4 + 8 + 6 * 8 + 2 * 4; ///< of a packet, without names
constexpr size_t most_packet = size_t(16) << 20;                ///< more than a buffer of the writer

/// A text from its begin on. What is not there is an empty piece, and `good` becomes false.
class Words {
public:
    explicit Words(std::string_view text) : text_(text) {}
    bool good = true;

    void expect(std::string_view word)
    {
        good = good && text_.starts_with(word);
        if (good)
            text_.remove_prefix(word.size());
    }
    bool accept(std::string_view word)
    {
        if (!good || !text_.starts_with(word))
            return false;
        text_.remove_prefix(word.size());
        return true;
    }
    uint64_t number()
    {
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
        good = good && error == std::errc();
        if (good)
            text_.remove_prefix(static_cast<size_t>(end - text_.data()));
        return value;
    }
    std::string quoted()
    {
        expect("\"");
        std::string found;
        while (good && !text_.starts_with('"')) {
            accept("\\");
            good = !text_.empty();
            if (good) {
                found += text_.front();
                text_.remove_prefix(1);
            }
        }
        expect("\"");
        return found;
    }
    std::string until(char end)
    {
        const size_t at = text_.find(end);
        good = good && at != text_.npos;
        if (!good)
            return {};
        const std::string found(text_.substr(0, at));
        text_.remove_prefix(at);
        return found;
    }

private:
    std::string_view text_;
};

CtfClass read_class(Words& words, size_t number)
{
    CtfClass one;
    words.expect("event { name = ");
    one.name = words.quoted();
    words.expect("; id = ");
    words.good = words.number() == number && words.good;
    words.expect("; stream_id = 0; model.emf.uri = ");
    one.probe = words.quoted();
    words.expect("; fields := struct { ");
    while (words.good && !words.accept("}; };")) {
        CtfField field;
        if (words.accept("string _")) {
            field.bytes = 0;
        } else {
            field.is_signed = !words.accept("u");
            words.expect("int");
            const uint64_t bits = words.number();
            words.good = words.good && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
            field.bytes = bits / 8;
            words.expect("_t _");
        }
        field.name = words.until(';');
        words.expect("; ");
        one.fields.push_back(field);
    }
    return one;
}

} // namespace

CtfReader::CtfReader(const std::string& folder) : folder_(folder)
{
    read_metadata();
    for (size_t i = 0;; ++i) {
        Thread thread;
        thread.file = fmt::format("stream_{}", i);
        std::error_code error;
        if (!std::filesystem::exists(folder_ + '/' + thread.file, error))
            break;
        bool first = true;
        each_packet(thread.file, [&](const Packet& packet) {
            thread.pid = packet.pid;
            thread.tid = packet.tid;
            thread.process = packet.process;
            thread.thread = packet.thread;
            thread.discarded = packet.discarded;
            thread.bytes += packet.events.size();
            if (first && (begin_ == 0 || ns(packet.begin) < begin_))
                begin_ = ns(packet.begin);
            first = false;
            end_ = std::max(end_, ns(packet.end));
        });
        threads_.push_back(std::move(thread));
    }
}

void CtfReader::fail(const std::string& file, const char* what) const
{
    throw Unusable(fmt::format("{}/{}: {}", folder_, file, what));
}

void CtfReader::read_metadata()
{
    const char* const not_ours = "that is no trace that fastsdt-trace record wrote; babeltrace2 may read it";
    std::ifstream in(folder_ + "/metadata");
    if (!in && (errno == ENOENT || errno == ENOTDIR))
        throw Unusable(fmt::format("{0} is no trace: there is no {0}/metadata", folder_));
    if (!in)
        fail("metadata", std::strerror(errno));
    bool ours = false;
    for (std::string line; std::getline(in, line);) {
        Words words(line);
        if (words.accept("env { tracer_name = \"fastsdt-trace\"; ")) {
            ours = true;
            while (words.good && !words.accept("};")) {
                const std::string key = words.until(' ');
                words.expect(" = ");
                notes_.emplace_back(key, words.quoted());
                words.expect("; ");
            }
            if (!words.good)
                fail("metadata", not_ours);
        } else if (words.accept("clock { name = tsc; uuid = ")) {
            words.quoted();
            words.expect("; description = ");
            words.quoted();
            words.expect("; freq = ");
            clock_.frequency = words.number();
            words.expect("; offset_s = ");
            clock_.offset_s = words.number();
            words.expect("; offset = ");
            clock_.offset = words.number();
            if (!words.good)
                fail("metadata", not_ours);
        } else if (line.starts_with("event { ")) {
            classes_.push_back(read_class(words, classes_.size()));
            if (!words.good)
                fail("metadata", not_ours);
        }
    }
    if (!ours || clock_.frequency == 0)
        fail("metadata", not_ours);
}

uint64_t CtfReader::ns(uint64_t clock) const
{
    __extension__ using Wide = unsigned __int128;
    constexpr uint64_t second = 1'000'000'000;
    return clock_.offset_s * second + static_cast<uint64_t>((Wide(clock) + clock_.offset) * second / clock_.frequency);
}

void CtfReader::each_packet(const std::string& file, const std::function<void(const Packet&)>& visit) const
{
    const char* const damaged = "a packet is damaged";
    std::ifstream in(folder_ + '/' + file, std::ios::binary);
    if (!in)
        fail(file, std::strerror(errno));
    std::vector<std::byte> bytes;
    while (in.peek() != std::ifstream::traits_type::eof()) {
        bytes.resize(fixed_header);
        if (!in.read(reinterpret_cast<char*>(bytes.data()), fixed_header))
            fail(file, damaged);
        const auto number = [&](size_t at, size_t size) { return load(&bytes[at], size, big_endian); };
        const uint64_t size = number(32 + 3 * 8, 8) / 8;
        if (number(0, 4) != ctf_magic || size < fixed_header || size > most_packet)
            fail(file, damaged);
        bytes.resize(size);
        if (!in.read(reinterpret_cast<char*>(bytes.data()) + fixed_header,
                     static_cast<std::streamsize>(size - fixed_header)))
            fail(file, damaged);
        Packet packet;
        packet.begin = number(32, 8);
        packet.end = number(32 + 8, 8);
        packet.discarded = number(32 + 5 * 8, 8);
        packet.pid = static_cast<int32_t>(number(32 + 6 * 8, 4));
        packet.tid = static_cast<int32_t>(number(32 + 6 * 8 + 4, 4));
        auto at = bytes.begin() + fixed_header;
        for (std::string* name : {&packet.process, &packet.thread}) {
            const auto end = std::find(at, bytes.end(), std::byte(0));
            if (end == bytes.end())
                fail(file, damaged);
            name->assign(reinterpret_cast<const char*>(&*at), static_cast<size_t>(end - at));
            at = end + 1;
        }
        packet.events.assign(at, bytes.end());
        visit(packet);
    }
}

void CtfReader::read(const Thread& thread, const Visit& visit, const std::function<void()>& gap) const
{
    std::vector<Value> values;
    uint64_t discarded = 0;
    each_packet(thread.file, [&](const Packet& packet) {
        uint64_t clock = packet.begin;
        const std::span<const std::byte> bytes(packet.events);
        size_t at = 0;
        const auto number = [&](size_t size) {
            if (bytes.size() - at < size)
                fail(thread.file, "a packet is damaged");
            at += size;
            return load(&bytes[at - size], size, big_endian);
        };
        while (at < bytes.size()) {
            size_t id = number(2);
            if (id == ctf_extended) {
                id = number(4);
                clock = number(8);
            } else {
                constexpr uint64_t low = UINT32_MAX;
                const uint64_t part = number(4);
                clock = (clock & ~low) + part + (part < (clock & low) ? low + 1 : 0);
            }
            if (id >= classes_.size())
                fail(thread.file, "an event is of a class that the metadata does not have");
            values.clear();
            for (const CtfField& field : classes_[id].fields) {
                Value& value = values.emplace_back();
                if (field.bytes == 0) {
                    while (const uint64_t c = number(1))
                        value.text += static_cast<char>(c);
                    continue;
                }
                value.number = number(field.bytes);
                if (field.is_signed && field.bytes < 8 && value.number >> (8 * field.bytes - 1))
                    value.number |= ~uint64_t(0) << 8 * field.bytes;
            }
            visit(id, ns(clock), values);
        }
        if (std::exchange(discarded, packet.discarded) != packet.discarded)
            gap();
    });
}

std::vector<Drawn> drawn_of(const std::vector<CtfClass>& classes)
{
    std::vector<Drawn> drawn;
    std::map<std::string, size_t> functions; // by file and name
    for (const CtfClass& one : classes) {
        Drawn& found = drawn.emplace_back();
        found.name = found.plain = one.name;
        found.has_end = !one.probe.starts_with(without_end);
        const std::string probe = one.probe.substr(found.has_end ? 0 : without_end.size());
        const size_t kind = std::min(probe.find(':'), probe.size()), name = probe.rfind(':');
        if (name != probe.npos && name > kind)
            found.file = probe.substr(kind + 1, name - kind - 1);
        if (probe.starts_with(ctf_samples))
            found.kind = Drawn::Kind::samples;
        else if (probe == ctf_gap)
            found.kind = Drawn::Kind::gap;
        else if (probe == ctf_left && one.fields.size() == 1)
            found.kind = Drawn::Kind::left;
        const std::string word = probe.substr(0, kind);
        if (word != "uprobe" && word != "uretprobe")
            continue;
        found.plain = one.name.substr(std::min(one.name.size(), word.size() + 1));
        if (!found.has_end)
            continue;
        found.kind = word == "uprobe" ? Drawn::Kind::begin : Drawn::Kind::end;
        found.name = found.plain;
        found.function = functions.try_emplace(probe.substr(kind), functions.size()).first->second;
    }
    return drawn;
}

} // namespace fastsdt::trace_tool

// SPDX-License-Identifier: BSD-2-Clause
#include "ctf.h"

#include "base/descriptor.h"
#include "base/printable.h"
#include "base/unusable.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fastsdt::trace_tool {
namespace {

// A stream's buffer, at first and at most, and of all streams.
constexpr size_t first_buffer = size_t(4) << 10, most_buffer = size_t(256) << 10, most_held = size_t(256) << 20;

// What is to go if the program ends by exit(); of the one writer that there is.
std::string unfinished;

void remove_unfinished()
{
    std::error_code error;
    if (!unfinished.empty())
        std::filesystem::remove_all(unfinished, error);
    unfinished.clear();
}

template <class Integer> void put(std::string& to, Integer value)
{
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// In quotes. Names are of files that somebody else made.
std::string quoted(const std::string& name)
{
    std::string text = "\"";
    for (const char c : printable(name)) {
        if (c == '"' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + '"';
}

// Readers take one underscore away; with it no name is a word of the language.
std::string identifier(const std::string& name, std::set<std::string>& taken)
{
    std::string text = "_";
    for (const char c : name)
        text += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_';
    const std::string first = text;
    for (size_t i = 2; !taken.insert(text).second; ++i)
        text = fmt::format("{}_{}", first, i);
    return text;
}

std::string uuid_text(const std::string& uuid)
{
    std::string text;
    for (size_t i = 0; i < uuid.size(); ++i)
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                            static_cast<unsigned char>(uuid[i]));
    return text;
}

std::string class_text(const CtfClass& one, size_t number)
{
    std::string fields;
    std::set<std::string> taken;
    for (const CtfField& field : one.fields) {
        const std::string name = identifier(field.name, taken);
        fields += field.bytes == 0 ? fmt::format("string {}; ", name)
                                   : fmt::format("{}int{}_t {}; ", field.is_signed ? "" : "u", 8 * field.bytes, name);
    }
    return fmt::format(
        "event {{ name = {}; id = {}; stream_id = 0; model.emf.uri = {}; fields := struct {{ {}}}; }};\n",
        quoted(one.name), number, quoted(one.probe), fields);
}

} // namespace

CtfWriter::CtfWriter(const std::string& folder, bool passing) : folder_(folder), passing_(passing), uuid_(16, '\0')
{
    while (folder_.size() > 1 && folder_.ends_with('/'))
        folder_.pop_back();
    struct stat status{};
    if (!passing_ && lstat(folder_.c_str(), &status) == 0)
        throw Unusable(fmt::format("{}: it is there already; a trace is written to a folder of its own", folder_));
    fresh_ = folder_ + ".XXXXXX";
    if (!mkdtemp(fresh_.data()))
        fail(errno);
    unfinished = fresh_;
    static const int once = std::atexit(remove_unfinished);
    (void)once;
    if (getrandom(uuid_.data(), uuid_.size(), 0) != static_cast<ssize_t>(uuid_.size()))
        fail(errno);
}

CtfWriter::~CtfWriter()
{
    remove_unfinished();
}

void CtfWriter::keep()
{
    unfinished.clear();
}

void CtfWriter::fail(int error) const
{
    throw Unusable(fmt::format("{}: no trace can be written: {}", folder_, std::strerror(error)));
}

void CtfWriter::append(const std::string& file, std::span<const std::byte> first, std::span<const std::byte> second)
{
    const Descriptor descriptor(open((fresh_ + '/' + file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!descriptor)
        fail(errno);
    while (first.size() + second.size() > 0) {
        const iovec pieces[] = {{const_cast<std::byte*>(first.data()), first.size()},
                                {const_cast<std::byte*>(second.data()), second.size()}};
        const ssize_t written = writev(descriptor.get(), pieces, 2);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail(written < 0 ? errno : ENOSPC);
        const size_t of_first = std::min(first.size(), static_cast<size_t>(written));
        first = first.subspan(of_first);
        second = second.subspan(static_cast<size_t>(written) - of_first);
    }
}

void CtfWriter::make_room(CtfStream& stream, size_t bytes)
{
    const size_t size = stream.bytes_.size();
    if (stream.used_ > 0 && (size >= most_buffer || held_ + 3 * size > most_held))
        write_packet(stream);
    if (stream.bytes_.size() - stream.used_ >= bytes)
        return;
    const size_t larger = std::max({first_buffer, 4 * size, stream.used_ + bytes});
    held_ += larger - size;
    stream.bytes_.resize(larger);
}

std::byte* CtfWriter::put_header(CtfStream& stream, size_t number, uint64_t clock)
{
    clock = std::max(clock, stream.last_);
    const bool is_first = stream.used_ == 0;
    const bool is_near = !is_first && clock - stream.last_ < uint64_t(1) << 32;
    if (is_first)
        stream.first_ = clock;
    stream.last_ = clock;
    std::byte* to = stream.bytes_.data() + stream.used_;
    const auto store = [&to](auto value) {
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
    };
    if (is_near && number < ctf_extended) {
        store(static_cast<uint16_t>(number));
        store(static_cast<uint32_t>(clock));
    } else {
        store(ctf_extended);
        store(static_cast<uint32_t>(number));
        store(clock);
    }
    return to;
}

void CtfWriter::write_packet(CtfStream& stream)
{
    // The last event's clock is the packet's end, so that packets without events are not before it.
    const uint64_t begin = stream.used_ ? stream.first_ : stream.last_;
    std::string header;
    put(header, ctf_magic);
    header += uuid_;
    put(header, uint32_t(0));
    put(header, uint64_t(stream.number_));
    const std::string names =
        printable(stream.process) + std::string(1, '\0') + printable(stream.thread) + std::string(1, '\0');
    const size_t size = header.size() + 6 * 8 + 2 * 4 + names.size() + stream.used_;
    for (const uint64_t value :
         {begin, stream.last_, uint64_t(8 * size), uint64_t(8 * size), stream.packets_, stream.discarded})
        put(header, value);
    put(header, static_cast<int32_t>(stream.pid));
    put(header, static_cast<int32_t>(stream.tid));
    header += names;
    append(fmt::format("stream_{}", stream.number_), std::as_bytes(std::span(header)),
           std::span(stream.bytes_).first(stream.used_));
    written_ += size;
    ++stream.packets_;
    stream.used_ = 0;
}

// The metadata first, or what is there of the streams could not be read.
void CtfWriter::write_so_far(std::span<const CtfClass> classes, const CtfClock& clock)
{
    write_metadata(classes, clock);
    for (CtfStream& stream : streams_)
        if (stream.used_)
            write_packet(stream);
}

void CtfWriter::write_metadata(std::span<const CtfClass> classes, const CtfClock& clock)
{
    const std::string uuid = uuid_text(uuid_);
    std::string notes;
    for (const auto& [key, text] : notes_)
        notes += fmt::format("{} = {}; ", key, quoted(text));
    std::string text = fmt::format(
        R"(/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 8; align = 8; signed = true; }} := int8_t;
typealias integer {{ size = 16; align = 8; signed = true; }} := int16_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
typealias integer {{ size = 64; align = 8; signed = true; }} := int64_t;
trace {{
	major = 1; minor = 8; uuid = "{0}"; byte_order = {1};
	packet.header := struct {{ uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; }};
}};
env {{ tracer_name = "fastsdt-trace"; tracer_version = "{2}"; {7}}};
clock {{ name = tsc; uuid = "{3}"; description = "the processor's counter"; freq = {4}; offset_s = {5}; offset = {6}; absolute = true; }};
typealias integer {{ size = 32; align = 8; signed = false; map = clock.tsc.value; }} := uint32_clock_t;
typealias integer {{ size = 64; align = 8; signed = false; map = clock.tsc.value; }} := uint64_clock_t;
struct event_header {{
	enum : uint16_t {{ compact = 0 ... 65534, extended = 65535 }} id;
	variant <id> {{
		struct {{ uint32_clock_t timestamp; }} compact;
		struct {{ uint32_t id; uint64_clock_t timestamp; }} extended;
	}} v;
}} align(8);
stream {{
	id = 0;
	event.header := struct event_header;
	packet.context := struct {{
		uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; int32_t pid; int32_t tid; string process; string thread;
	}};
}};
)",
        uuid, std::endian::native == std::endian::little ? "le" : "be", FASTSDT_VERSION_STRING, uuid, clock.frequency,
        clock.offset_s, clock.offset, notes);
    for (size_t i = 0; i < classes.size(); ++i)
        text += class_text(classes[i], i);
    const std::string name = "metadata", next = ".metadata";
    std::error_code error;
    std::filesystem::remove(fresh_ + '/' + next, error);
    append(next, std::as_bytes(std::span(text)), {});
    if (rename((fresh_ + '/' + next).c_str(), (fresh_ + '/' + name).c_str()) < 0)
        fail(errno);
}

void CtfWriter::finish(std::span<const CtfClass> classes, const CtfClock& clock, CtfNotes notes)
{
    notes_ = std::move(notes);
    write_so_far(classes, clock);
    if (passing_)
        return;
    const mode_t mask = umask(0);
    umask(mask);
    if (chmod(fresh_.c_str(), 0777 & ~mask) < 0)
        fail(errno);
    if (renameat2(AT_FDCWD, fresh_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_NOREPLACE) < 0
        && (errno != EINVAL || rename(fresh_.c_str(), folder_.c_str()) < 0)) // some file systems know only rename()
        fail(errno);
    unfinished.clear();
}

} // namespace fastsdt::trace_tool

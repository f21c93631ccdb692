// SPDX-License-Identifier: BSD-2-Clause
#include "script/probes.h"

#include "script/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fastsdt::engine {
namespace {

bool digit_at(std::string_view text, size_t at)
{
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Of a probe's name, from the "$" on.
const std::string& parameter_in(const Token& token, size_t& at, const std::vector<std::string>& parameters,
                                size_t& used)
{
    uint64_t number = 0;
    const size_t start = at;
    for (; digit_at(token.word, at + 1); ++at)
        number = std::min<uint64_t>(number * 10 + static_cast<uint64_t>(token.word[at + 1] - '0'), most_parameters + 1);
    used = std::max<size_t>(used, number);
    if (number < 1 || number > parameters.size() || parameters[number - 1].empty())
        fail({token.where.start + start, at + 1 - start}, fmt::format("there is no parameter {}", number));
    return parameters[number - 1];
}

// "FUNCTION+12", "FUNCTION+0x1c". Not the name of an operator.
void take_offset(Probe& probe)
{
    const size_t plus = probe.name.rfind('+');
    if (plus == probe.name.npos || plus == 0 || !digit_at(probe.name, plus + 1))
        return;
    const bool hexadecimal = probe.name.substr(plus + 1).starts_with("0x");
    const char* const end = probe.name.data() + probe.name.size();
    const char* const digits = probe.name.data() + plus + (hexadecimal ? 3 : 1);
    if (const auto [behind, error] = std::from_chars(digits, end, probe.offset, hexadecimal ? 16 : 10);
        behind != end || error != std::errc())
        fail(probe.where, "an offset into a function is a number of bytes: FUNCTION+12 or FUNCTION+0xc");
    if (probe.kind == Probe::Kind::exit && probe.offset != 0)
        fail(probe.where, "a function's exits have no offset");
    probe.name.resize(plus);
}

// uprobe:FILE@SOURCE:LINE, uprobe:FILE@SOURCE:LINE:COLUMN. Both are numbers, which no function's name is.
bool take_line(Probe& probe, const std::vector<std::string>& parts)
{
    const auto number = [&](size_t part, int& to) {
        const char* const end = parts[part].data() + parts[part].size();
        const auto [behind, error] = std::from_chars(parts[part].data(), end, to);
        return error == std::errc() && behind == end && to > 0;
    };
    const size_t at = parts.size() < 3 ? std::string::npos : parts[1].rfind('@');
    if (at == std::string::npos || parts.size() > 4 || !number(2, probe.line)
        || (parts.size() == 4 && !number(3, probe.column)))
        return false;
    if (probe.kind == Probe::Kind::exit)
        fail(probe.where, "a line of a source has no exits: uprobe:FILE@SOURCE:LINE");
    probe.file = parts[1].substr(0, at);
    probe.source = parts[1].substr(at + 1);
    if (probe.file.empty() || probe.source.empty())
        fail(probe.where, "a line is uprobe:FILE@SOURCE:LINE");
    probe.name = probe.source + ':' + parts[2] + (probe.column ? ':' + parts[3] : "");
    return true;
}

// @param slash  in the name, and not in quotes: Go's functions have some
void file_and_name(Probe& probe, const std::string& file, const std::string& name, bool slash)
{
    if (name.empty())
        fail(probe.where, "the probe's name is missing; * is every one");
    if (slash)
        fail(probe.where, "a name with \"/\" stands in quotes; a filter, behind a blank");
    probe.file = file.empty() ? "*" : file; // every file of the process
    probe.name = name;
    if (probe.kind != Probe::Kind::usdt)
        take_offset(probe);
}

// interval:s:N, or interval:Ns as newer ones have it; profile the same.
void period(Probe& probe, std::vector<std::string> parts)
{
    const bool is_profile = probe.kind == Probe::Kind::profile;
    const std::string_view name = is_profile ? "profile" : "interval";
    if (is_profile && parts.size() > 2 && (parts[1] == "wall" || parts[1] == "offcpu")) {
        probe.running = parts[1] == "wall";
        probe.waiting = true;
        parts.erase(parts.begin() + 1);
    }
    if (parts.size() == 2) {
        const size_t digits = std::min(parts[1].find_first_not_of("0123456789"), parts[1].size());
        parts = {parts[0], parts[1].substr(digits), parts[1].substr(0, digits)};
    }
    if (parts.size() != 3 || parts[2].empty()
        || !std::all_of(parts[2].begin(), parts[2].end(), [](char c) { return c >= '0' && c <= '9'; })
        || (parts[1] != "s" && parts[1] != "ms" && parts[1] != "us" && parts[1] != "hz"))
        fail(probe.where,
             fmt::format("{1} {0} is {0}:s:N, {0}:ms:N, {0}:us:N or {0}:hz:N", name, name == "interval" ? "an" : "a"));
    constexpr uint64_t most = 1'000'000'000; // some 11 days of ms, 30 years of s
    uint64_t number = 0;
    for (char c : parts[2])
        number = std::min(number * 10 + static_cast<uint64_t>(c - '0'), most + 1);
    if (number == 0 || number > most)
        fail(probe.where, fmt::format("{} {} is from 1 to {}", name == "interval" ? "an" : "a", name, most));
    constexpr uint64_t million = 1'000'000, thousand = 1000;
    probe.interval_us = parts[1] == "s" ? number * million
        : parts[1] == "ms"              ? number * thousand
        : parts[1] == "us"              ? number
                                        : std::max<uint64_t>(million / number, 1);
}

// The kind was mistyped, or left out.
[[noreturn]] void no_kind(const Token& token, const std::vector<std::string>& parts)
{
    const std::string& type = parts[0];
    if (type == "}" || type == "{")
        fail(token.where, fmt::format("a probe is wanted here, and not \"{}\"", type));
    const Nearest nearest = near_probe_kind(type);
    const bool is_file = type.find_first_of("/.") != type.npos;
    std::string instead = did_you_mean(nearest);
    if (instead.empty() && parts.size() == 2 && is_file)
        instead = fmt::format("; a function is uprobe:{}, and a probe usdt:{}:PROVIDER:NAME", token.word, type);
    else if (instead.empty() && parts.size() == 2)
        instead = fmt::format("; a program's probe is usdt:FILE:PROVIDER:NAME, here usdt:*:{}", token.word);
    else if (instead.empty() && parts.size() == 3 && is_file)
        instead = fmt::format("; did you mean \"usdt:{}\"?", token.word);
    else if (instead.empty() && parts.size() == 1)
        instead = fmt::format("; a function is uprobe:FILE:{}", token.word);
    fail(token.where, fmt::format("\"{}\" is no kind of probe: {} are{}", type, all_probe_kinds(), instead));
}

} // namespace

Probe read_probe(const Token& token, const std::vector<std::string>& parameters, size_t& used)
{
    if (token.word.starts_with('$') && digit_at(token.word, 1)
        && token.word.find_first_not_of("0123456789", 1) == token.word.npos) { // all of it
        size_t at = 0;
        Token meant = token;
        meant.word = parameter_in(token, at, parameters, used);
        return read_probe(meant, {}, used);
    }
    std::vector<std::string> parts(1);
    bool quoted = false;
    size_t with_slash = 0; // the last of the parts that have one
    for (size_t i = 0; i < token.word.size(); ++i) {
        const char c = token.word[i];
        if (c == '/' && !quoted)
            with_slash = parts.size();
        if (c == '\\' && i + 1 < token.word.size() && token.word[i + 1] == '"')
            parts.back() += token.word[++i];
        else if (c == '"')
            quoted = !quoted;
        else if (c == '$' && !quoted && digit_at(token.word, i + 1))
            parts.back() += parameter_in(token, i, parameters, used);
        else if (c == ':' && !quoted)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    const bool slash = with_slash == parts.size();
    Probe probe;
    probe.text = token.word;
    probe.where = token.where;
    const std::string& type = parts[0];
    const auto kind = probe_kind_of(type);
    if (!kind && (is_elsewhere(type, Elsewhere::probe) || is_elsewhere(type, Elsewhere::declaration)))
        kernel_only(
            token.where,
            fmt::format("\"{}\" is not in this subset of bpftrace's language: it has {}", type, all_probe_kinds()));
    if (!kind)
        no_kind(token, parts);
    probe.kind = *kind;
    switch (*kind) {
    case Probe::Kind::begin:
    case Probe::Kind::end:
        if (parts.size() != 1)
            fail(token.where, fmt::format("{} has no further parts", type));
        break;
    case Probe::Kind::interval:
    case Probe::Kind::profile: period(probe, parts); break;
    case Probe::Kind::usdt:
        if (parts.size() == 2 && parts[1] == "*") // usdt:*
            parts.emplace_back("*");
        if (parts.size() == 3)
            parts.insert(parts.begin() + 2, "*");
        if (parts.size() != 4)
            fail(token.where, "a USDT probe is usdt:FILE:PROVIDER:NAME");
        probe.provider = parts[2].empty() ? "*" : parts[2];
        file_and_name(probe, parts[1], parts[3], slash);
        break;
    case Probe::Kind::entry:
    case Probe::Kind::exit:
        if (take_line(probe, parts))
            break;
        probe.source_name = parts.size() == 4 && (parts[2] == "cpp" || parts[2] == "rust");
        if (parts.size() != 3 && !probe.source_name)
            fail(token.where,
                 fmt::format(
                     "a function is {0}:FILE:FUNCTION, or {0}:FILE:cpp:\"NAME\" by the name that C++ or Rust has",
                     type));
        file_and_name(probe, parts[1], parts.back(), slash);
        break;
    }
    return probe;
}

} // namespace fastsdt::engine

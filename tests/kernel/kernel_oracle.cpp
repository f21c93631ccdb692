// SPDX-License-Identifier: BSD-2-Clause
// The oracle's counterpart: prints the patterns, records what a kernel answered, and compares answers with the model in
// lib/.
#include "judge/judge.h"
#include "patterns.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

namespace {

using Json = nlohmann::ordered_json;
using fastsdt::Arch;
using fastsdt::Verdict;

/// The architectures that oracle.c runs on.
constexpr Arch Asked[] = {Arch::x86_64, Arch::i386,    Arch::arm64, Arch::arm,
                          Arch::riscv,  Arch::powerpc, Arch::s390,  Arch::loongarch};

constexpr uint64_t Default_offset = 256; // of a pattern in its page; oracle.c uses the same

struct Pattern {
    std::string name; ///< HEX or HEX@PAGE_OFFSET
    std::string group;
};
using Patterns = std::map<std::string, std::vector<Pattern>>; // by architecture

Patterns read_patterns(std::istream& in)
{
    Patterns all;
    std::string group;
    for (std::string line, arch, hex, offset; std::getline(in, line);) {
        if (line.starts_with("# ")) {
            group = line.substr(line.find(": ") + 2);
            continue;
        }
        std::istringstream words(line);
        words >> arch >> hex;
        all[arch].push_back({words >> offset ? hex + '@' + offset : hex, group});
    }
    return all;
}

/// The bytes the kernel saw at a pattern: its own, then the breakpoints oracle.c puts behind it.
std::vector<std::byte> bytes_of(Arch arch, const std::string& hex)
{
    std::vector<std::byte> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    if (arch == Arch::arm64 || arch == Arch::arm || arch == Arch::riscv || arch == Arch::powerpc
        || arch == Arch::loongarch)
        std::reverse(bytes.begin(), bytes.end()); // the pattern is an instruction word
    const auto breakpoint = [arch]() -> std::vector<unsigned> {
        switch (arch) {
        case Arch::arm64: return {0x00, 0x00, 0x20, 0xd4};
        case Arch::arm: return {0xf0, 0x01, 0xf0, 0xe7};
        case Arch::riscv: return {0x02, 0x90};
        case Arch::powerpc: return {0x08, 0x00, 0xe0, 0x7f};
        case Arch::loongarch: return {0x00, 0x00, 0x2a, 0x00};
        case Arch::s390: return {0x00, 0x01};
        case Arch::x86_64:
        case Arch::i386: return {0xcc};
        case Arch::mips:
        case Arch::unknown: break;
        }
        throw std::invalid_argument("no breakpoint of this architecture is known");
    }();
    while (bytes.size() < 32)
        for (unsigned byte : breakpoint)
            bytes.push_back(static_cast<std::byte>(byte));
    return bytes;
}

Arch arch_named(const std::string& text)
{
    for (Arch arch : Asked)
        if (text == name(arch))
            return arch;
    throw std::runtime_error("unknown architecture " + text);
}

/// Runs in a guest that check something by themselves and report line by line.
constexpr const char* Check_runs[] = {"layouts", "libbpf", "entry", "recognize", "selftest"};

// ---- record: console text -> JSON ----

/// Reads the `@NAME line` lines that guest-init.c prints. Throws if a run is missing or incomplete.
Json record(std::istream& console, const Patterns& patterns, const std::string& package)
{
    std::map<std::string, std::map<std::string, std::string>> answers;
    std::map<std::string, std::string> exits;
    Json result = {{"package", package}, {"release", ""}};
    std::map<std::string, Json> checks; // the lines of runs that check by themselves: how many are good, which are not
    for (const char* run : Check_runs)
        checks[run] = {{"passed", 0}, {"failed", Json::array()}};
    for (std::string line; std::getline(console, line);) {
        line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
        const size_t at = line.find('@'); // the terminal's control sequences may precede it
        if (at == std::string::npos)
            continue;
        std::istringstream words(line.substr(at + 1));
        std::string run, text, value;
        words >> run >> text >> value;
        const auto behind = [&line](std::string_view word) {
            const size_t found = line.find(word);
            return found == std::string::npos ? line : line.substr(std::min(line.size(), found + word.size() + 1));
        };
        if (checks.contains(run) && text == "ok" && line.find("# SKIP") == std::string::npos)
            checks[run]["passed"] = checks[run]["passed"].get<int>() + 1;
        else if (checks.contains(run) && text == "FAIL")
            checks[run]["failed"].push_back(behind("FAIL"));
        else if (checks.contains(run) && text == "not") // the kernel's own tests say "not ok"
            checks[run]["failed"].push_back(behind("not ok"));
        else if (checks.contains(run) && (text == "SKIP" || text == "ok"))
            checks[run]["left_out"] = behind("SKIP");
        else if (run == "guest" && text == "release")
            result["release"] = value;
        else if (text == "exit") { // the first bad one of a run that is several commands
            if (auto& status = exits[run]; status.empty() || status == "0")
                status = value;
        } else if (size_t equals = text.find('='); equals != std::string::npos)
            answers[run][text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const auto& [arch, wanted] : patterns) {
        if (!answers.contains(arch))
            continue;
        const auto& got = answers.at(arch);
        if (exits[arch] != "0" || !got.contains("#done"))
            throw std::runtime_error(fmt::format("the {} run on {} did not end well", arch, package));
        if (got.contains("#syscall336"))
            result["syscall336"] = got.at("#syscall336");
        Json& groups = result[arch] = Json::object();
        for (const Pattern& pattern : wanted) {
            if (!got.contains(pattern.name))
                throw std::runtime_error(fmt::format("{}: no answer for {} {}", package, arch, pattern.name));
            Json& names = groups[pattern.group][got.at(pattern.name)];
            names = names.is_null() ? pattern.name : names.get<std::string>() + ' ' + pattern.name;
        }
    }
    for (const auto& [run, lines] : checks) {
        if (!exits.contains(run))
            continue;
        const bool left_out = lines.contains("left_out") && exits[run] == "77";
        if (lines.at("failed").empty() && !left_out && (exits[run] != "0" || lines.at("passed") == 0))
            throw std::runtime_error(fmt::format("{} on {} did not end well", run, package));
        result[run] = lines;
    }
    if (std::none_of(std::begin(Asked), std::end(Asked), [&](Arch arch) { return result.contains(name(arch)); }))
        throw std::runtime_error(package + ": the guest reported nothing");
    return result;
}

// ---- compare: JSON against the model ----

struct Result {
    std::string file, package, release;
    std::string passed;              ///< how many checks, by run
    std::string left_out;            ///< runs that this kernel is too old for, and why
    std::vector<std::string> failed; ///< the others
    fastsdt::Kernel kernel;
    /// Architecture -> (pattern -> what the kernel did).
    std::map<std::string, std::vector<std::pair<std::string, std::string>>> answers;
};

Result read_result(const std::string& path)
{
    std::ifstream in(path);
    if (!in)
        throw std::runtime_error("cannot read " + path);
    const Json json = Json::parse(in);
    Result result;
    result.file = path;
    result.package = json.at("package");
    result.release = json.at("release");
    for (const char* run : Check_runs) {
        if (!json.contains(run))
            continue;
        if (const int passed = json.at(run).at("passed").get<int>())
            result.passed += fmt::format(" {} {}", run, passed);
        if (json.at(run).contains("left_out"))
            result.left_out += fmt::format("; left out: {} ({})", run, json.at(run).at("left_out").get<std::string>());
        for (const std::string failed : json.at(run).at("failed"))
            result.failed.push_back(fmt::format("{}: {}", run, failed));
    }
    // "6.1.0-50-cloud-amd64" alone does not tell the point release, the package's version 6.1.176-1 does.
    auto release = fastsdt::parse_release(result.release, result.package.substr(result.package.find(' ') + 1));
    if (!release)
        throw std::runtime_error(path + ": cannot tell the kernel from its release \"" + result.release + '"');
    result.kernel = fastsdt::Kernel(*release);
    for (const Arch one : Asked) {
        const std::string arch(name(one));
        if (!json.contains(arch))
            continue;
        for (const auto& group : json.at(arch))
            for (const auto& [verdict, names] : group.items()) {
                std::istringstream words(names.get<std::string>());
                for (std::string name; words >> name;)
                    result.answers[arch].emplace_back(name, verdict);
            }
    }
    return result;
}

fastsdt::Judgement model(const fastsdt::Kernel& kernel, Arch arch, const std::string& pattern)
{
    const size_t at = pattern.find('@');
    const uint64_t offset = at == std::string::npos ? Default_offset : std::stoull(pattern.substr(at + 1));
    return judge(kernel, arch, bytes_of(arch, pattern.substr(0, at)), 0x400000 + offset);
}

/// An "unknown" of the model is not wrong; such answers are counted.
bool agrees(Verdict model, const std::string& kernel)
{
    if (model == Verdict::unknown)
        return true;
    if (kernel == "accepted")
        return model != Verdict::reject;
    const std::string verdict = kernel.substr(0, kernel.find(':')); // reject:ERRNO
    return verdict == name(mechanism(model));
}

int compare(const std::vector<std::string>& files, unsigned limit)
{
    size_t total = 0;
    fmt::print("{:<18}{:<8}{:>9}{:>8}{:>7}{:>9}{:>10}{:>9}{:>10}  {}\n", "kernel", "arch", "patterns", "reject", "xol",
               "emulate", "optimize", "unknown", "disagree", "package");
    std::string details;
    for (const std::string& file : files) {
        const Result result = read_result(file);
        total += result.failed.size();
        for (const std::string& failed : result.failed)
            details += fmt::format("{} {}\n", result.kernel.name(), failed);
        if (!result.passed.empty())
            details += fmt::format("{} checks passed:{}{}\n", result.kernel.name(), result.passed, result.left_out);
        for (const auto& [arch_name, answers] : result.answers) {
            const Arch arch = arch_named(arch_name);
            std::map<std::string, size_t> counts;
            size_t wrong = 0, unknown = 0;
            for (const auto& [pattern, kernel] : answers) {
                ++counts[kernel.substr(0, kernel.find(':'))];
                const auto judgement = model(result.kernel, arch, pattern);
                unknown += judgement.verdict == Verdict::unknown;
                if (agrees(judgement.verdict, kernel))
                    continue;
                if (++wrong <= limit)
                    details += fmt::format("{} {} {}: kernel {}, model {} ({})\n", result.kernel.name(), arch_name,
                                           pattern, kernel, name(judgement.verdict), judgement.why);
            }
            total += wrong;
            fmt::print("{:<18}{:<8}{:>9}{:>8}{:>7}{:>9}{:>10}{:>9}{:>10}  {}\n", result.kernel.name(), arch_name,
                       answers.size(), counts["reject"], counts["xol"], counts["emulate"], counts["optimize"], unknown,
                       wrong, result.package);
        }
    }
    std::cout.flush();
    fmt::print("{}", details);
    return total == 0 ? 0 : 1;
}

// ---- table: JSON -> docs/kernels.md ----

struct Row {
    const char* text;
    const char* pattern;
};
const std::map<std::string, std::vector<Row>> Rows = {
    {"x86_64",
     {{"nop1 `90`", "90"},
      {"nop2 `66 90`", "6690"},
      {"nop3 `0f 1f 00`", "0f1f00"},
      {"nop4 `0f 1f 40 00`", "0f1f4000"},
      {"nop5 `0f 1f 44 00 00`", "0f1f440000"},
      {"nop5 with 4 bytes left in its page", "0f1f440000@4092"},
      {"nop8 `0f 1f 84 00 ...`", "0f1f840000000000"},
      {"nop9 `66 0f 1f 84 00 ...`", "660f1f840000000000"},
      {"nop10 `66 2e 0f 1f 84 ...`", "662e0f1f840000000000"},
      {"nop10 with 10 bytes left in its page", "662e0f1f840000000000@4086"},
      {"nop10 with 9 bytes left in its page", "662e0f1f840000000000@4087"},
      {"`2e 66 0f 1f 84 ...` (clang's patchable entry)", "2e660f1f840000000000"},
      {"`push %rbp` 55", "55"},
      {"`push %r13` 41 55", "4155"},
      {"`endbr64`", "f30f1efa"},
      {"`mov %rax,%rax` 48 89 c0", "4889c0"},
      {"`lea 0(%rax),%rax` 48 8d 40 00", "488d4000"},
      {"`call`, `jmp` relative", "e810000000"},
      {"`je` rel8", "7410"},
      {"`ret`", "c3"},
      {"`pause` f3 90", "f390"},
      {"`int3`", "cc1000000000"}}},
    {"i386",
     {{"nop1 `90`", "90"},
      {"nop5 `0f 1f 44 00 00`", "0f1f440000"},
      {"nop10 `66 2e 0f 1f 84 ...`", "662e0f1f840000000000"},
      {"`push %ebp` 55", "55"},
      {"`endbr32`", "f30f1efb"},
      {"`ret`", "c3"}}},
    {"arm64",
     {{"`nop`", "d503201f"},
      {"`bti c`", "d503245f"},
      {"`paciasp`", "d503233f"},
      {"`yield`", "d503203f"},
      {"`stp x29, x30, [sp, #-16]!`", "a9bf7bfd"},
      {"`sub sp, sp, #16`", "d10043ff"},
      {"`b`, `bl`", "94000004"},
      {"`ret`", "d65f03c0"},
      {"`adrp`", "90000000"},
      {"`ldr` literal", "58000080"},
      {"`ldxr`", "c85f7c00"},
      {"`svc #0`", "d4000001"}}},
    {"arm",
     {{"`nop`", "e320f000"},
      {"`mov r0, r0`", "e1a00000"},
      {"`push {r4, lr}`", "e92d4010"},
      {"`mov ip, sp`", "e1a0c00d"},
      {"`sub sp, sp, #8`", "e24dd008"},
      {"`bx lr`", "e12fff1e"},
      {"`pop {r4, pc}`", "e8bd8010"},
      {"`b`, `bl`", "eb000004"},
      {"`ldr` literal", "e59f0010"},
      {"`ldrex`", "e1910f9f"},
      {"`vpush {d8}`", "ed2d8b02"},
      {"`svc #0`", "eff00000"}}},
    {"riscv",
     {{"`nop`", "00000013"},
      {"`c.nop`", "0001"},
      {"`c.addi sp, -16`", "1141"},
      {"`addi sp, sp, -32`", "fe010113"},
      {"`ret` (c.jr ra)", "8082"},
      {"`j`, `jal`", "008000ef"},
      {"`beq`", "00b50463"},
      {"`auipc`", "00000097"},
      {"`ecall`", "00000073"},
      {"`fence`", "0ff0000f"},
      {"`lr.w`", "1005252f"}}},
    {"powerpc",
     {{"`nop`", "60000000"},
      {"`mflr r0`", "7c0802a6"},
      {"`stdu r1,-96(r1)`", "f821ffa1"},
      {"`std r0,16(r1)`", "f8010010"},
      {"`addis r2,r12`", "3c4c0002"},
      {"`blr`", "4e800020"},
      {"`b`, `bl`", "48000011"},
      {"`lxvd2x`", "7cc41e98"},
      {"`fmr`, floating point", "fc00002a"},
      {"`isync`", "4c00012c"},
      {"`sc`", "44000002"},
      {"`trap`", "7fe00008"}}},
    {"s390",
     {{"`nopr %r7`", "0707"},
      {"`nop`", "47000000"},
      {"`jgnop`", "c00400000000"},
      {"`stmg %r6,%r15,48(%r15)`", "eb6ff0300024"},
      {"`larl`", "c01000000004"},
      {"`brasl`", "c0e500000004"},
      {"`lgrl`", "c41800000004"},
      {"`br %r14`", "07fe"},
      {"`ex`", "44000004"},
      {"`tbegin`", "e56000000004"}}},
    {"loongarch",
     {{"`nop`", "03400000"},
      {"`addi.d $sp, $sp, -16`", "02ffc063"},
      {"`st.d $ra, $sp, 8`", "29c02061"},
      {"`ret`", "4c000020"},
      {"`b`, `bl`", "54000400"},
      {"`pcaddu12i`", "1c000004"},
      {"`ll.w`", "200010c5"},
      {"`nop` before `ll.w`", "2000008403400000"},
      {"`syscall 0`", "002b0000"}}},
};

std::string cell(const Result& result, const std::string& arch, const char* pattern)
{
    const auto& answers = result.answers.at(arch);
    auto it = std::find_if(answers.begin(), answers.end(), [&](const auto& a) { return a.first == pattern; });
    if (it == answers.end())
        throw std::runtime_error(fmt::format("{}: no answer for {} {}", result.file, arch, pattern));
    const std::string verdict = it->second.substr(0, it->second.find(':'));
    const Verdict judged = model(result.kernel, arch_named(arch), pattern).verdict;
    if (judged == Verdict::optimize_unsafe || fastsdt::breaks_program(judged))
        return fmt::format("**{}, unsafe**", verdict);
    return verdict == "optimize" ? "**optimize**" : verdict;
}

/// One column for neighbours that answer alike.
struct Column {
    std::string first, last;
    std::vector<std::string> cells;
};

void table(const std::vector<std::string>& files)
{
    std::vector<Result> results;
    for (const std::string& file : files)
        results.push_back(read_result(file));
    std::stable_sort(results.begin(), results.end(),
                     [](const auto& a, const auto& b) { return a.kernel.release < b.kernel.release; });
    for (const Arch one : Asked) {
        const std::string arch(name(one));
        const std::vector<Row>& rows = Rows.at(arch);
        std::string packages;
        std::vector<Column> columns;
        for (const Result& result : results) {
            if (!result.answers.contains(arch))
                continue;
            packages += fmt::format("- {}: {}, {} patterns{}{}{}\n", result.kernel.name(), result.package,
                                    result.answers.at(arch).size(),
                                    result.passed.empty() ? "" : "; checks passed:", result.passed, result.left_out);
            std::vector<std::string> cells;
            for (const Row& row : rows)
                cells.push_back(cell(result, arch, row.pattern));
            if (columns.empty() || columns.back().cells != cells)
                columns.push_back({result.kernel.name(), {}, std::move(cells)});
            columns.back().last = result.kernel.name();
        }
        if (columns.empty()) // no kernel was asked yet
            continue;
        fmt::print("\n### {}\n\n| pattern |", arch);
        for (const Column& column : columns)
            fmt::print(" {}{} |", column.first, column.first == column.last ? "" : " to " + column.last);
        fmt::print("\n|---|");
        for (size_t i = 0; i < columns.size(); ++i)
            fmt::print("---|");
        fmt::print("\n");
        for (size_t i = 0; i < rows.size(); ++i) {
            fmt::print("| {} |", rows[i].text);
            for (const Column& column : columns)
                fmt::print(" {} |", column.cells[i]);
            fmt::print("\n");
        }
        fmt::print("\nKernels asked:\n\n{}", packages);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    CLI::App app{"Patterns for, and answers from, real kernels about uprobes."};
    app.require_subcommand(1);
    std::string directory, pattern_file, package, console;
    std::vector<std::string> files;
    unsigned limit = 20;

    auto* print = app.add_subcommand("patterns", "print the patterns");
    print->add_option("DIRECTORY", directory, "where entries-ARCH.txt are")->required();
    auto* rec = app.add_subcommand("record", "turn a guest's console output into a result (JSON)");
    rec->add_option("--package", package, "name and version of the kernel's package")->required();
    rec->add_option("PATTERNS", pattern_file)->required();
    rec->add_option("CONSOLE", console)->required();
    auto* cmp = app.add_subcommand("compare", "compare results with the model; exit 1 if they disagree");
    cmp->add_option("--limit", limit, "disagreements printed for each kernel")->capture_default_str();
    cmp->add_option("RESULT", files)->required();
    auto* tab = app.add_subcommand("table", "print the verdict tables of docs/kernels.md");
    tab->add_option("RESULT", files)->required();
    CLI11_PARSE(app, argc, argv);

    if (*print) {
        std::cout << patterns(directory);
    } else if (*rec) {
        std::ifstream in(pattern_file), text(console);
        if (!in || !text)
            throw std::runtime_error("cannot read " + (in ? console : pattern_file));
        std::cout << record(text, read_patterns(in), package).dump(1) << '\n';
    } else if (*cmp) {
        return compare(files, limit);
    } else {
        table(files);
    }
    return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "kernel-oracle: " << error.what() << '\n';
    return 2;
}

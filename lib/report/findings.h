// SPDX-License-Identifier: BSD-2-Clause
// What is worth telling about an image: its probes and function entries, what kernels and tracers do there, and what is
// wrong with them.
#pragma once
#include "arch/args.h"
#include "base/cover.h"
#include "base/layouts.h"
#include "elf/image.h"
#include "elf/lines.h"
#include "elf/moved.h"
#include "elf/ways_out.h"
#include "judge/evaluate.h"
#include "live/live.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

enum class Severity { info, warning, error };
std::string_view name(Severity severity);
std::optional<Severity> parse_severity(std::string_view text);

/// X(enumerator, "identifier", usual severity, "what it means and what to do"). Identifiers are for machines: they are
/// never renamed or used for something else. Numbers that are defined elsewhere are in braces: meaning() fills them in.
#define FASTSDT_FINDINGS(X)                                                                                            \
    X(malformed_note, "malformed-note", error, "A note's sizes or strings do not fit. Readers stop there.")            \
    X(foreign_note, "foreign-note", error,                                                                             \
      "A note of another owner or type stands in .note.stapsdt. libbpf then attaches to no probe of the file.")        \
    X(note_section_type, "note-section-type", error,                                                                   \
      "A section named like a note section is none. Tracers pass it over.")                                            \
    X(split_notes, "split-notes", error,                                                                               \
      "There are several .note.stapsdt: mold does not join the notes of another header with ours. libbpf and perf "    \
      "see the first. Run fastsdt-index.")                                                                             \
    X(trailing_bytes, "trailing-bytes", error,                                                                         \
      "Bytes follow the argument string in a stapsdt note. gdb and bpftrace drop the probe.")                          \
    X(index_damaged, "index-damaged", error,                                                                           \
      "The INDEX note's tables are wrong. Run fastsdt-index on the file again.")                                       \
    X(dangling_note, "dangling-note", error,                                                                           \
      "The note's address is not in executable memory: its code was discarded. libbpf then attaches to no site of "    \
      "that name.")                                                                                                    \
    X(bytes_mismatch, "bytes-mismatch", error, "The bytes at the address are not the layout that the note promises.")  \
    X(record_mismatch, "record-mismatch", error, "A layout record contradicts itself or the stapsdt note beside it.")  \
    X(page_crossing, "page-crossing", error,                                                                           \
      "The patchable bytes cross a page. A nop10 there is rejected by every kernel, a nop5 is not optimized.")         \
    X(stale_record, "stale-record", error,                                                                             \
      "A layout record names code that was moved after the link, as BOLT does: nothing executes what is left there, "  \
      "and a "                                                                                                         \
      "probe is never hit. docs/linking.md says what to do.")                                                          \
    X(bound_broken, "bound-broken", error,                                                                             \
      "The patchable bytes cross the boundary that the note promises they do not.")                                    \
    X(base_missing, "base-missing", error, "There is no .stapsdt.base section. gdb shows no probe.")                   \
    X(base_mismatch, "base-mismatch", error,                                                                           \
      "Notes and the section .stapsdt.base disagree on its address. Tracers look for probes and semaphores in wrong "  \
      "places.")                                                                                                       \
    X(base_moved, "base-moved", info, "The file was moved after the link (prelink); tracers correct for it.")          \
    X(semaphore_outside, "semaphore-outside", error, "The semaphore is in no segment. Attaching fails.")               \
    X(semaphore_executable, "semaphore-executable", error,                                                             \
      "The semaphore is in an executable segment. libbpf refuses the probe.")                                          \
    X(semaphore_not_writable, "semaphore-not-writable", error,                                                         \
      "The semaphore is in read-only memory. The kernel cannot count there.")                                          \
    X(semaphore_shared_page, "semaphore-shared-page", warning,                                                         \
      "Two writable segments map the semaphore's page of the file, and the kernel may count in the wrong one: a "      \
      "probe with a semaphore then stays off. lld: -z separate-loadable-segments.")                                    \
    X(semaphore_varies, "semaphore-varies", warning,                                                                   \
      "Sites of one probe have different semaphores. Tools that set only one of them miss hits.")                      \
    X(duplicate_probe, "duplicate-probe", warning,                                                                     \
      "Two notes have the same address and name. Tracers count each hit twice.")                                       \
    X(unsafe_optimization, "unsafe-optimization", warning,                                                             \
      "Linux {nop5_first} to {nop5_last} turn a nop5 into a call: the red zone is overwritten, and after fork() the "  \
      "child dies there.")                                                                                             \
    X(breaks_program, "breaks-program", error,                                                                         \
      "A kernel asked for takes the AVX instruction for another one: under a probe the program computes wrong "        \
      "results or dies. Do not probe here.")                                                                           \
    X(kernel_rejects, "kernel-rejects", warning, "A kernel asked for refuses a probe at the note's address.")          \
    X(single_stepped, "single-stepped", info, "A kernel asked for single-steps the instruction: two traps per hit.")   \
    X(argument_unreadable, "argument-unreadable", warning, "A tracer cannot parse an argument.")                       \
    X(argument_misread, "argument-misread", warning, "A tracer accepts an argument and reads something else.")         \
    X(argument_conditional, "argument-conditional", info,                                                              \
      "A tracer can read an argument only if it finds its symbol.")                                                    \
    X(too_many_arguments, "too-many-arguments", warning,                                                               \
      "More than {most_arguments} arguments. libbpf refuses the probe.")                                               \
    X(unaddressable_name, "unaddressable-name", warning,                                                               \
      "A provider or name has other characters than letters, digits, '_', '.' and '-': bpftrace cannot ask for the "   \
      "probe.")                                                                                                        \
    X(no_layout_note, "no-layout-note", info, "Probes without a layout note; they were judged from their bytes.")      \
    X(other_header, "other-header", warning,                                                                           \
      "A provider has sites with and without layout notes: sys/sdt.h or usdt.h of another project was found first "    \
      "for some files.")                                                                                               \
    X(layout_without_probe, "layout-without-probe", warning, "A layout record stands where no stapsdt note is.")       \
    X(unknown_layout, "unknown-layout", info,                                                                          \
      "The bytes at a probe are no known site; they were judged as an instruction.")                                   \
    X(unknown_record, "unknown-record", info, "Records of a version, type or layout that this program does not know.") \
    X(ungrouped_note, "ungrouped-note", info,                                                                          \
      "An assembler without link-order sections made the note: it may outlive its code.")                              \
    X(notes_stripped, "notes-stripped", warning,                                                                       \
      "The file has what probes leave in memory, but not their notes: llvm-strip removes those. Use strip, or "        \
      "llvm-strip -g.")                                                                                                \
    X(no_section_headers, "no-section-headers", warning, "Without section headers notes cannot be found.")             \
    X(no_text, "no-text", info, "A separate debug file: it has the notes and not the code. Check the stripped file.")  \
    X(lines_left_out, "lines-left-out", warning,                                                                       \
      "The debug information is larger than that of a sound file. Source lines were not looked for.")                  \
    X(names_left_out, "names-left-out", warning,                                                                       \
      "Names of functions, or types and names of arguments, come to more than twice the file's size: many share "      \
      "their bytes. The rest of them is left out.")                                                                    \
    X(unknown_machine, "unknown-machine", info, "Kernels are not modelled on this architecture.")                      \
    X(entry_single_stepped, "entry-single-stepped", warning,                                                           \
      "A kernel asked for single-steps or rejects the entry of a selected function.")                                  \
    X(slim_lto_object, "slim-lto-object", warning,                                                                     \
      "An object of gcc -flto: it has no machine code yet, so its probes are not there. Check the linked file.")       \
    X(lto_without_pass, "lto-without-pass", warning,                                                                   \
      "clang's LTO made code in a link that had not loaded fastprobe's pass: its functions have no entry records. "    \
      "docs/fastprobe.md has the flags.")                                                                              \
    X(entry_missed, "entry-missed", info, "fastprobe could not give the function the entry that was asked for.")       \
    X(exit_missing, "exit-missing", warning,                                                                           \
      "A function whose record promises an exit site at every way out can be left without one: its exits do not "      \
      "add up to its entries.")                                                                                        \
    X(undecoded_code, "undecoded-code", info,                                                                          \
      "A function whose record promises exit sites has an instruction that the decoder does not know (APX, AVX10): "   \
      "whether an exit is missing there is not said.")                                                                 \
    X(return_probe_unsafe, "return-probe-unsafe", warning,                                                             \
      "A return probe (uretprobe) here ends the program or counts wrongly on a kernel asked for: it replaces a "       \
      "return address that is signed, has a copy on a shadow stack, or is used twice. fastprobe's exit= needs none.")

enum class FindingId {
#define FASTSDT_X(enumerator, text, severity, meaning) enumerator,
    FASTSDT_FINDINGS(FASTSDT_X)
#undef FASTSDT_X
};
inline constexpr size_t finding_count = 0
#define FASTSDT_X(enumerator, text, severity, meaning) +1
    FASTSDT_FINDINGS(FASTSDT_X)
#undef FASTSDT_X
    ;
std::string_view name(FindingId id);
std::string meaning(FindingId id);
Severity usual_severity(FindingId id);

struct Finding {
    FindingId id;
    Severity severity;
    std::string message;             ///< one clause about this case
    std::optional<uint64_t> address; ///< ELF vaddr (as Image numbers them)
};

struct SiteReport {
    const ProbeNote* probe = nullptr;
    const Record* record = nullptr;     ///< the layout note, if there is one
    const Evaluation* judged = nullptr; ///< empty when the file does not have the bytes
    std::span<const std::byte> bytes;   ///< of the layout, or of the first instruction's first bytes
    const std::vector<Argument>* arguments = nullptr;
    const ArgumentNames* names = nullptr; ///< of the arguments, if something says them
    std::optional<Line> line;
    std::vector<Finding> findings;

    uint8_t layout() const { return record ? record->layout : judged ? judged->layout : 0; }
};

/// A way out of a selected function.
struct ExitReport {
    const Record* record = nullptr;
    const Evaluation* judged = nullptr;
    std::vector<Finding> findings;
};

struct FunctionReport {
    Function function;
    const Record* record = nullptr; ///< fastprobe selected the function
    uint8_t lead = 0;               ///< the probe is at function.address + lead: 0 unless there is a record
    const Evaluation* judged = nullptr;
    std::span<const ExitReport> exits; ///< by address
    std::vector<Finding> findings;
};

struct ReportOptions {
    std::vector<Kernel> kernels = default_kernels();
    bool functions = false;
    bool lines = true;
    std::function<bool(const ProbeNote&)> select; ///< if set, other probes are left out
};

/// Everything about one image; refers into `image` and `notes`, which have to outlive it.
class Report {
public:
    Report(const Image& image, const Notes& notes, ReportOptions options);

    const Image& image;
    const Notes& notes;
    const ReportOptions options;
    std::vector<SiteReport> sites;       ///< by address
    std::vector<FunctionReport> entries; ///< by address; empty unless asked for
    std::vector<ExitReport> exits;       ///< of the entries, by function and address
    std::vector<Finding> findings;       ///< about the file as a whole, or about places that are neither site nor entry

    /// Over all findings, those of sites and entries too.
    std::array<size_t, finding_count> counts{};
    std::array<size_t, 3> severities{}; ///< by Severity

private:
    void add(std::vector<Finding>& to, FindingId id, std::string message, std::optional<uint64_t> address = {},
             std::optional<Severity> severity = {});
    void check_record(const Record& record, uint64_t address, const Evaluation* judged, std::vector<Finding>& to);

    // findings_sites.cpp
    void read_sites();
    void check_site(SiteReport& site);
    void check_site_record(SiteReport& site, bool live);
    void check_site_verdicts(SiteReport& site);
    void check_semaphore(SiteReport& site);
    const Segment* writable_alias(uint64_t semaphore);
    void check_arguments(SiteReport& site);
    void check_duplicates();

    // findings_functions.cpp
    void read_entries();
    std::vector<Kernel> kernels_where(const Evaluation& judged, bool (*predicate)(Verdict)) const;
    void check_breaks(const Evaluation& judged, uint64_t address, Severity severity, std::vector<Finding>& to);
    void check_verdicts(const Evaluation& judged, uint64_t address, bool missed, std::vector<Finding>& to);
    void check_return_probe(FunctionReport& entry);
    void read_exits();
    void check_exit(ExitReport& exit);
    void check_ways_out(FunctionReport& entry, FunctionCode& code);

    // findings_file.cpp
    void check_bases();
    void check_moved();
    void check_file();

    Evaluator evaluator_;
    std::map<std::string_view, std::vector<Argument>> arguments_;
    const Moved moved_;
    Lines lines_;
    TextBudget texts_;
    std::optional<Cover> writable_; // pages of the file, by segment
};

/// How bad the state of a site in a running process is; empty for what kernels and tracers do normally.
std::optional<Severity> severity(Change change);

/// "pristine", ...: FASTSDT_STATE_*.
std::string_view state_name(uint8_t state);

} // namespace fastsdt

// SPDX-License-Identifier: BSD-2-Clause
// The code generator's part: looks at what a function really begins with, adds the layout and the record.
//
//   hooks.cpp    puts the steps below into the code generator's pipeline
//   registry.cpp how hooks.cpp gets to know of a pipeline on LLVM 14 to 20
//   frame.cpp    before registers are allocated: red zone, frame
//   look.cpp     what stands at the entry
//   insert.cpp   the layout
//   exits.cpp    the ways out, and the sites in front of them
//   emit.cpp     decision, record, report
//
// Works with every program that generates code through TargetPassConfig: clang, flang, rustc, llc, lld and LLVMgold.so
// after LTO.
#pragma once
#include "plan.h"
#include "plugin.h"

#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <functional>
#include <map>
#include <vector>

namespace llvm {
class AsmPrinter;
class MCSection;
class MCSymbol;
class Pass;
class TargetInstrInfo;
class TargetMachine;
class TargetPassConfig;
} // namespace llvm

namespace fastprobe {

// ---- look.cpp ----

/// The beginning of a function's code, as it will be assembled.
struct EntryScan {
    EntryFacts front;
    const llvm::MachineInstr* first = nullptr; ///< the first instruction behind the landing pad and the reserved nop
    llvm::MachineBasicBlock::iterator at;      ///< in the entry block: where a layout goes, or the reserved nop
    unsigned instructions = 0;                 ///< of the whole function, without landing pad and reserved nop
    const char* skip = nullptr;                ///< nothing may be done to the function, and why

    std::string describe(Arch arch) const; ///< the first instruction, for people
};
EntryScan look_at_beginning(llvm::MachineFunction& mf, Arch arch);
/// Why nobody may change this entry, or null. Such a function has no record either, only a line in the report.
const char* skip_reason(const llvm::Function& function);
/// The text of inline assembly; null for other instructions.
const char* asm_text(const llvm::MachineInstr& instruction);
/// x86-64: the assembler may put nops in front of this instruction, to keep it off a boundary.
bool assembler_pads(const llvm::MachineInstr& instruction);
/// arm64: the nop that was put first before branch relaxation.
bool is_reserved_nop(const llvm::MachineInstr& instruction);

// ---- insert.cpp ----

/// Puts down the layout of the plan in front of `at`, and aligns the function. @param zero  a symbol that is to be 0
void insert(llvm::MachineFunction& mf, llvm::MachineBasicBlock::iterator at, const Plan& plan, llvm::MCSymbol* zero);
/// Opcodes and registers of a target are known by name only: their numbers are in headers that LLVM does not install.
unsigned opcode_named(const llvm::TargetInstrInfo& info, llvm::StringRef name);
/// The instructions of a layout, which is not Add::nothing. @return the first of them.
llvm::MachineInstr* build_layout(llvm::MachineBasicBlock& block, llvm::MachineBasicBlock::iterator at,
                                 const llvm::DebugLoc& location, llvm::MachineInstr::MIFlag flag, Decision::Add add,
                                 llvm::MCSymbol* zero);

// ---- exits.cpp ----

struct ExitSite {
    llvm::MCSymbol* at;
    ExitRecord record;
};
/// @param first     the first instruction, behind landing pad and reserved nop
/// @param reserved  reserve_exits() has been here
WaysOut look_at_exits(llvm::MachineFunction& mf, const llvm::MachineInstr* first, bool reserved);
/// arm64, before branch relaxation: the sites.
void reserve_exits(llvm::MachineFunction& mf, Arch arch, const Exits& exits);
/// The sites, where they do not stand already, and their records. @param zero  as for insert()
std::vector<ExitSite> make_exits(llvm::MachineFunction& mf, Arch arch, const Exits& exits, llvm::MCSymbol* zero);
bool is_exit_site(const llvm::MachineInstr& instruction);
/// Where the function's result is when it returns.
Result result_of(const llvm::MachineFunction& mf);

// ---- frame.cpp ----

/// Between instruction selection and register allocation: functions with nop5 sites keep out of the red zone, and those
/// that shall begin with the frame push get a frame.
void prepare(llvm::MachineFunction& mf, Arch arch);
/// After shrink-wrapping: undoes it, so that the frame push comes first.
void keep_frame_first(llvm::MachineFunction& mf, Arch arch);
/// Why a function that was to get a frame has none; null: it has one, or was not to get one.
const char* why_no_frame(const llvm::MachineFunction& mf);

// ---- emit.cpp ----

/// arm64, before branch relaxation: the nop that the entry will need.
void reserve(llvm::MachineFunction& mf, Arch arch);

/// The entries of one module.
class Unit {
public:
    Unit(Arch arch, llvm::AsmPrinter& printer) : arch_(arch), printer_(printer) {}

    void begin(llvm::Module& module);
    /// The code is final: the decision, the layout, the report.
    void make_sites(llvm::MachineFunction& mf);
    /// The printer is at the function's address, before its first instruction: the label.
    void label(const llvm::MachineFunction& mf);
    /// All functions are out: the records.
    void write();
    /// The object is out: the report.
    void end(llvm::Module& module);

private:
    struct Planned {
        EntryRecord record;
        std::vector<ExitSite> exits;
    };
    struct Record {
        std::vector<Field> fields;
        llvm::MCSymbol *function, *layout;
    };
    llvm::MCSymbol* zero();
    void add(llvm::MCSection* section, Record record);

    const Arch arch_;
    llvm::AsmPrinter& printer_;
    Log log_;
    std::map<const llvm::Function*, Planned> planned_; ///< those that were not printed yet
    std::vector<std::pair<llvm::MCSymbol*, Planned>> printed_;
    std::vector<std::pair<llvm::MCSection*, std::vector<Record>>> records_; ///< by text section
    std::map<llvm::MCSection*, size_t> section_index_;
    llvm::MCSymbol* zero_ = nullptr;
};

// ---- hooks.cpp ----

/// A pipeline is being built in this thread, and instruction selection is next to come or just done.
/// @param schedule  adds a pass at the pipeline's end
void configure(llvm::TargetPassConfig& config, llvm::TargetMachine& machine, std::function<void(llvm::Pass*)> schedule);
/// The pipeline is gone.
void forget_pipeline();

} // namespace fastprobe

// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "ir/ir.h"
#include "run.h"
#include "script/parse.h"

#if defined(FASTSDT_ENGINE_ARM64)
#include <aarch64/disasm-aarch64.h>
#else
#include <Zydis/Zydis.h>
#endif
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace fastsdt::trace_tool {
namespace {

using engine::Session;
using engine::State;

std::vector<std::string> disassembled(const Session::Preview::Stub& stub)
{
    std::vector<std::string> lines;
    const uint64_t end = stub.address + stub.bytes.size();
#if defined(FASTSDT_ENGINE_ARM64)
    vixl::aarch64::Decoder decoder;
    vixl::aarch64::Disassembler disassembler;
    decoder.AppendVisitor(&disassembler);
    for (uint64_t at = stub.address; at + 4 <= end; at += 4) {
        const auto* const word =
            reinterpret_cast<const vixl::aarch64::Instruction*>(stub.bytes.data() + (at - stub.address));
        disassembler.MapCodeAddress(int64_t(at), word);
        decoder.Decode(word);
        lines.push_back(fmt::format("{:x}  {}", at, disassembler.GetOutput()));
    }
#else
    for (uint64_t at = stub.address; at < end;) {
        ZydisDisassembledInstruction found;
        const auto* const bytes = stub.bytes.data() + (at - stub.address);
        if (!ZYAN_SUCCESS(ZydisDisassembleATT(ZYDIS_MACHINE_MODE_LONG_64, at, bytes, end - at, &found)))
            break; // constants behind the code
        lines.push_back(fmt::format("{:x}  {}", at, found.text));
        at += found.info.length;
    }
#endif
    return lines;
}

} // namespace

void print_stage(const Options& options, const engine::Script& script, std::ostream& out)
{
    if (options.stage == Options::Stage::ast) {
        out << engine::syntax_tree(options.text, options.parameters);
        return;
    }
    for (const engine::Clause& clause : script.clauses) {
        std::string probes;
        for (const engine::Probe& probe : clause.probes)
            probes += (probes.empty() ? "" : ", ") + probe.text;
        out << printable(probes) << '\n' << print(engine::ir::lower(script, clause), script);
    }
}

void print_preview(const Session::Preview& preview, const std::vector<std::string>& probes, bool json,
                   std::ostream& out)
{
    for (size_t i = 0; i < preview.sites.size(); ++i) {
        const engine::Site& site = preview.sites[i];
        const bool good = engine::can_be_armed(preview.states[i]);
        const std::string what = good ? "can be armed" : engine::text(preview.states[i]);
        const std::string& probe = probes.at(site.probe);
        const auto lines = good ? disassembled(preview.stubs[i]) : std::vector<std::string>();
        if (json) {
            nlohmann::json data = {{"probe", probe},    {"address", fmt::format("{:#x}", site.address)},
                                   {"file", site.file}, {"armable", good},
                                   {"state", what},     {"arguments", site.arguments},
                                   {"stub", lines}};
            if (site.patch)
                data["patch"] = fmt::format("{:#x}", site.patch);
            out << nlohmann::json({{"type", "site"}, {"data", data}})
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                << '\n';
            continue;
        }
        out << printable(fmt::format("{:#x}  {}  {}", site.address, probe, what)) << '\n';
        for (const std::string& line : lines)
            out << "    " << line << '\n';
    }
    for (const Session::Preview::Stub& body : preview.bodies) {
        const auto lines = disassembled(body);
        if (json) {
            out << nlohmann::json(
                {{"type", "body"}, {"data", {{"address", fmt::format("{:#x}", body.address)}, {"code", lines}}}})
                << '\n';
            continue;
        }
        out << fmt::format("{:#x}  called by the stubs of many sites\n", body.address);
        for (const std::string& line : lines)
            out << "    " << line << '\n';
    }
}

} // namespace fastsdt::trace_tool

// SPDX-License-Identifier: BSD-2-Clause
#include "object.h"

#include <fastsdt/note.h>

namespace dtrace {

std::string semaphore_name(const Provider& provider, const Probe& probe)
{
    return provider.name + "_" + probe.name + "_semaphore";
}

std::string semaphore_attributes(std::string_view macro)
{
    const std::string define = "#define " + std::string(macro) + " __attribute__((__unused__, __section__(\".probes\")";
    return "#if defined STAP_SDT_V1 || defined STAP_SDT_V2\n" + define + "))\n#else\n" + define
        + ", __visibility__(\"hidden\")))\n#endif\n";
}

// The note that tells tools the arguments' types and names: docs/format.md. In a group of its own, as with
// FASTSDT_NAMED.
static std::string names_note(const Provider& provider, const Probe& probe)
{
    const auto line = [](const std::string& assembly) {
        std::string quoted = "    \"";
        for (const char c : assembly)
            quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
        return quoted + "\\n\"\n";
    };
    std::string text = "__asm__(\n"
        + line(".pushsection " FASTSDT_NAMES_SECTION ", \"G\", \"note\", fastsdt.names." + provider.name + "."
               + probe.name + "." + std::to_string(probe.arguments.size()) + ", comdat")
        + line(".balign 4") + line(".4byte 8, 994f - 993f, " + std::to_string(FASTSDT_NOTE_NAMES))
        + line(".asciz \"" FASTSDT_NOTE_OWNER "\"")
        + line("993: .byte " + std::to_string(FASTSDT_NOTE_VERSION) + ", " + std::to_string(probe.arguments.size())
               + ", 0, 0")
        + line(".asciz \"" + provider.name + "\", \"" + probe.name + "\"");
    for (const Argument& argument : probe.arguments)
        text += line(".asciz \"" + argument.type + "\", \"" + argument.name + "\"");
    return text + line("994: .balign 4") + line(".popsection") + ");\n";
}

std::string object_text(const Model& model)
{
    std::string text = semaphore_attributes("SEMAPHORE");
    for (const Provider& provider : model)
        for (const Probe& probe : provider.probes) {
            const std::string name = semaphore_name(provider, probe);
            text += "#line " + std::to_string(probe.line) + " \"" + std::string(probe.file) + "\"\n";
            text += "extern unsigned short " + name + " SEMAPHORE; unsigned short " + name + " = 0;\n";
        }
    for (const Provider& provider : model)
        for (const Probe& probe : provider.probes)
            if (!probe.arguments.empty())
                text += names_note(provider, probe);
    return text + "extern int _dtrace_no_more;\n"; // ISO C wants a declaration, and there may be no probe
}

} // namespace dtrace

// SPDX-License-Identifier: BSD-2-Clause
#include "header.h"

#include "object.h"

namespace dtrace {

std::string macro_name(std::string_view provider, std::string_view probe)
{
    std::string name(provider);
    name += '_';
    for (size_t i = 0; i < probe.size(); ++i) {
        name += probe[i];
        if (probe.substr(i, 2) == "__")
            ++i;
    }
    for (char& c : name)
        if (c >= 'a' && c <= 'z') // not toupper(): the same in every locale
            c -= 'a' - 'A';
    return name;
}

// Builds run sed over this text: PROVIDER_ stands once in a line and only where a macro is defined.
std::string header_text(const Model& model, std::string_view source)
{
    std::string declarations, active, inactive, probes;
    for (const Provider& provider : model)
        for (const Probe& probe : provider.probes) {
            const std::string macro = macro_name(provider.name, probe.name);
            const std::string semaphore = semaphore_name(provider, probe);
            declarations += "extern unsigned short " + semaphore + " _DTRACE_SEMAPHORE;\n";
            // Volatile: a tracer changes it while a loop runs.
            active +=
                "#define " + macro + "_ENABLED() __builtin_expect(*(volatile unsigned short *)&" + semaphore + ", 0)\n";
            inactive += "#define " + macro + "_ENABLED() 1\n";

            std::string signature, parameters, values;
            for (size_t i = 0; i < probe.arguments.size(); ++i) {
                const Argument& a = probe.arguments[i];
                const std::string value = "_arg" + std::to_string(i + 1);
                signature += (i ? ", " : "") + a.type + (a.name.empty() || a.type.ends_with('*') ? "" : " ") + a.name;
                parameters += (i ? ", " : "") + value;
                values += ", " + value;
            }
            probes += "/* " + provider.name + ":" + probe.name + "(" + signature + ") */\n";
            probes += "#define " + macro + "(" + parameters + ") \\\n    DTRACE_PROBE"
                + (probe.arguments.empty() ? "" : std::to_string(probe.arguments.size())) + "(" + provider.name + ", "
                + probe.name + values + ")\n";
        }

    std::string text = "/* Made by dtrace -h (fastsdt) from " + std::string(source)
        + ". */\n\n"
          "/* Each probe has a semaphore, which the object of dtrace -G defines. If <sys/sdt.h> was included before "
          "without\n"
          " * semaphores, there are none, and the program cannot tell whether a probe is traced. */\n"
          "#if !defined _SYS_SDT_H && !defined _SDT_HAS_SEMAPHORES\n"
          "#define _SDT_HAS_SEMAPHORES 1\n"
          "#endif\n"
          "#include <sys/sdt.h>\n\n";
    if (probes.empty())
        return text;
    text += "#ifdef _SDT_HAS_SEMAPHORES\n"
            "#undef _DTRACE_SEMAPHORE\n"
        + semaphore_attributes("_DTRACE_SEMAPHORE") + declarations + active + "#else\n" + inactive + "#endif\n\n"
        + probes;
    return text;
}

} // namespace dtrace

// SPDX-License-Identifier: BSD-2-Clause
#include "object.h"

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

std::string object_text(const Model& model)
{
    std::string text = semaphore_attributes("SEMAPHORE");
    for (const Provider& provider : model)
        for (const Probe& probe : provider.probes) {
            const std::string name = semaphore_name(provider, probe);
            text += "#line " + std::to_string(probe.line) + " \"" + std::string(probe.file) + "\"\n";
            text += "extern unsigned short " + name + " SEMAPHORE; unsigned short " + name + " = 0;\n";
        }
    return text + "extern int _dtrace_no_more;\n"; // ISO C wants a declaration, and there may be no probe
}

} // namespace dtrace

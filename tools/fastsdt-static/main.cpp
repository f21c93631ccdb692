// SPDX-License-Identifier: BSD-2-Clause
// All tools in one file that needs nothing of a machine but its kernel. The name it is called by, or its first word, says which tool it is.
#include <fastsdt/note.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <nss.h>
#include <string>
#include <string_view>
#include <vector>
#include <fcntl.h>
#include <unistd.h>

// The tools' main(), under other names (CMakeLists.txt).
extern "C" {
int fastsdt_check_main(int, char**);
int fastsdt_dtrace_main(int, char**);
int fastsdt_index_main(int, char**);
int fastsdt_probe_main(int, char**);
int fastsdt_trace_main(int, char**);
}

// libdwfl's three functions that ask a debuginfod. Its own would load libdebuginfod.so at the start of every tool, and with it a second
// libc. -ENOSYS is what they answer where that library is not there.
extern "C" {
int __libdwfl_debuginfod_find_executable(void*, const unsigned char*, size_t)
{
    return -ENOSYS;
}
int __libdwfl_debuginfod_find_debuginfo(void*, const unsigned char*, size_t)
{
    return -ENOSYS;
}
void __libdwfl_debuginfod_end(void*) {}
}

namespace {

struct Tool {
    const char* name;
    int (*main)(int, char**);
    const char* does;
};
constexpr Tool tools[] = {
    {"fastsdt-check", fastsdt_check_main, "what a kernel does with the probes of files and processes"},
    {"fastsdt-dtrace", fastsdt_dtrace_main, "provider file to header and object; needs a C compiler"},
    {"fastsdt-index", fastsdt_index_main, "the step after linking"},
    {"fastsdt-probe", fastsdt_probe_main, "counts hits with the kernel's uprobes"},
    {"fastsdt-trace", fastsdt_trace_main, "runs scripts on probes"},
};

// "fastsdt-check" and "check"; "dtrace" is what builds call it.
const Tool* find(std::string_view name)
{
    name = name.substr(name.rfind('/') + 1);
    const auto tool = std::ranges::find_if(
        tools, [&](const Tool& t) { return name == t.name || name == t.name + strlen("fastsdt-"); });
    return tool == std::end(tools) ? nullptr : tool;
}

void help(const char* self)
{
    std::printf("fastsdt " FASTSDT_VERSION_STRING ", all tools in one file\n\n"
                "Usage: %s TOOL [ARGUMENTS]\n"
                "       %s install DIR\n\n"
                "TOOL, with or without \"fastsdt-\" in front; a link to this file with such a name is the tool:\n",
                self, self);
    for (const Tool& tool : tools)
        std::printf("  %-15s %s\n", tool.name, tool.does);
    std::printf("install makes the links in DIR.\n\n"
                "Not in this file: debuginfod is not asked, and users' names are those of /etc/passwd.\n"
                "Exit status: 0, or the tool's; 2 for a usage error and what cannot be done\n");
}

int failed(const char* self, const std::string& message)
{
    std::fprintf(stderr, "%s: %s\n", self, message.c_str());
    return 2;
}

int install(const char* self, const std::string& folder)
{
    char file[4096];
    const ssize_t length = readlink("/proc/self/exe", file, sizeof file - 1);
    if (length < 0)
        return failed(self, "/proc/self/exe, where the links would lead: " + std::string(std::strerror(errno)));
    file[length] = 0;
    std::vector<std::string> missing;
    for (const Tool& tool : tools) {
        const std::string link = folder + "/" + tool.name;
        char to[sizeof file];
        const ssize_t known = readlink(link.c_str(), to, sizeof to);
        if (known == length && std::memcmp(to, file, length) == 0)
            continue; // from the last time: an update
        if (faccessat(AT_FDCWD, link.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return failed(self, link + " is there already; remove it first");
        missing.push_back(link);
    }
    for (const std::string& link : missing)
        if (symlink(file, link.c_str()) < 0)
            return failed(self, link + ": " + std::strerror(errno));
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    // nsswitch.conf may name modules. They would be loaded, and with them a second libc.
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("hosts", "files dns");
    const char* const self = argc > 0 ? argv[0] : "fastsdt";
    if (const Tool* const tool = find(self))
        return tool->main(argc, argv);
    const std::string_view word = argc > 1 ? argv[1] : "--help";
    if (const Tool* const tool = find(word)) {
        argv[1] = const_cast<char*>(tool->name); // what it takes for its name
        return tool->main(argc - 1, argv + 1);
    }
    if (word == "install" && argc == 3)
        return install(self, argv[2]);
    if (word == "-V" || word == "--version")
        std::printf("fastsdt " FASTSDT_VERSION_STRING "\n");
    else if (word == "-h" || word == "--help")
        help(self);
    else
        return failed(self,
                      "\"" + std::string(word) + "\" is no tool: check, dtrace, index, probe or trace; or install DIR");
    return std::fflush(stdout) == 0 ? 0 : failed(self, "cannot write to the standard output");
}

// SPDX-License-Identifier: BSD-2-Clause
// Refuses to work inside another LLVM than the one this file was built for: the C++ interfaces differ from release to
// release, and a plugin that gets loaded anyway crashes later or, worse, does nothing. Linked into both plugins; runs
// while the dynamic loader loads them, before any of LLVM's own static constructors in them.
#include <llvm/Config/llvm-config.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// Major version of the LLVM that runs us; 0: there is none yet (preloaded), or it does not tell.
unsigned host_llvm_version()
{
    // LLVMContextCreate() is in every LLVM. The global scope begins with the program's own libraries, so this finds the
    // host's LLVM even when loading this plugin has just brought in another one.
    void* anchor = dlsym(RTLD_DEFAULT, "LLVMContextCreate");
    Dl_info host;
    if (!anchor || !dladdr(anchor, &host) || !host.dli_fname)
        return 0;
    void* handle = dlopen(host.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        handle = dlopen(nullptr, RTLD_LAZY); // a program with LLVM inside
    using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
    auto get_version = handle ? reinterpret_cast<GetVersion>(dlsym(handle, "LLVMGetVersion")) : nullptr;
    if (get_version) { // since LLVM 16
        unsigned major = 0, minor, patch;
        get_version(&major, &minor, &patch);
        return major;
    }
    const char* name = strstr(host.dli_fname, "libLLVM-"); // libLLVM-14.so.1
    return name ? static_cast<unsigned>(strtoul(name + strlen("libLLVM-"), nullptr, 10)) : 0;
}

__attribute__((constructor(101))) void check_host()
{
    unsigned host = host_llvm_version();
    if (host == 0 || host == LLVM_VERSION_MAJOR)
        return;
    Dl_info self;
    const char* file =
        dladdr(reinterpret_cast<void*>(&check_host), &self) && self.dli_fname ? self.dli_fname : "fastprobe";
    fprintf(stderr,
            "error: %s is built for LLVM %d and cannot be loaded into LLVM %u: use the one in llvm-%u, "
            "or build fastsdt with llvm-%u-dev and libclang-%u-dev installed\n",
            file, LLVM_VERSION_MAJOR, host, host, host, host);
    fflush(stderr);
    _exit(1); // exit() would run the destructors of a half-initialized LLVM
}

} // namespace

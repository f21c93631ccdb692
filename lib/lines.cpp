// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace fastsdt {

struct Lines::State {
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    GElf_Addr bias = 0; // what libdwfl adds to the file's addresses
    Elf* elf = nullptr; // libdwfl's own, in which relocatable sections have the addresses it gave them
    ~State()
    {
        if (dwfl)
            dwfl_end(dwfl);
    }
};

Lines::Lines(const Image& image) : image_(image) {}
Lines::~Lines() = default;

void Lines::open()
{
    state_ = std::make_unique<State>();
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                             dwfl_offline_section_address, &no_path};
    // libdwfl reads files, so a member of an archive is given to it as one without a name.
    int fd = -1;
    if (image_.member().empty()) {
        fd = ::open(image_.path().c_str(), O_RDONLY | O_CLOEXEC);
    } else if (fd = ::memfd_create("member", MFD_CLOEXEC); fd >= 0) {
        const auto bytes = image_.file();
        for (size_t done = 0; done < bytes.size();) {
            const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
            if (wrote <= 0) {
                ::close(fd);
                return;
            }
            done += size_t(wrote);
        }
    }
    if (fd < 0)
        return;
    state_->dwfl = dwfl_begin(&callbacks);
    if (!state_->dwfl) {
        ::close(fd);
        return;
    }
    dwfl_report_begin(state_->dwfl);
    state_->module = dwfl_report_elf(state_->dwfl, image_.name().c_str(), image_.path().c_str(), fd, 0, true);
    if (!state_->module)
        ::close(fd); // otherwise it is libdwfl's now
    dwfl_report_end(state_->dwfl, nullptr, nullptr);
    Dwarf_Addr ignored = 0;
    if (state_->module && !dwfl_module_getdwarf(state_->module, &ignored))
        state_->module = nullptr;
    if (state_->module)
        state_->elf = dwfl_module_getelf(state_->module, &state_->bias);
    if (!state_->elf)
        state_->module = nullptr;
}

std::optional<Line> Lines::at(uint64_t address)
{
    if (!state_)
        open();
    if (!state_->module)
        return {};
    GElf_Addr there = address + state_->bias;
    if (image_.relocatable()) {
        const Section* section = image_.section_at(address);
        GElf_Shdr header;
        if (!section || !gelf_getshdr(elf_getscn(state_->elf, section->index), &header))
            return {};
        there = state_->bias + header.sh_addr + (address - section->address);
    }
    Dwfl_Line* line = dwfl_module_getsrc(state_->module, there);
    int number = 0;
    const char* file = line ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
    if (!file || number <= 0)
        return {};
    return Line{file, number};
}

} // namespace fastsdt

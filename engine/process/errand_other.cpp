// SPDX-License-Identifier: BSD-2-Clause
// Architectures without errands. None of these functions is reached: open_outside() and Held refuse first.
#include "process/errand.h"

#include "base/unusable.h"
#include "code/machine.h"

#include <string>

#if !defined(__x86_64__) && !defined(FASTSDT_ENGINE_ARM64)
namespace fastsdt::engine {

ErrandCode encode_errand(uint64_t, const Errand&, const user_regs_struct&)
{
    throw Unusable("the user-space engine " + std::string(arms_nothing));
}

user_regs_struct as_interrupted(const user_regs_struct& stopped, uint32_t, bool)
{
    return stopped;
}

user_regs_struct sent_off(const user_regs_struct& home, uint64_t)
{
    return home;
}

uint64_t program_counter(const user_regs_struct&)
{
    return 0;
}

int64_t result_of(const user_regs_struct&)
{
    return 0;
}

uint64_t stack_pointer(const user_regs_struct&)
{
    return 0;
}

void set_program_counter(user_regs_struct&, uint64_t) {}

std::optional<uint64_t> thread_pointer(const user_regs_struct&)
{
    return {};
}

bool is_64_bit(const user_regs_struct&)
{
    return false;
}

} // namespace fastsdt::engine
#endif

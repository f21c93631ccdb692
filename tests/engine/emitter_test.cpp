// SPDX-License-Identifier: BSD-2-Clause
#include "code/emitter.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fastsdt::engine {
namespace {

class Jumps : public Emitter {
public:
    Jumps() : Emitter(0x1000) {}
    void jump(Label to)
    {
        append("\xe9\0\0\0", 5);
        use(1, to);
    }

private:
    void displacement(size_t, uint64_t) override {}
};

TEST(Emitter, AJumpHasAPlaceToGoTo)
{
    Jumps code;
    const Emitter::Label routine = code.label();
    code.jump(routine);
    EXPECT_THROW(code.finish(), std::logic_error);
    code.bind(routine);
    EXPECT_EQ(code.finish().size(), 5U);
}

} // namespace
} // namespace fastsdt::engine

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# skips.sh: what a real ctest run says of a shell test and of a GoogleTest that skip.
. "$FASTSDT_SOURCE/tests/common.sh"
need ctest c++
cat >test.cpp <<'END'
#include <gtest/gtest.h>
TEST(Suite, Skips) { GTEST_SKIP() << "no such hardware"; }
TEST(Suite, Runs) {}
END
c++ -std=c++20 test.cpp -o gtest -lgtest -lgtest_main -pthread
printf '%s\n' 'echo "SKIP: part of it"' 'echo "no SKIP: here"' >part.sh
printf '%s\n' 'echo "SKIP: no tool"' 'exit 77' >all.sh
cat >CTestTestfile.cmake <<'END'
add_test(shell.part bash part.sh)
add_test(shell.all bash all.sh)
set_tests_properties(shell.all PROPERTIES SKIP_RETURN_CODE 77)
add_test(google ./gtest)
END
ctest >ctest.log 2>&1 || fail "$(cat ctest.log)"
expect "skipped, and why" "$("$FASTSDT_SOURCE/tests/scripts/report.sh" Testing/Temporary/LastTest.log)" "google: no such hardware
shell.all: no tool
shell.part: part of it"
: >empty
expect "a log that is gone" "$("$FASTSDT_SOURCE/tests/scripts/report.sh" empty ctest.log)" "shell.all: no reason given"

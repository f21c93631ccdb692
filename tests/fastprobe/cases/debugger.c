// SPDX-License-Identifier: BSD-2-Clause
// A debugger's `break f` stops where the parameters can be read, and they can be read at the entry of optimized code.
// REQUIRES: gdb, x86-64
// DEFINE: %{gdb} = gdb -nx -batch -ex "set debuginfod enabled off" -ex "break function" -ex run -ex "info args" -ex "info breakpoints" -ex finish %t 2>&1
// DEFINE: %{entry} = gdb -nx -batch -ex "set debuginfod enabled off" -ex "break *function" -ex "break *loop" -ex run -ex "info args" -ex continue -ex "info args" %t 2>&1
// RUN: %cc -O0 -g %fp-entry=nop %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O0 -g %fp-entry=nop10 %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O0 -g -fcf-protection=full %fp-entry=nop10 %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O0 -g -gdwarf-4 %fp-entry=auto %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O1 -g %fp-entry=nop %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -Og -g %fp-entry=nop10 %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O2 -g %fp-entry=nop %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O3 -g %fp-entry=nop10 %s -o %t && %{gdb} | %check-BREAK
// RUN: %cc -O1 -g %fp-entry=nop %s -o %t && %{entry} | %check-ENTRY
// RUN: %cc -O2 -g %fp-entry=auto %s -o %t && %{entry} | %check-ENTRY
// RUN: %cc -O2 -g %fp-entry=nop10 %s -o %t && %{entry} | %check-ENTRY
// RUN: %cc -O3 -g %fp-entry=nop %s -o %t && %{entry} | %check-ENTRY
// BREAK: Breakpoint 1, function (
// ALL-DAG: {{^}}a = 11
// ALL-DAG: {{^}}b = 2.5
// ALL-DAG: {{^}}c = 33
// ALL-DAG: {{^}}d = {{0x[0-9a-f]+.*}} "text"
// ENTRY: Breakpoint 2, loop (
// ENTRY-DAG: {{^}}n = 3
// ENTRY-DAG: {{^}}m = 11
// One place, in the function.
// BREAK-NOT: MULTIPLE
// BREAK: breakpoint keep y 0x{{[0-9a-f]+}} in function at
// BREAK: Value returned is $1 = 14
struct pair { long a, b; };
__attribute__((noinline, noipa)) int function(int a, double b, long c, const char *d)
{
    int local = a + (int)b;
    local += c > 40 ? 3 : 0;
    return local + d[4] + 1;
}
// Branches back to its first instruction.
__attribute__((noinline, noipa)) int loop(int n, int m)
{
    do
        m += n * m;
    while (--n);
    return m;
}
// Not constants: clang has no noipa, and would make a copy of the function for them.
static volatile int eleven = 11;
static const char *volatile text = "text";
int main(void)
{
    return function(eleven, 2.5 + (eleven - 11), 22 + eleven, text) != 14 || loop(eleven - 8, eleven) != 264;
}

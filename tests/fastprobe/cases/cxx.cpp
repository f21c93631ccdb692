// SPDX-License-Identifier: BSD-2-Clause
// C++: virtual functions, thunks, templates in COMDAT groups, exceptions thrown through changed entries, coroutines.
// RUN: %cxx -O2 -std=c++20 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cxx -O0 -std=c++20 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cxx -Os -std=c++20 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cxx -O2 -std=c++20 %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %cxx -O2 -std=c++20 %fp-entry=frame %s -o %t && %run %t && %entries %t | %check-FRAME
// RUN: %if gcc %{ %cxx -O2 -std=c++20 %lto %s -o %t && %run %t && %entries %t | %check-AUTO %}
// RUN: %if x86-64 %{ %cxx -O2 -std=c++20 -fcf-protection=full %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-CET %}
#include <coroutine>
#include <stdexcept>
#include <string>
#include <vector>
#define NOINLINE __attribute__((noinline))

struct A { virtual ~A() {} virtual int f(int a) { return a + x; } int x = 1; };
struct B { virtual ~B() {} virtual int g(int a) { return a * 2 + y; } int y = 2; };
struct C : A, B { int f(int a) override { return a + 10 + z; } int g(int a) override { return a * 3 + z; } int z = 3; };
template <typename T> __attribute__((noinline, noipa)) T twice(T t) { return t + t; }
NOINLINE int thrower(int a) { if (a > 2) throw std::runtime_error("x"); return a * 3; }
NOINLINE int middle(int a) { std::string s(a, 'x'); return thrower(a) + int(s.size()); }
NOINLINE int catcher(int a) { try { return middle(a); } catch (const std::runtime_error &) { return -1; } }
__attribute__((noinline, noipa)) int no_throw(int a) noexcept { return a * 5; }
// ALL-DAG: {{^}}_Z8no_throwi: {{nop|push|stp}}
// NOP10-X86-DAG: {{^}}_Z8no_throwi: nop1+nop10 {{.*}} bound=4
// NOP10-X86-DAG: {{^}}_Z5twiceIiET_S0_: nop1+nop10
// FRAME-X86-DAG: {{^}}_Z8no_throwi: push {{.*}} | push %rbp; {{.*}}mov %rsp,%rbp
// FRAME-X86-DAG: {{^}}_Z7catcheri: push {{.*}} | push %rbp; {{.*}}mov %rsp,%rbp
// FRAME-ARM64-DAG: {{^}}_Z8no_throwi: stp {{.*}} | stp x29, x30, [sp, #-16]!
// CET-DAG: {{^}}_Z8no_throwi: nop1+nop10 lead={{0|4}} {{.*}} bound=4
// CET-DAG: {{^}}_ZN1C1gEi: nop1+nop10 lead=4 {{.*}} | endbr64; nop; cs nopw

struct Task {
    struct promise_type {
        int value = 0;
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
NOINLINE Task counter(int n) { for (int i = 0; i < n; i++) co_yield i; }

int global = twice(21); // a static initializer
int main(int argc, char **) {
    C c;
    A *a = &c;
    B *b = &c;
    __asm__ volatile("" : "+r"(a), "+r"(b));
    Task task = counter(3);
    int sum = 0;
    for (task.handle.resume(); !task.handle.done(); task.handle.resume()) sum += task.handle.promise().value;
    task.handle.destroy();
    std::vector<std::string> strings(3, "abc");
    return !(a->f(1) == 14 && b->g(1) == 6 && catcher(2) == 8 && catcher(3) == -1 && no_throw(2) == 10 && sum == 3 && global == 42 &&
             twice(std::string("a")) == "aa" && twice(argc) == 2 && strings.size() == 3);
}

// SPDX-License-Identifier: BSD-2-Clause
// Exits of what compilers make of C++, OpenMP and coroutines, and under options that change how functions are left: all of a
// function's, or none and a reason.
// REQUIRES: gcc
// RUN: %cxx -std=c++20 -O2 -fopenmp -finstrument-functions %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// RUN: %if x86-64 %{ %cxx -std=c++20 -O2 -fzero-call-used-regs=all -mharden-sls=all -mindirect-branch=thunk -mfunction-return=thunk %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %}
// RUN: %if x86-64 %{ rm -f %t.json && %cxx -std=c++20 -O2 -mcall-ms2sysv-xlogues %fp-exit=nop10 %fp-report=%t.json %s -o %t && %run %t && %entries --check-exits %t && grep '"function": "_Z5msabiiiiii".*"exits": 0.*"exit_reason": "a return restores registers by itself"' %t.json %}
// RUN: %if x86-64 %{ %if tsan %{ %cxx -std=c++20 -O2 -fsanitize=thread %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %} %}
// RUN: %if split-stack %{ %cxx -std=c++20 -O2 -fsplit-stack %fp-exit=nop10 %s -o %t && %run %t && %entries %t | %only-NONE %}
// NONE-NOT: exit:
#include <coroutine>
#include <stdexcept>
#include <vector>
#include <numeric>
#define KEEP __attribute__((noinline))
#ifdef __x86_64__
#define MS_ABI __attribute__((ms_abi))
#else
#define MS_ABI
#endif
struct Task { struct promise_type { int v = 0; Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
  std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; }
  std::suspend_always yield_value(int x) { v = x; return {}; } void return_void() {} void unhandled_exception() {} };
  std::coroutine_handle<promise_type> h; };
KEEP Task counter(int n) { for (int i = 0; i < n; i++) co_yield i; }
KEEP int parallel(int n) { int s = 0;
#pragma omp parallel for reduction(+:s)
  for (int i = 0; i < n; i++) s += i; return s; }
KEEP int thrower(int n) { if (n > 3) throw std::runtime_error("x"); return n; }
KEEP int catcher(int n) { try { return thrower(n); } catch (...) { return -1; } }
struct V { virtual int f(int a) { return a; } virtual ~V() {} }; struct W { virtual int g() { return 2; } virtual ~W() {} };
struct D : V, W { int f(int a) override { return a + 1; } int g() override { return 3; } };
KEEP int virt(W* w) { return w->g(); }
KEEP MS_ABI int msabi(int a, int b, int c, int d, int e) { return parallel(a) + b + c + d + e; }
KEEP int jumper(int x) { static const void* const to[] = {&&a, &&b, &&c}; goto *to[x]; a: return 5; b: return 7; c: return x; }
int main() { auto t = counter(3); int s = 0; while (!t.h.done()) { t.h.resume(); s += t.h.promise().v; } t.h.destroy(); D d; return !(s + parallel(5) + catcher(2) + catcher(5) + virt(&d) + msabi(1,2,3,4,5) + jumper(s % 3) > 0); }

/* SPDX-License-Identifier: BSD-2-Clause */
#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif
#define EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
extern "C" {
#endif
int other(int x);
EXPORT int matrix_run(int x);
extern const char* matrix_names[];
#ifdef __cplusplus
}
#endif

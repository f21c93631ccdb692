/* SPDX-License-Identifier: BSD-2-Clause
 * loader LIBRARY: runs the matrix program that was linked as a library. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*run)(int) = library ? (int (*)(int))dlsym(library, "matrix_run") : NULL;

    if (!run) {
        fprintf(stderr, "loader: %s\n", library || argc != 2 ? "no matrix_run" : dlerror());
        return 1;
    }
    return run(1) == 1 ? 0 : 1;
}

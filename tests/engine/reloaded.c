// Loads a library, calls it and unloads it again, for each line that it reads. Before l it does not unload it; before n the library's code
// is not executable for a time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    char line[2]; // and its end
    while (read(0, line, 2) == 2) {
        void* const library = dlopen("./reloaded.so", RTLD_NOW);
        int (*const work)(int) = (int (*)(int))dlsym(library, "work");
        int result = 0;
        if (line[0] == 'n')
            result = mprotect((void*)((uintptr_t)work & ~(uintptr_t)4095), 4096, PROT_READ);
        else
            result = work(3);
        if (line[0] == 'w')
            dlclose(library);
        printf("%c %d\n", line[0], result);
        fflush(stdout);
    }
    _exit(0); // what the library has for the end cannot run
}

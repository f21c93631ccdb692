// SPDX-License-Identifier: BSD-2-Clause
// Calls of many kinds of frames: what ustack(dwarf) has of them is in unwound.sh.
#define _GNU_SOURCE
#include <fastsdt.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")
static void use(void* p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}
/* With frame pointers it has one, since it has something in its frame. */
OWN void leaf(int i)
{
    char own[32];
    use(own);
    FASTSDT(app, hit, i);
    NO_TAIL_CALL;
}
/* Many registers are saved, and rbp has any number. */
OWN void plain(int i)
{
    long a = i, b = i + 1, c = i + 2, d = i + 3, e = i + 4, f = i + 5;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    leaf(i);
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}
OWN void large(int i)
{
    char big[100000];
    use(big);
    plain(i);
    NO_TAIL_CALL;
    use(big);
}
OWN void variable(int i)
{
    char v[i + 10];
    use(v);
    plain(i);
    NO_TAIL_CALL;
    use(v);
} /* a frame pointer */
OWN void aligned(int i)
{
    _Alignas(64) char own[64];
    char v[i + 10];
    use(own);
    use(v);
    plain(i);
    NO_TAIL_CALL;
    use(own);
    use(v);
}
OWN int compare(const void* a, const void* b)
{
    plain(0);
    NO_TAIL_CALL;
    return *(const int*)a - *(const int*)b;
}
OWN void sorts(void)
{
    int two[] = {2, 1};
    qsort(two, 2, sizeof two[0], compare);
    NO_TAIL_CALL;
}
OWN void handler(int number)
{
    plain(number);
    NO_TAIL_CALL;
}
OWN void raises(void)
{
    raise(SIGUSR1);
    NO_TAIL_CALL;
}
OWN void deep(int calls, int i)
{
    if (calls)
        deep(calls - 1, i);
    else
        plain(i);
    NO_TAIL_CALL;
}
OWN void all(void)
{
    plain(1);
    NO_TAIL_CALL;
    large(2);
    NO_TAIL_CALL;
    variable(3);
    NO_TAIL_CALL;
    aligned(4);
    NO_TAIL_CALL;
    sorts();
    NO_TAIL_CALL;
    raises();
    NO_TAIL_CALL;
    deep(3, 7);
    NO_TAIL_CALL;
}
OWN void* once(void* unused)
{
    all();
    NO_TAIL_CALL;
    return unused;
}
OWN void* on_own_stack(void* unused)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    raises();
    return unused;
}
static int stays; /* until something can be read */
OWN void library(const char* file)
{
    void* handle = dlopen(file, RTLD_NOW);
    void (*call)(void (*)(int));
    *(void**)&call = dlsym(handle, "call");
    call(leaf);
    for (struct pollfd in = {0, POLLIN, 0}; stays && poll(&in, 1, 1) == 0;)
        call(leaf);
    dlclose(handle);
}
int main(int argc, char** argv)
{
    const char* mode = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &act, NULL);
    if (strcmp(mode, "sort") == 0)
        sorts();
    if (strcmp(mode, "raise") == 0)
        raises();
    if (strcmp(mode, "deep") == 0)
        deep(count, 0);
    if (strcmp(mode, "") == 0)
        all();
    for (int i = 0; strcmp(mode, "library") == 0 && i < count; ++i)
        library(i % 2 ? "./libodd.so" : "./libeven.so");
    if (strcmp(mode, "stay") == 0) {
        stays = 1;
        library("./libeven.so");
    }
    if (strcmp(mode, "execute") == 0)
        for (int i = 0; i < count; ++i)
            if (fork() == 0) {
                execl("./app", "./app", (char*)NULL);
                _exit(1);
            }
    for (int i = 0; strcmp(mode, "fork") == 0 && i < count; ++i)
        if (fork() == 0) {
            all();
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    for (int done = 0; strncmp(mode, "thread", 6) == 0 && done < count; done += 10) {
        pthread_t some[10];
        for (int i = 0; i < 10; ++i)
            pthread_create(&some[i], NULL, strcmp(mode, "threads") == 0 ? once : on_own_stack, NULL);
        for (int i = 0; i < 10; ++i)
            pthread_join(some[i], NULL);
    }
    if (strcmp(mode, "made") == 0) { /* code that no file has: sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
        static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
        void* made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(made, code, sizeof code);
        ((void (*)(void (*)(int)))made)(leaf);
    }
    return 0;
}

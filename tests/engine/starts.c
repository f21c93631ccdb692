/* starts N FILE: executes FILE N times, one each millisecond, and waits for all. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
extern char** environ;
int main(int argc, char** argv)
{
    struct timespec at;
    pid_t pid;
    if (argc < 3 || clock_gettime(CLOCK_MONOTONIC, &at) < 0)
        return 2;
    for (int i = 0; i < atoi(argv[1]); ++i) {
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0)
            return 1;
        at.tv_nsec += 1000000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

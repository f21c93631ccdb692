// Works for each line that it reads, in a log too; then it says that it has finished, there.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) long work(long a, long b)
{
    __asm__ volatile("" : "+r"(a), "+r"(b));
    return a * 31 + b;
}

int main(int argc, char** argv)
{
    char line[64];
    long sum = 0;
    FILE* const pid = fopen("pid", "w");
    FILE* const log = fopen(argc > 1 ? argv[1] : "log", "w");
    if (!log || !pid || fprintf(pid, "%d\n", (int)getpid()) < 0 || fclose(pid) != 0)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        sum = work(sum, atol(line));
        fprintf(log, "%ld\n", sum);
        fflush(log);
    }
    fputs("finished\n", log);
    return fclose(log) != 0;
}

/* A server to be watched: "hit N" makes hits 0 .. N-1, and the answer is how many it has made so far. */
#include <fastsdt.h>
#include <stdio.h>
#include <string.h>

static __attribute__((noinline, noclone)) void hits(const char* shop, int n)
{
    for (int i = 0; i < n; ++i)
        FASTSDT(app, hit, i, shop);
}

int main(void)
{
    long made = 0;
    static const char* const shops[] = {"one", "two \"quoted\\\" \xff", "three\nlines"};
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (char line[64]; fgets(line, sizeof line, stdin);) {
        int n = 0;
        if (!strncmp(line, "quit", 4))
            return 0;
        if (sscanf(line, "hit %d", &n) == 1) {
            hits(shops[0], n);
            hits(shops[1], n);
            hits(shops[2], n);
            made += 3L * n;
        }
        printf("made %ld\n", made);
    }
    return 0;
}

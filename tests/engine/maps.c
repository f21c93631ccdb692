/* A program whose every hit is known: its probes' arguments are computed from the number of the hit. */
#include <fastsdt.h>
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
    /* Written here, since BPF cannot read a page that the program has not touched. */
    char names[4][80] = {"tea", "coffee", "",
                         "a longer name than any other, of more than sixty-three bytes, to be cut"};
    const int hits = argc > 1 ? atoi(argv[1]) : 100;

    for (int i = 0; i < hits; ++i) {
        const int number = i;
        const int difference = 20 - i; /* negative ones too */
        const int64_t square = (int64_t)i * i;
        const char* const name = names[i % 7 > 3 ? 0 : i % 7];

        FASTSDT(t, hit, number, difference, square, name);
        if (i % 3 == 0) {
            const unsigned char byte = (unsigned char)(i * 37);
            const short small = (short)(i * -701);
            const uint64_t large = 0x8000000000000000u + (uint64_t)i;
            FASTSDT(t, sizes, byte, small, large, 5);
        }
    }
    FASTSDT(t, done);
    return 0;
}

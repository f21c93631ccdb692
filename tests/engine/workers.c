// A program for which a thread of the kernel's works: io_uring's, which looks for what is submitted. Calls work() for each empty line that it reads.
#include <linux/io_uring.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) int work(int x)
{
    __asm__ volatile("");
    return 3 * x + 1;
}

int main(void)
{
    struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000000};
    if (syscall(SYS_io_uring_setup, 8, &parameters) < 0)
        return 77;
    for (char end; read(0, &end, 1) == 1;) {
        printf("%s\n", work(3) == 10 ? "did" : "wrong");
        fflush(stdout);
    }
    return 0;
}

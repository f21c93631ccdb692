/* A server of one master and 99 workers, which are asked without a pause: "go", then "quiet" (answers how often they were asked, what was
   wrong, and how many semaphores are up) as often as wanted. A worker waits in epoll_wait(), and takes EINTR for wrong. The end of the input ends it. */
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <errno.h>
#include <fastsdt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
enum { workers = 99, hits = 20 };
struct worker {
    long asked, wrong;
    int active; /* its copy of the semaphore */
};
static struct worker* all;

static __attribute__((noinline, noclone)) long serve(long n)
{
    const char* const kinds[] = {"get", "set", "del"};
    long sum = 0;
    for (int i = 0; i < hits; ++i) {
        sum += n + i;
        FASTSDT_WITH(default, implicit, tree, serve, i, kinds[i % 3], sum);
    }
    return sum;
}

static void work(struct worker* self, int fd)
{
    const int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    char byte;
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    for (;;) {
        if (epoll_wait(poll, &event, 1, -1) != 1) {
            ++self->wrong;
            continue;
        }
        if (read(fd, &byte, 1) != 1)
            _exit(0);
        ++self->asked;
        if (serve(self->asked) != hits * self->asked + hits * (hits - 1) / 2)
            ++self->wrong;
        self->active = FASTSDT_IS_ACTIVE(tree, serve);
        if (write(fd, "", 1) != 1)
            _exit(1);
    }
}

int main(void)
{
    int to[workers];
    all = mmap(NULL, workers * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < workers; ++i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
            return 1;
        if (fork() == 0) {
            for (int k = 0; k < i; ++k)
                close(to[k]);
            close(ends[0]);
            work(&all[i], ends[1]);
        }
        close(ends[1]);
        to[i] = ends[0];
    }
    const int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = 0};
    epoll_ctl(poll, EPOLL_CTL_ADD, 0, &event);
    char line[16], byte;
    long wrong = 0;
    for (int running = 0;;) {
        const int waiting = epoll_wait(poll, &event, 1, running ? 0 : -1);
        wrong += waiting < 0;
        if (waiting > 0) {
            const ssize_t length = read(0, line, sizeof line);
            if (length <= 0)
                break;
            running = line[0] == 'g';
            if (running) {
                puts("running");
            } else {
                for (int i = 0; i < workers; ++i) /* once more, so that each has looked at its semaphore */
                    if (write(to[i], "", 1) != 1 || read(to[i], &byte, 1) != 1)
                        ++wrong;
                long asked = 0, bad = wrong, active = FASTSDT_IS_ACTIVE(tree, serve);
                for (int i = 0; i < workers; ++i) {
                    asked += all[i].asked;
                    bad += all[i].wrong;
                    active += all[i].active;
                }
                printf("quiet %ld %ld %ld\n", asked, bad, active);
            }
            fflush(stdout);
        }
        for (int i = 0; running && i < workers; ++i)
            wrong += write(to[i], "", 1) != 1;
        for (int i = 0; running && i < workers; ++i)
            wrong += read(to[i], &byte, 1) != 1;
        serve(0);
    }
    for (int i = 0; i < workers; ++i)
        close(to[i]);
    for (int status; wait(&status) > 0;)
        wrong += status != 0;
    return wrong != 0;
}

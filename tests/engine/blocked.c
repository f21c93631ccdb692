/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program with a thread in each system call that waits, for ever: those that fail with EINTR after any interruption, and those
 * that the kernel begins again. Its first thread waits for commands in epoll_wait. It says "ready" and answers by one line:
 *
 *     calls           "calls N": how many threads wait
 *     signal ROUNDS   as often each thread gets a signal while it is in its call, and has to return: "signalled"
 *     report          "returned N:" and the calls that did return, each with the number of times and the last error
 *
 * The signal's handler is set without SA_RESTART, so each of these calls has to fail with EINTR after it.
 */
#define _GNU_SOURCE
#include <fastsdt.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600

static const struct timespec hour = {HOUR, 0}; /* read-only: the kernel cannot store there what is left of it */

/* What a waiting call works on; made by its thread before the first call. */
struct ground {
    int fd, other;
    long id;
    char* name;
};

static void must(int fine, const char* what)
{
    if (fine)
        return;
    perror(what);
    _exit(1);
}

static void timeouts(int fd)
{
    const struct timeval t = {HOUR, 0};
    must(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0, "SO_RCVTIMEO");
    must(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) == 0, "SO_SNDTIMEO");
}

static void fill(int fd)
{
    static const char page[4096];
    const int flags = fcntl(fd, F_GETFL);
    must(fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0, "O_NONBLOCK");
    while (write(fd, page, sizeof page) > 0) {}
    while (write(fd, page, 1) > 0) {}
    fcntl(fd, F_SETFL, flags);
}

static void g_none(struct ground* g)
{
    (void)g;
}
static void g_pair(struct ground* g)
{
    int fds[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
    g->fd = fds[0];
    g->other = fds[1];
}
static void g_timed_pair(struct ground* g)
{
    g_pair(g);
    timeouts(g->fd);
}
static void g_full_pair(struct ground* g)
{
    g_timed_pair(g);
    fill(g->fd);
}
static void g_pipe(struct ground* g)
{
    int fds[2];
    must(pipe(fds) == 0, "pipe");
    g->fd = fds[0];
    g->other = fds[1];
}
static void g_full_pipe(struct ground* g)
{
    g_pipe(g);
    fill(g->other);
}
static void g_listener(struct ground* g)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    g->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(g->fd >= 0 && bind(g->fd, (struct sockaddr*)&a, sizeof a.sun_family) == 0 && listen(g->fd, 0) == 0, "listen");
}
static void g_timed_listener(struct ground* g)
{
    g_listener(g);
    timeouts(g->fd);
}
static struct sockaddr_un address_of(int fd, socklen_t* length)
{
    struct sockaddr_un a;
    *length = sizeof a;
    must(getsockname(fd, (struct sockaddr*)&a, length) == 0, "getsockname");
    return a;
}
static void g_connect(struct ground* g) /* the other's queue is full */
{
    socklen_t length;
    g_listener(g);
    struct sockaddr_un a = address_of(g->fd, &length);
    int fd;
    do {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        must(fd >= 0, "socket");
    } while (connect(fd, (struct sockaddr*)&a, length) == 0);
    close(fd);
    g->other = socket(AF_UNIX, SOCK_STREAM, 0);
    timeouts(g->other);
}
static void g_epoll(struct ground* g)
{
    must((g->fd = epoll_create1(0)) >= 0, "epoll_create1");
}
static void g_semaphore(struct ground* g)
{
    must((g->id = semget(IPC_PRIVATE, 1, 0600)) >= 0, "semget");
}
static void g_queue(struct ground* g)
{
    must((g->id = msgget(IPC_PRIVATE, 0600)) >= 0, "msgget");
}
struct message {
    long type;
    char text[1024];
};
static void g_full_queue(struct ground* g)
{
    const struct message m = {.type = 1};
    g_queue(g);
    while (msgsnd((int)g->id, &m, sizeof m.text, IPC_NOWAIT) == 0) {}
}
static void g_mq(struct ground* g)
{
    struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char name[32];
    snprintf(name, sizeof name, "/blocked-%d-%d", (int)getpid(), (int)gettid());
    must((g->fd = mq_open(name, O_RDWR | O_CREAT, 0600, &a)) >= 0, "mq_open");
    mq_unlink(name);
}
static void g_full_mq(struct ground* g)
{
    g_mq(g);
    must(mq_send(g->fd, "x", 1, 0) == 0, "mq_send");
}
static void g_aio(struct ground* g)
{
    aio_context_t context = 0;
    must(syscall(SYS_io_setup, 4, &context) == 0, "io_setup");
    g->id = (long)context;
}
static void g_uring(struct ground* g)
{
    struct io_uring_params p = {0};
    g->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
}
static void g_inotify(struct ground* g)
{
    must((g->fd = inotify_init()) >= 0, "inotify_init");
}
static void g_eventfd(struct ground* g)
{
    must((g->fd = eventfd(0, 0)) >= 0, "eventfd");
}
static void g_timerfd(struct ground* g)
{
    must((g->fd = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0, "timerfd_create");
}
static void g_signalfd(struct ground* g)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    must((g->fd = signalfd(-1, &set, 0)) >= 0, "signalfd");
}
static int temporary(void)
{
    const int fd = memfd_create("blocked", 0);
    must(fd >= 0, "memfd_create");
    return fd;
}
static void g_flock(struct ground* g) /* of another open of the file */
{
    char path[64];
    g->other = temporary();
    snprintf(path, sizeof path, "/proc/self/fd/%d", g->other);
    g->fd = open(path, O_RDWR);
    must(flock(g->other, LOCK_EX) == 0, "flock");
}
static void g_record_lock(struct ground* g)
{
    struct flock lock = {.l_type = F_WRLCK};
    g_flock(g);
    must(fcntl(g->other, F_OFD_SETLK, &lock) == 0, "F_OFD_SETLK");
}
static void g_fifo(struct ground* g) /* by a name that needs no tidying up */
{
    char name[64];
    snprintf(name, sizeof name, "/tmp/blocked-%d-%d", (int)getpid(), (int)gettid());
    must(mkfifo(name, 0600) == 0, "mkfifo");
    must((g->fd = open(name, O_PATH)) >= 0, name);
    unlink(name);
    must(asprintf(&g->name, "/proc/self/fd/%d", g->fd) > 0, "asprintf");
}
static void g_child(struct ground* g)
{
    g->id = fork();
    must(g->id >= 0, "fork");
    if (g->id == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
}
static void g_two_pipes(struct ground* g)
{
    int fds[2];
    g_pipe(g);
    must(pipe(fds) == 0, "pipe");
    g->id = fds[1];
}

static char buffer[128];
static struct iovec vector = {buffer, sizeof buffer};
static int never; /* the futex */

#define CALL(name, ...)                                                                                                \
    static long c_##name(struct ground* g)                                                                             \
    {                                                                                                                  \
        (void)g;                                                                                                       \
        return __VA_ARGS__;                                                                                            \
    }
CALL(read_timed, syscall(SYS_read, g->fd, buffer, 1))
CALL(write_timed, syscall(SYS_write, g->fd, buffer, 1))
CALL(recvfrom_timed, syscall(SYS_recvfrom, g->fd, buffer, 1, 0, 0, 0))
CALL(sendto_timed, syscall(SYS_sendto, g->fd, buffer, 1, 0, 0, 0))
CALL(recvmsg_timed, recvmsg(g->fd, &(struct msghdr){.msg_iov = &vector, .msg_iovlen = 1}, 0))
CALL(sendmsg_timed, sendmsg(g->fd, &(struct msghdr){.msg_iov = &vector, .msg_iovlen = 1}, 0))
CALL(recvmmsg_timed, recvmmsg(g->fd, &(struct mmsghdr){{.msg_iov = &vector, .msg_iovlen = 1}, 0}, 1, 0, NULL))
CALL(sendmmsg_timed, sendmmsg(g->fd, &(struct mmsghdr){{.msg_iov = &vector, .msg_iovlen = 1}, 0}, 1, 0))
CALL(accept_timed, syscall(SYS_accept, g->fd, 0, 0))
CALL(accept4_timed, syscall(SYS_accept4, g->fd, 0, 0, 0))
static long c_connect_timed(struct ground* g)
{
    socklen_t length;
    struct sockaddr_un a = address_of(g->fd, &length);
    return connect(g->other, (struct sockaddr*)&a, length);
}
static struct sembuf down = {0, -1, 0};
CALL(semop, semop((int)g->id, &down, 1))
CALL(semtimedop, semtimedop((int)g->id, &down, 1, &hour))
static long sigwait_usr2(const struct timespec* timeout)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return syscall(SYS_rt_sigtimedwait, &set, NULL, timeout, 8);
}
CALL(sigtimedwait, sigwait_usr2(&hour))
CALL(sigwaitinfo, sigwait_usr2(NULL))
static struct io_event events[1];
CALL(io_getevents, syscall(SYS_io_getevents, g->id, 1, 1, events, NULL))
#ifdef SYS_io_pgetevents
CALL(io_pgetevents, syscall(SYS_io_pgetevents, g->id, 1, 1, events, NULL, NULL))
#endif
static struct epoll_event polled[1];
#ifdef SYS_epoll_wait
CALL(epoll_wait, syscall(SYS_epoll_wait, g->fd, polled, 1, -1))
CALL(epoll_wait_timed, syscall(SYS_epoll_wait, g->fd, polled, 1, HOUR * 1000))
#endif
CALL(epoll_pwait, syscall(SYS_epoll_pwait, g->fd, polled, 1, -1, NULL, 8))
CALL(epoll_pwait2, syscall(441, g->fd, polled, 1, &hour, NULL, 8))
CALL(pselect6, syscall(SYS_pselect6, 0, NULL, NULL, NULL, NULL, NULL))
CALL(pselect6_timed, syscall(SYS_pselect6, 0, NULL, NULL, NULL, &hour, NULL))
CALL(ppoll, syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8))
CALL(ppoll_timed, syscall(SYS_ppoll, NULL, 0, &hour, NULL, 8))
CALL(io_uring_enter, syscall(SYS_io_uring_enter, g->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0))
/* Begun again by the kernel. */
#ifdef SYS_poll
CALL(poll, syscall(SYS_poll, NULL, 0, -1))
CALL(poll_timed, syscall(SYS_poll, NULL, 0, HOUR * 1000))
CALL(select, syscall(SYS_select, 0, NULL, NULL, NULL, NULL))
CALL(pause, syscall(SYS_pause))
#endif
CALL(read_pipe, syscall(SYS_read, g->fd, buffer, sizeof buffer))
CALL(write_pipe, syscall(SYS_write, g->other, buffer, 1))
CALL(readv_pipe, syscall(SYS_readv, g->fd, &vector, 1))
CALL(splice, syscall(SYS_splice, g->fd, NULL, (int)g->id, NULL, 1, 0))
CALL(tee, syscall(SYS_tee, g->fd, (int)g->id, 1, 0))
CALL(nanosleep, nanosleep(&hour, NULL))
CALL(clock_nanosleep, syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &hour, NULL))
CALL(clock_nanosleep_absolute,
     syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &(struct timespec){1L << 33, 0}, NULL))
CALL(futex, syscall(SYS_futex, &never, FUTEX_WAIT, 0, NULL, NULL, 0))
CALL(futex_timed, syscall(SYS_futex, &never, FUTEX_WAIT, 0, &hour, NULL, 0))
CALL(wait4, syscall(SYS_wait4, g->id, NULL, 0, NULL))
CALL(waitid, syscall(SYS_waitid, P_PID, g->id, NULL, WEXITED, NULL))
static long c_sigsuspend(struct ground* g)
{
    const unsigned long none = 0;
    (void)g;
    return syscall(SYS_rt_sigsuspend, &none, 8);
}
CALL(flock, syscall(SYS_flock, g->fd, LOCK_EX))
CALL(record_lock, syscall(SYS_fcntl, g->fd, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK}))
static struct message received;
CALL(msgrcv, msgrcv((int)g->id, &received, sizeof received.text, 0, 0))
CALL(msgsnd, msgsnd((int)g->id, &(struct message){.type = 1}, 1024, 0))
CALL(mq_timedreceive, syscall(SYS_mq_timedreceive, g->fd, buffer, 8, NULL, &(struct timespec){1L << 33, 0}))
CALL(mq_timedsend, syscall(SYS_mq_timedsend, g->fd, buffer, 1, 0, &(struct timespec){1L << 33, 0}))
CALL(openat_fifo, syscall(SYS_openat, AT_FDCWD, g->name, O_RDONLY))

static const struct kind {
    const char* name;
    long number;
    void (*prepare)(struct ground*);
    long (*call)(struct ground*);
} kinds[] = {
    {"read with SO_RCVTIMEO", SYS_read, g_timed_pair, c_read_timed},
    {"write with SO_SNDTIMEO", SYS_write, g_full_pair, c_write_timed},
    {"recvfrom with SO_RCVTIMEO", SYS_recvfrom, g_timed_pair, c_recvfrom_timed},
    {"sendto with SO_SNDTIMEO", SYS_sendto, g_full_pair, c_sendto_timed},
    {"recvmsg with SO_RCVTIMEO", SYS_recvmsg, g_timed_pair, c_recvmsg_timed},
    {"sendmsg with SO_SNDTIMEO", SYS_sendmsg, g_full_pair, c_sendmsg_timed},
    {"recvmmsg with SO_RCVTIMEO", SYS_recvmmsg, g_timed_pair, c_recvmmsg_timed},
    {"sendmmsg with SO_SNDTIMEO", SYS_sendmmsg, g_full_pair, c_sendmmsg_timed},
    {"accept with SO_RCVTIMEO", SYS_accept, g_timed_listener, c_accept_timed},
    {"accept4 with SO_RCVTIMEO", SYS_accept4, g_timed_listener, c_accept4_timed},
    {"connect with SO_SNDTIMEO", SYS_connect, g_connect, c_connect_timed},
#ifdef SYS_semop
    {"semop", -1, g_semaphore, c_semop}, /* -1: the C library chooses the call */
#endif
    {"semtimedop", SYS_semtimedop, g_semaphore, c_semtimedop},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait, g_none, c_sigtimedwait},
    {"rt_sigtimedwait without time-out", SYS_rt_sigtimedwait, g_none, c_sigwaitinfo},
    {"io_getevents", SYS_io_getevents, g_aio, c_io_getevents},
#ifdef SYS_io_pgetevents
    {"io_pgetevents", SYS_io_pgetevents, g_aio, c_io_pgetevents},
#endif
#ifdef SYS_epoll_wait
    {"epoll_wait", SYS_epoll_wait, g_epoll, c_epoll_wait},
    {"epoll_wait with time-out", SYS_epoll_wait, g_epoll, c_epoll_wait_timed},
#endif
    {"epoll_pwait", SYS_epoll_pwait, g_epoll, c_epoll_pwait},
    {"epoll_pwait2", 441, g_epoll, c_epoll_pwait2},
    {"pselect6", SYS_pselect6, g_none, c_pselect6},
    {"pselect6 with read-only time-out", SYS_pselect6, g_none, c_pselect6_timed},
    {"ppoll", SYS_ppoll, g_none, c_ppoll},
    {"ppoll with read-only time-out", SYS_ppoll, g_none, c_ppoll_timed},
    {"io_uring_enter", SYS_io_uring_enter, g_uring, c_io_uring_enter},
#ifdef SYS_poll
    {"poll", SYS_poll, g_none, c_poll},
    {"poll with time-out", SYS_poll, g_none, c_poll_timed},
    {"select", SYS_select, g_none, c_select},
    {"pause", SYS_pause, g_none, c_pause},
#endif
    {"read of a pipe", SYS_read, g_pipe, c_read_pipe},
    {"write to a full pipe", SYS_write, g_full_pipe, c_write_pipe},
    {"readv of a pipe", SYS_readv, g_pipe, c_readv_pipe},
    {"read of a socket", SYS_read, g_pair, c_read_timed},
    {"accept", SYS_accept, g_listener, c_accept_timed},
    {"read of inotify", SYS_read, g_inotify, c_read_timed},
    {"read of an eventfd", SYS_read, g_eventfd, c_read_pipe},
    {"read of a timerfd", SYS_read, g_timerfd, c_read_pipe},
    {"read of a signalfd", SYS_read, g_signalfd, c_read_pipe},
    {"splice", SYS_splice, g_two_pipes, c_splice},
    {"tee", SYS_tee, g_two_pipes, c_tee},
    {"nanosleep", -1, g_none, c_nanosleep},
    {"clock_nanosleep", SYS_clock_nanosleep, g_none, c_clock_nanosleep},
    {"clock_nanosleep, absolute", SYS_clock_nanosleep, g_none, c_clock_nanosleep_absolute},
    {"futex", SYS_futex, g_none, c_futex},
    {"futex with time-out", SYS_futex, g_none, c_futex_timed},
    {"wait4", SYS_wait4, g_child, c_wait4},
    {"waitid", SYS_waitid, g_child, c_waitid},
    {"rt_sigsuspend", SYS_rt_sigsuspend, g_none, c_sigsuspend},
    {"flock", SYS_flock, g_flock, c_flock},
    {"fcntl(F_OFD_SETLKW)", SYS_fcntl, g_record_lock, c_record_lock},
    {"msgrcv", -1, g_queue, c_msgrcv},
    {"msgsnd", -1, g_full_queue, c_msgsnd},
    {"mq_timedreceive", SYS_mq_timedreceive, g_mq, c_mq_timedreceive},
    {"mq_timedsend", SYS_mq_timedsend, g_full_mq, c_mq_timedsend},
    {"openat of a FIFO", SYS_openat, g_fifo, c_openat_fifo},
};
enum { count = sizeof kinds / sizeof kinds[0] };

static struct {
    struct ground ground;
    atomic_int tid, returned, error;
} state[count];

static void on_signal(int number)
{
    (void)number;
}

static void* waiter(void* which)
{
    const long i = (long)which;
    kinds[i].prepare(&state[i].ground);
    state[i].tid = (int)syscall(SYS_gettid);
    for (;;) {
        const long result = kinds[i].call(&state[i].ground);
        state[i].error = result < 0 ? errno : 0;
        ++state[i].returned;
        if (state[i].error != EINTR)
            for (;;)
                pause();
    }
    return NULL;
}

/* Asleep in the call. Of a thread that runs, or of one that is in none, the file says something else. */
static void await_call(int i)
{
    char path[64], text[256];
    long number;
    for (;;) {
        if (state[i].returned && state[i].error != EINTR)
            return; /* it waits no more */
        snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)state[i].tid);
        FILE* file = state[i].tid ? fopen(path, "r") : NULL;
        const int fine = file && fgets(text, sizeof text, file) && sscanf(text, "%ld", &number) == 1;
        if (file)
            fclose(file);
        if (fine
            && (number == kinds[i].number || number == SYS_restart_syscall || (kinds[i].number < 0 && number >= 0)))
            return;
        sched_yield();
    }
}

static pthread_t threads[count];

static void signal_all(void)
{
    int before[count];
    for (int i = 0; i < count; ++i) {
        await_call(i);
        before[i] = state[i].returned;
        pthread_kill(threads[i], SIGUSR1);
    }
    for (int i = 0; i < count; ++i)
        while (state[i].returned == before[i] && state[i].error == (before[i] ? EINTR : 0))
            sched_yield();
}

static void* commands(void* unused)
{
    char line[64];
    const int epoll = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN};
    int early = 0;

    (void)unused;
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &e);
    for (;;) {
        if (epoll_wait(epoll, &e, 1, -1) < 0) {
            ++early;
            continue;
        }
        size_t length = 0;
        while (length + 1 < sizeof line && read(0, line + length, 1) == 1 && line[length] != '\n')
            ++length;
        if (length == 0)
            break;
        line[length] = 0;
        int rounds = 0;
        if (sscanf(line, "signal %d", &rounds) == 1) {
            for (int r = 0; r < rounds; ++r)
                signal_all();
            puts("signalled");
        } else if (!strcmp(line, "calls")) {
            printf("calls %d\n", (int)count);
        } else if (!strcmp(line, "report")) {
            int all = early;
            for (int i = 0; i < count; ++i)
                all += state[i].returned;
            printf("returned %d:", all);
            if (early)
                printf(" the first thread's epoll_wait (%d)", early);
            for (int i = 0; i < count; ++i)
                if (state[i].returned)
                    printf("%s %s (%d, %s)", i ? "," : "", kinds[i].name, (int)state[i].returned,
                           state[i].error == EINTR ? "EINTR" : strerror(state[i].error));
            puts("");
        }
        FASTSDT(blocked, answered);
    }
    _exit(0);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t usr2;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    for (long i = 0; i < count; ++i)
        must(pthread_create(&threads[i], NULL, waiter, (void*)i) == 0, "pthread_create");
    for (int i = 0; i < count; ++i)
        await_call(i);
    puts("ready");
    commands(NULL);
    return 0;
}

// For executes.sh. app: passes its probe in a constructor and as often as its argument says. Otherwise executes ./app in a way of its own:
//     watch    as a child's parent that wants to hear of each stop: prints what it has heard
//     thread   by another thread than the first
//     vfork, spawn, fails
//     asked    by a child, when it has read a line; ends when it has read another
#define _GNU_SOURCE
#include <errno.h>
#include <fastsdt.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static char* words[] = {"./app", "9", NULL};

__attribute__((constructor)) static void early(void)
{
    if (strcmp(program_invocation_short_name, "app") == 0)
        FASTSDT(app, tick, 0);
}

static volatile int stops;
static void child_signal(int number, siginfo_t* info, void* context)
{
    stops += info->si_code == CLD_STOPPED || info->si_code == CLD_TRAPPED || info->si_code == CLD_CONTINUED;
}
static int watched(void)
{
    struct sigaction act = {.sa_sigaction = child_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGCHLD, &act, NULL);
    const pid_t child = fork();
    if (child == 0) {
        execv(words[0], words);
        _exit(127);
    }
    for (int status;;)
        if (waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
            if (WIFEXITED(status) || WIFSIGNALED(status)) {
                printf("%d stops, status %#x\n", stops, status);
                return 0;
            }
            ++stops;
        }
}

static void* executes(void* unused)
{
    execv(words[0], words);
    return unused;
}

int main(int count, char** arguments)
{
    const char* const how = count > 1 ? arguments[1] : "0";
    if (strcmp(how, "watch") == 0)
        return watched();
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, executes, NULL);
        for (;;)
            pause();
    }
    if (strcmp(how, "vfork") == 0) {
        if (vfork() == 0) {
            execv(words[0], words);
            _exit(127);
        }
        return wait(NULL) < 0;
    }
    if (strcmp(how, "spawn") == 0 || strcmp(how, "asked") == 0) {
        pid_t child;
        char line[16];
        if (how[0] == 'a' && (puts("reads") < 0 || fflush(stdout) || !fgets(line, sizeof line, stdin)))
            return 1;
        if (posix_spawn(&child, words[0], NULL, NULL, words, environ) || waitpid(child, NULL, 0) != child)
            return 1;
        return how[0] == 'a' && (puts("did") < 0 || fflush(stdout) || !fgets(line, sizeof line, stdin));
    }
    if (strcmp(how, "fails") == 0) { // the process lives on, and its second try has what it needs
        char* nothing[] = {"./nothing", NULL};
        printf("%d, errno %d\n", execv(nothing[0], nothing), errno);
        fflush(stdout);
        return execv(words[0], words);
    }
    for (int i = 0; i < atoi(how); ++i)
        FASTSDT(app, tick, i);
    return 0;
}

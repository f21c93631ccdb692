// SPDX-License-Identifier: BSD-2-Clause
// The init of a test guest: mounts what uprobes need, runs the lines of /commands, and of /commands.kernel if one kernel has
// more, one after the other and ends.
//
// A line is `NAME INPUT PROGRAM [ARGUMENTS...]`: standard input comes from the file INPUT, every line of standard output is
// printed to the console as `@NAME line`, and the end as `@NAME exit STATUS`, with "# NAME took SECONDS" in front of it. Other lines are the kernel's.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run(char* line)
{
    const double begin = now();
    char* words[32];
    int n = 0, ends[2], status = -1;
    for (char* word = strtok(line, " \n"); word && n < 31; word = strtok(NULL, " \n"))
        words[n++] = word;
    words[n] = NULL;
    if (n < 3 || pipe(ends) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        int input = open(words[1], O_RDONLY);
        dup2(input, 0);
        dup2(ends[1], 1);
        close(input);
        close(ends[0]);
        close(ends[1]);
        execv(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    close(ends[1]);
    FILE* out = fdopen(ends[0], "r");
    char text[4096];
    while (fgets(text, sizeof text, out))
        printf("@%s %s%s", words[0], text, strchr(text, '\n') ? "" : "\n");
    fclose(out);
    waitpid(child, &status, 0);
    printf("# %s took %.1f\n", words[0], now() - begin);
    printf("@%s exit %d\n", words[0], WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(void)
{
    mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir("/tmp", 0777);
    mount("proc", "/proc", "proc", 0, "");
    mount("sysfs", "/sys", "sysfs", 0, "");
    mount("devtmpfs", "/dev", "devtmpfs", 0, "");
    mount("tmpfs", "/tmp", "tmpfs", 0, "");
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "");
    mount("bpf", "/sys/fs/bpf", "bpf", 0, "");
    int console = open("/dev/console", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(console, fd);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("PATH", "/bin", 1);
    struct utsname name;
    uname(&name);
    printf("@guest release %s\n", name.release);
    const char* const files[] = {"/commands", "/commands.kernel"};
    for (int i = 0; i < 2; i++) {
        FILE* commands = fopen(files[i], "r");
        char line[4096];
        while (commands && fgets(line, sizeof line, commands))
            run(line);
    }
    printf("@guest done\n");
    sync();
    reboot(RB_AUTOBOOT); // QEMU ends then (-no-reboot); a small kernel cannot switch it off
    return 1;
}

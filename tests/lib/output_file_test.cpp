// SPDX-License-Identifier: BSD-2-Clause
// Who may read and run what the tools write: the kernel's own answers, by stat and by trying.
#include "base/output_file.h"
#include "base/unusable.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <iterator>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

using fastsdt::OutputFile;
using fastsdt::Unusable;

namespace {

class OutputFileTest : public testing::Test {
protected:
    OutputFileTest()
    {
        // Other users have to reach it, which a build below /root does not allow, and it has to keep all attributes.
        std::string name = "/var/tmp/output_file_test.XXXXXX";
        directory_ = mkdtemp(name.data());
    }
    ~OutputFileTest() override { std::filesystem::remove_all(directory_); }

    std::string at(const std::string& name) const { return directory_ + '/' + name; }
    static void put(const std::string& path, const std::string& contents) { std::ofstream(path) << contents; }
    static std::string get(const std::string& path)
    {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static struct stat status(const std::string& path)
    {
        struct stat status{};
        EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
        return status;
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(directory_))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }
    static void replace(OutputFile& out, const std::string& source, const std::string& contents)
    {
        const int like = open(source.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(like, 0);
        try {
            out.write(std::as_bytes(std::span(contents)), like);
        } catch (...) {
            close(like);
            throw;
        }
        close(like);
    }
    static std::string refusal(const std::function<void()>& what)
    {
        try {
            what();
        } catch (const Unusable& error) {
            return error.what();
        }
        return "";
    }
    // Runs `what` as an ordinary user; returns the exit status.
    static int as_user(uid_t user, const std::function<void()>& what)
    {
        const pid_t child = fork();
        if (child == 0) {
            if (setgid(user) != 0 || setuid(user) != 0)
                _exit(100);
            try {
                what();
            } catch (const std::exception& error) {
                fprintf(stderr, "%s\n", error.what());
                _exit(1);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    std::string directory_;
};

TEST_F(OutputFileTest, KeepsTheMode)
{
    put(at("a"), "old");
    chmod(at("a").c_str(), 04751);
    OutputFile out(at("a"));
    replace(out, at("a"), "new");
    EXPECT_EQ(get(at("a")), "new");
    EXPECT_EQ(status(at("a")).st_mode & 07777, 04751u);
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

// Somebody else's set-user-id program, read by us, must not become a set-user-id program of ours.
TEST_F(OutputFileTest, DropsSetUserIdWhereTheOwnerDiffers)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root to make files of two users";
    put(at("theirs"), "code");
    ASSERT_EQ(chown(at("theirs").c_str(), 1500, 1500), 0);
    ASSERT_EQ(chmod(at("theirs").c_str(), 06755), 0);
    ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
    ASSERT_EQ(as_user(2500,
                      [&] {
                          OutputFile out(at("ours"));
                          replace(out, at("theirs"), "code");
                      }),
              0);
    EXPECT_EQ(status(at("ours")).st_uid, 2500u);
    EXPECT_EQ(status(at("ours")).st_mode & 07777, 0755u);
    // Root can give files away: then the bits stay.
    OutputFile out(at("roots"));
    replace(out, at("theirs"), "code");
    EXPECT_EQ(status(at("roots")).st_uid, 1500u);
    EXPECT_EQ(status(at("roots")).st_mode & 07777, 06755u);
}

// The ACL as the kernel stores it: version 2, then tag, permissions and id of each entry.
std::string acl_denying(uint32_t user)
{
    struct Entry {
        uint16_t tag, permissions;
        uint32_t id;
    };
    const Entry entries[] = {{1, 6, ~0u}, {2, 0, user}, {4, 4, ~0u}, {16, 4, ~0u}, {32, 4, ~0u}};
    std::string value("\2\0\0\0", 4);
    value.append(reinterpret_cast<const char*>(entries), sizeof entries);
    return value;
}

TEST_F(OutputFileTest, KeepsAccessControlLists)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    put(at("a"), "old");
    const std::string acl = acl_denying(2500);
    if (setxattr(at("a").c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0)
        GTEST_SKIP() << "this file system has no ACLs";
    ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
    const auto readable = [&] { return as_user(2500, [&] { _exit(open(at("a").c_str(), O_RDONLY) >= 0 ? 0 : 3); }); };
    ASSERT_EQ(readable(), 3);
    OutputFile out(at("a"));
    replace(out, at("a"), "new");
    EXPECT_EQ(readable(), 3) << "the new file lets in whom the old one kept out";
}

// A directory's default ACL is given to every new file in it: also to ours, where the old file had none.
TEST_F(OutputFileTest, TakesNoDefaultAclFromTheDirectory)
{
    put(at("a"), "old");
    chmod(at("a").c_str(), 0640);
    std::string acl = acl_denying(2500);
    acl[4 + 8 + 2] = 6; // let the user in
    if (setxattr(directory_.c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0) != 0)
        GTEST_SKIP() << "this file system has no ACLs";
    OutputFile out(at("a"));
    replace(out, at("a"), "new");
    EXPECT_LT(getxattr(at("a").c_str(), "system.posix_acl_access", nullptr, 0), 0);
    EXPECT_EQ(status(at("a")).st_mode & 07777, 0640u);
}

// VFS_CAP_REVISION_2, cap_net_raw permitted and effective.
constexpr unsigned char capability[20] = {1, 0, 0, 2, 0, 0x20};

TEST_F(OutputFileTest, KeepsFileCapabilitiesOrRefuses)
{
    put(at("a"), "old");
    if (setxattr(at("a").c_str(), "security.capability", capability, sizeof capability, 0) != 0)
        GTEST_SKIP() << "cannot set file capabilities here";
    OutputFile out(at("a"));
    replace(out, at("a"), "new");
    unsigned char kept[sizeof capability] = {};
    ASSERT_EQ(getxattr(at("a").c_str(), "security.capability", kept, sizeof kept), ssize_t(sizeof capability));
    EXPECT_EQ(memcmp(kept, capability, sizeof kept), 0);
    // A user who may not set them is refused, and the file stays.
    ASSERT_EQ(chown(directory_.c_str(), 2500, 2500), 0);
    EXPECT_EQ(as_user(2500,
                      [&] {
                          OutputFile mine(at("b"));
                          replace(mine, at("a"), "newer");
                      }),
              1);
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(OutputFileTest, FollowsASymbolicLinkOnce)
{
    put(at("one"), "1");
    put(at("two"), "2");
    std::filesystem::create_symlink("one", at("link"));
    OutputFile out(at("link"));
    // Flipped after the file was read.
    std::filesystem::remove(at("link"));
    std::filesystem::create_symlink("two", at("link"));
    replace(out, out.path(), "new");
    EXPECT_EQ(get(at("one")), "new");
    EXPECT_EQ(get(at("two")), "2");
    EXPECT_TRUE(S_ISLNK(status(at("link")).st_mode));
}

TEST_F(OutputFileTest, RefusesAFileThatWasRebuiltMeanwhile)
{
    put(at("a"), "old");
    OutputFile out(at("a"));
    const int like = open(at("a").c_str(), O_RDONLY | O_CLOEXEC);
    put(at("built"), "rebuilt");
    std::filesystem::rename(at("built"), at("a"));
    const std::string contents = "new";
    EXPECT_NE(refusal([&] { out.write(std::as_bytes(std::span(contents)), like); }).find("meanwhile"),
              std::string::npos);
    close(like);
    EXPECT_EQ(get(at("a")), "rebuilt");
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

// Another file was there when it was read: its contents and its set-user-id must not go to the name.
TEST_F(OutputFileTest, RefusesInPlaceAFileThatWasSwappedForAMoment)
{
    put(at("mine"), "mine");
    put(at("theirs"), "theirs");
    ASSERT_EQ(chmod(at("theirs").c_str(), 04755), 0);
    OutputFile out(at("mine"));
    const int source = open(at("theirs").c_str(), O_RDONLY | O_CLOEXEC);
    const std::string contents = "theirs, changed";
    EXPECT_NE(refusal([&] { out.change(std::as_bytes(std::span(contents)), source); }).find("meanwhile"),
              std::string::npos);
    close(source);
    EXPECT_EQ(get(at("mine")), "mine");
    EXPECT_EQ(names(), (std::vector<std::string>{"mine", "theirs"}));
}

// A directory that all may write to, as /tmp, with another user's link in it.
TEST_F(OutputFileTest, FollowsALinkInAStickyDirectoryOnlyWhereTheKernelDoes)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root to make files of two users";
    constexpr uid_t attacker = 1500, victim = 2500;
    ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
    std::filesystem::create_directory(at("home"));
    std::filesystem::create_directory(at("shared"));
    ASSERT_EQ(chown(at("home").c_str(), victim, victim), 0);
    ASSERT_EQ(chmod(at("shared").c_str(), 01777), 0);
    put(at("home/file"), "precious");
    ASSERT_EQ(chown(at("home/file").c_str(), victim, victim), 0);
    std::filesystem::create_symlink(at("home/file"), at("shared/report"));
    ASSERT_EQ(lchown(at("shared/report").c_str(), attacker, attacker), 0);
    std::filesystem::create_symlink(at("home/file"), at("shared/own"));
    ASSERT_EQ(lchown(at("shared/own").c_str(), victim, victim), 0);

    const char setting[] = "/proc/sys/fs/protected_symlinks";
    const std::string before = get(setting);
    if (before[0] != '1') {
        put(setting, "1\n");
        if (get(setting)[0] != '1')
            GTEST_SKIP() << "cannot set fs.protected_symlinks";
    }
    const auto opens = [&] { // what the kernel says
        const int file = open(at("shared/report").c_str(), O_WRONLY | O_CLOEXEC);
        _exit(file >= 0 ? 0 : errno == EACCES ? 13 : 1);
    };
    const auto writes = [&](const char* name) {
        return as_user(victim, [&] { OutputFile(at(name)).write("report"); });
    };
    EXPECT_EQ(as_user(victim, opens), 13);
    const int refused = writes("shared/report");
    const std::string kept = get(at("home/file"));
    const int own = writes("shared/own");
    if (before[0] != '1')
        put(setting, before);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(kept, "precious");
    EXPECT_EQ(own, 0);
    EXPECT_EQ(get(at("home/file")), "report");
}

TEST_F(OutputFileTest, RefusesAFileThatWasWrittenMeanwhile)
{
    put(at("a"), "old");
    OutputFile out(at("a"));
    const int like = open(at("a").c_str(), O_RDONLY | O_CLOEXEC);
    put(at("a"), "changed");
    const std::string contents = "new";
    EXPECT_NE(refusal([&] { out.write(std::as_bytes(std::span(contents)), like); }).find("meanwhile"),
              std::string::npos);
    close(like);
    EXPECT_EQ(get(at("a")), "changed");
}

TEST_F(OutputFileTest, RefusesWhatIsNotARegularFile)
{
    ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
    std::filesystem::create_symlink("nowhere", at("dangling"));
    for (const std::string& path :
         {at("fifo"), at("dangling"), directory_, std::string("/dev/null"), std::string("/dev/full")})
        EXPECT_NE(refusal([&] { OutputFile out(path); }), "") << path;
    EXPECT_TRUE(S_ISFIFO(status(at("fifo")).st_mode));
    EXPECT_TRUE(S_ISCHR(status("/dev/null").st_mode));
    EXPECT_NE(refusal([&] { OutputFile out(at("absent/a")); }).find("No such file"), std::string::npos);
}

TEST_F(OutputFileTest, AReportHasTheRightsOfANewFile)
{
    const mode_t mask = umask(027);
    OutputFile(at("report")).write("text\n");
    umask(mask);
    EXPECT_EQ(status(at("report")).st_mode & 07777, 0640u);
    chmod(at("report").c_str(), 0600);
    OutputFile(at("report")).write("again\n"); // no wider than the file that it replaces
    EXPECT_EQ(status(at("report")).st_mode & 07777, 0600u);
    EXPECT_EQ(get(at("report")), "again\n");
}

TEST_F(OutputFileTest, TellsOfHardLinks)
{
    put(at("a"), "old");
    std::filesystem::create_hard_link(at("a"), at("b"));
    OutputFile out(at("a"));
    EXPECT_EQ(out.other_names(), 1u);
    replace(out, at("a"), "new");
    EXPECT_EQ(get(at("b")), "old");
}

// Each signal that ends a program, sent while it writes: the file is the old one or the new one, and nothing is left.
TEST_F(OutputFileTest, LeavesNothingBehindAfterASignal)
{
    const std::string old_contents(100, 'o'), new_contents(8 << 20, 'n');
    for (int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGIO, SIGRTMIN}) {
        put(at("a"), old_contents);
        int ready[2];
        ASSERT_EQ(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            std::signal(signal, SIG_DFL);
            for (;;) {
                OutputFile out(at("a"));
                if (write(ready[1], "x", 1) != 1)
                    _exit(9);
                out.write(new_contents);
            }
        }
        // In the middle of the second, third or fourth time.
        char byte;
        for (int i = 0; i < 2 + signal % 3; ++i)
            ASSERT_EQ(read(ready[0], &byte, 1), 1);
        while (names().size() < 2) // until the new file is there
            ;
        kill(child, signal);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        close(ready[0]);
        close(ready[1]);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << strsignal(signal) << ", status " << status;
        EXPECT_EQ(names(), std::vector<std::string>{"a"}) << strsignal(signal);
        const std::string contents = get(at("a"));
        EXPECT_TRUE(contents == old_contents || contents == new_contents) << strsignal(signal);
    }
}

// Piece by piece: nothing is there before the end, and nothing is left where that does not come.
TEST_F(OutputFileTest, GrowsOutOfSight)
{
    put(at("a"), "old");
    OutputFile(at("a")).write([&](const OutputFile::Append& append) {
        for (int i = 0; i < 3; ++i)
            append(std::string(1 << 20, char('0' + i)));
        append({});
        EXPECT_EQ(get(at("a")), "old");
        EXPECT_EQ(names().size(), 2U);
    });
    EXPECT_EQ(get(at("a")), std::string(1 << 20, '0') + std::string(1 << 20, '1') + std::string(1 << 20, '2'));
    EXPECT_NE(refusal([&] {
                  OutputFile(at("a")).write([](const OutputFile::Append& append) {
                      append("half");
                      throw Unusable(std::string("no more"));
                  });
              }).find("no more"),
              std::string::npos);
    EXPECT_EQ(get(at("a")).size(), size_t(3) << 20);
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

// A full disk, as far as a program can make one.
TEST_F(OutputFileTest, LeavesNothingBehindAfterAnError)
{
    put(at("a"), "old");
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{1 << 16, 1 << 16};
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(refusal([&] { OutputFile(at("a")).write(std::string(1 << 20, 'n')); }).empty() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    // The signal (SIGXFSZ) waits for the end of the write, and then ends the program.
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
    EXPECT_EQ(get(at("a")), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

} // namespace

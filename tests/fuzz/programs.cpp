// SPDX-License-Identifier: BSD-2-Clause
// What is expected of the programs, whatever the file: they end by themselves with status 0, 1 or 2, what they print and take is in
// proportion to the file, JSON is JSON, no control character reaches a terminal. fastsdt-index says the same in all its ways
// (-n, -o, in place), leaves what it refuses as it was and nothing beside it, and has nothing to do in its own result.
#include "programs.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string contents(const fs::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

class Programs {
public:
    Programs(const std::string& folder, const std::string& object, const Bytes& bytes)
        : folder_(folder), bytes_(bytes.begin(), bytes.end()),
          here_(fs::current_path() / ("programs-" + std::to_string(getpid())))
    {
        fs::remove_all(here_);
        fs::create_directories(here_ / "work");
        fs::copy_file(object, here_ / "work/object");
    }
    ~Programs() { fs::remove_all(here_); }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

    void check()
    {
        restore();
        for (const std::string options : {"", "-f -v", "-f -j", "--sarif -v", "--plan -k 6.12", "--plan -j -k 7.2"}) {
            run("fastsdt-check", options + " input");
            const bool json = options.find('j') != options.npos || options.starts_with("--sarif");
            const std::string output = contents(here_ / "out");
            if (json)
                require(nlohmann::json::accept(output), "its output is no JSON");
            else
                require_plain(output);
            unchanged();
        }
    }

    void index()
    {
        restore();
        const int status = run("fastsdt-index", "-n -v input");
        require_plain(contents(here_ / "out"));
        unchanged();
        require(run("fastsdt-index", "-j -o output input") == status, "its status is not that of -n");
        require(nlohmann::json::accept(contents(here_ / "out")), "its output is no JSON");
        require(fs::exists(here_ / "work/output") == (status == 0), "its output file does not fit its status");
        const std::string output = contents(here_ / "work/output");
        fs::remove(here_ / "work/output");
        unchanged();
        require(run("fastsdt-index", "input") == status, "its status is not that of -n");
        const std::string result = contents(here_ / "work/input");
        require(result == (status == 0 ? output : bytes_), "the file is not that of -o, or was refused and changed");
        require(result.size() <= bytes_.size() + (1 << 17), "the result is large");
        if (status != 0)
            return;
        require(run("fastsdt-index", "-v input") == 0 && contents(here_ / "work/input") == result,
                "a second run does not take the file, or changes it");
        require(contents(here_ / "out").find("nothing to do") != std::string::npos,
                "a second run finds something to do");
    }

private:
    void restore() { std::ofstream(here_ / "work/input", std::ios::binary) << bytes_; }

    void require(bool condition, const std::string& what) const
    {
        if (!condition)
            throw Wrong(command_ + ": " + what);
    }

    void require_plain(const std::string& text) const
    {
        require(std::none_of(text.begin(), text.end(),
                             [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
                "a control character");
    }

    void unchanged() const
    {
        require(contents(here_ / "work/input") == bytes_, "the file has changed");
        require(std::distance(fs::directory_iterator(here_ / "work"), {}) == 2, "another file was left");
    }

    // The program's status. Its output is in the files out and err.
    int run(const std::string& program, const std::string& words)
    {
        command_ = program + ' ' + words;
        std::vector<std::string> arguments{folder_ + '/' + program};
        std::istringstream stream(words);
        for (std::string word; stream >> word;)
            arguments.push_back(word);
        std::vector<char*> argv;
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        const std::string work = here_ / "work", out = here_ / "out", err = here_ / "err";
        // An address space for the program and its libraries, for line tables (lib/elf/lines.cpp) and for the rest.
        const rlim_t memory = (rlim_t(256) << 20) + 400 * bytes_.size();
        const rlim_t output = (1 << 20) + 600 * bytes_.size();
        const pid_t pid = fork();
        if (pid == 0) {
            const auto limit = [](auto what, rlim_t most) {
                const rlimit both{most, most};
                setrlimit(what, &both);
            };
            const int flags = O_WRONLY | O_CREAT | O_TRUNC;
            if (chdir(work.c_str()) != 0 || dup2(open(out.c_str(), flags, 0600), 1) < 0
                || dup2(open(err.c_str(), flags, 0600), 2) < 0 || dup2(open("/dev/null", O_RDONLY), 0) < 0)
                _exit(126);
            limit(RLIMIT_CPU, 10);
            limit(RLIMIT_FSIZE, output);
            limit(RLIMIT_CORE, 0);
            limit(RLIMIT_AS, memory);
            execv(argv[0], argv.data());
            _exit(127);
        }
        int status = 0;
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            throw Wrong("cannot start a program");
        const std::string said = contents(err);
        require_plain(said);
        if (WIFSIGNALED(status))
            require(false, std::string("ended by: ") + strsignal(WTERMSIG(status)));
        require(WEXITSTATUS(status) <= 2, "status " + std::to_string(WEXITSTATUS(status)));
        require(WEXITSTATUS(status) != 2 || !said.empty(), "status 2 without a word");
        for (const char* sentence : {"not enough memory", "bad_alloc", "is a bug"})
            require(said.find(sentence) == std::string::npos, said.substr(0, 300));
        return WEXITSTATUS(status);
    }

    const std::string folder_, bytes_;
    const fs::path here_;
    std::string command_;
};

} // namespace

std::optional<std::string> run_programs(const std::string& folder, const std::string& object, const Bytes& bytes)
try {
    Programs programs(folder, object, bytes);
    programs.check();
    programs.index();
    return {};
} catch (const Wrong& wrong) {
    return wrong.what();
}

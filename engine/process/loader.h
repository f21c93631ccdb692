// SPDX-License-Identifier: BSD-2-Clause
// The dynamic linker of another process: where it says what it has mapped, and the tracer's side of the stub there
// (code/loader.h).
#pragma once
#include "arming/target.h"
#include "base/descriptor.h"
#include "code/loader.h"
#include "process/page_of_data.h"
#include "process/view.h"

#include <atomic>
#include <link.h>
#include <map>
#include <optional>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace fastsdt::engine {

/// The process's auxiliary vector, by AT_*.
std::map<uint64_t, uint64_t> read_auxv(const ProcessView& view);

/// What DT_DEBUG of the program leads to.
struct DebugState {
    uint64_t address = 0; ///< runtime address of the r_debug
    r_debug value{};
};
/// Empty: the program is static, or its dynamic linker has not begun.
/// @param memory  /proc/PID/mem
std::optional<DebugState> read_debug_state(const std::map<uint64_t, uint64_t>& auxv, int memory);

/// Hears the stub's questions while the process runs.
class LoaderQuestions {
public:
    /// @param tables  the file of the tables  Throws Unusable.
    explicit LoaderQuestions(int tables);
    LoaderQuestions(const LoaderQuestions&) = delete;
    LoaderQuestions& operator=(const LoaderQuestions&) = delete;
    ~LoaderQuestions(); ///< lets all threads go on; none waits any more

    /// Readable when there is a question.
    int descriptor() const { return event_.get(); }
    /// Takes the questions of now. To be given to answer() when what came is armed.
    uint32_t take();
    /// Lets the threads that have asked go on. @return  false: one went on before, without an answer
    bool answer(uint32_t question);
    /// The next question is no news: its thread stands before the stub already.
    void answer_next();
    /// Whether a question has no answer yet.
    bool is_open() const;
    /// Whether a thread went on without an answer, and answer() has not told yet.
    bool is_passed() const;

    /// Threads that are about to execute another program, and wait.
    using Asker = Target::Asker;
    std::vector<Asker> executing();
    void let_execute(pid_t thread);
    /// Whether one went on without that since the last call. From now on they wait again.
    bool take_unanswered();

private:
    struct Words;
    struct Executing;
    Executing& executing_words() const;
    std::vector<Asker> askers() const;
    bool is_open(uint32_t question) const;
    bool is_asked() const;
    void listen(uint32_t heard);

    Descriptor event_;
    PageOfData page_;
    Words* words_; // in the page
    std::atomic<bool> ends_ = false;
    std::atomic<uint32_t> let_execute_ = 0; // how often
    std::thread thread_;
};

} // namespace fastsdt::engine

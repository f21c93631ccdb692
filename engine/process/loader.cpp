// SPDX-License-Identifier: BSD-2-Clause
#include "process/loader.h"

#include "base/unusable.h"
#include "maps/tables.h"
#include "process/ptrace.h"
#include "process/signals_blocked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {
namespace {

// What all threads of this process have computed so far.
std::chrono::nanoseconds processor_time()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The words lie in memory that two processes share, so no FUTEX_PRIVATE_FLAG.
void wake(void* word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace

std::map<uint64_t, uint64_t> read_auxv(const ProcessView& view)
{
    std::map<uint64_t, uint64_t> auxv;
    const Descriptor file(open(view.entry("auxv").c_str(), O_RDONLY | O_CLOEXEC));
    ElfW(auxv_t) entry;
    while (read(file.get(), &entry, sizeof entry) == sizeof entry && entry.a_type != AT_NULL)
        auxv[entry.a_type] = entry.a_un.a_val;
    return auxv;
}

std::optional<DebugState> read_debug_state(const std::map<uint64_t, uint64_t>& auxv, int memory)
{
    if (!auxv.contains(AT_PHDR) || !auxv.contains(AT_PHNUM))
        return std::nullopt;
    const uint64_t headers = auxv.at(AT_PHDR);
    uint64_t bias = 0, dynamic = 0, size = 0;
    constexpr uint64_t most_headers = 65536 / sizeof(ElfW(Phdr)); // load_elf_phdrs(), fs/binfmt_elf.c
    constexpr uint64_t most_dynamic = 65536;                      // bytes; they are some 500
    for (uint64_t i = 0; i < std::min(auxv.at(AT_PHNUM), most_headers); ++i) {
        const auto header = value_at<ElfW(Phdr)>(memory, headers + i * sizeof(ElfW(Phdr))).value_or(ElfW(Phdr){});
        if (header.p_type == PT_PHDR)
            bias = headers - header.p_vaddr;
        if (header.p_type == PT_DYNAMIC) {
            dynamic = header.p_vaddr;
            size = std::min<uint64_t>(header.p_memsz, most_dynamic);
        }
    }
    for (uint64_t at = bias + dynamic; dynamic && at < bias + dynamic + size; at += sizeof(ElfW(Dyn))) {
        const auto entry = value_at<ElfW(Dyn)>(memory, at).value_or(ElfW(Dyn){});
        if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr)
            return DebugState{entry.d_un.d_ptr, value_at<r_debug>(memory, entry.d_un.d_ptr).value_or(r_debug{})};
    }
    return std::nullopt;
}

struct LoaderQuestions::Words {
    uint32_t asked, answered, alone, signs;
};

struct LoaderQuestions::Executing {
    uint64_t alone;
    struct {
        uint64_t thread, program;
    } askers[ExecutingWords::most];
};

LoaderQuestions::Executing& LoaderQuestions::executing_words() const
{
    static_assert(offsetof(Executing, alone) == ExecutingWords::alone
                  && offsetof(Executing, askers) == ExecutingWords::first && sizeof(Executing) == ExecutingWords::size
                  && Tables::executing + ExecutingWords::size <= Tables::slice);
    return *static_cast<Executing*>(page_.at(Tables::executing));
}

std::vector<LoaderQuestions::Asker> LoaderQuestions::askers() const
{
    std::vector<Asker> found;
    for (auto& each : executing_words().askers)
        if (const uint64_t thread = __atomic_load_n(&each.thread, __ATOMIC_SEQ_CST))
            found.push_back({static_cast<pid_t>(thread), __atomic_load_n(&each.program, __ATOMIC_SEQ_CST)});
    return found;
}

std::vector<LoaderQuestions::Asker> LoaderQuestions::executing()
{
    return askers();
}

bool LoaderQuestions::take_unanswered()
{
    return __atomic_exchange_n(&executing_words().alone, 0, __ATOMIC_SEQ_CST) != 0;
}

void LoaderQuestions::let_execute(pid_t thread)
{
    ++let_execute_;
    for (auto& each : executing_words().askers) {
        auto number = static_cast<uint64_t>(thread);
        if (__atomic_compare_exchange_n(&each.thread, &number, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            wake(&each.thread);
    }
}

LoaderQuestions::LoaderQuestions(int tables)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), page_(tables, 0),
      words_(static_cast<Words*>(page_.at(Tables::loader)))
{
    static_assert(offsetof(Words, asked) == LoaderWords::asked && offsetof(Words, answered) == LoaderWords::answered
                  && offsetof(Words, alone) == LoaderWords::alone && offsetof(Words, signs) == LoaderWords::signs);
    if (!event_)
        throw Unusable(fmt::format("eventfd: {}", std::strerror(errno)));
    // Nobody waits, or whoever does has asked somebody before us.
    const uint32_t asked = __atomic_load_n(&words_->asked, __ATOMIC_SEQ_CST);
    __atomic_store_n(&words_->answered, asked, __ATOMIC_SEQ_CST);
    __atomic_store_n(&words_->alone, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&executing_words().alone, 0, __ATOMIC_SEQ_CST);
    wake(&words_->answered);
    const SignalsBlocked blocked; // they are for the threads that expect them
    thread_ = begin_thread([this, asked] { listen(asked); });
}

LoaderQuestions::~LoaderQuestions()
{
    ends_ = true;
    __atomic_store_n(&words_->alone, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&executing_words().alone, 1,
                     __ATOMIC_SEQ_CST); // who is past the test of it waits in vain, for as long as it waits at most
    for (const Asker& asker : askers())
        let_execute(asker.thread);
    const uint32_t asked = __atomic_add_fetch(&words_->asked, 1, __ATOMIC_SEQ_CST); // what our thread waits for
    // Who is past the test of `alone` asks after that, and is answered already.
    __atomic_store_n(&words_->answered, asked + (uint32_t{1} << 30), __ATOMIC_SEQ_CST);
    wake(&words_->answered);
    wake(&words_->asked);
    thread_.join();
}

bool LoaderQuestions::is_open() const
{
    return is_open(__atomic_load_n(&words_->asked, __ATOMIC_SEQ_CST));
}

bool LoaderQuestions::is_passed() const
{
    return __atomic_load_n(&words_->alone, __ATOMIC_SEQ_CST) != 0;
}

void LoaderQuestions::answer_next()
{
    __atomic_store_n(&words_->answered, __atomic_load_n(&words_->asked, __ATOMIC_SEQ_CST) + 1, __ATOMIC_SEQ_CST);
}

// As the stub sees it.
bool LoaderQuestions::is_open(uint32_t question) const
{
    return static_cast<int32_t>(__atomic_load_n(&words_->answered, __ATOMIC_SEQ_CST) - question) < 0;
}

bool LoaderQuestions::is_asked() const
{
    return is_open() || !askers().empty();
}

// Waits for the stub's futex, and makes the descriptor readable. The process may write anything to the words: so this looks again
// each second. While a question is open, signs of life: on a busy machine we get no processor for a while, and this thread, which needs
// next to nothing of one, gets it first. What we compute for longer than a thread waits is not waited for.
void LoaderQuestions::listen(uint32_t heard)
{
    ask_for_short_slices();
    constexpr timespec second{1, 0}, soon{0, 100'000'000};
    std::chrono::nanoseconds begun{};
    bool was_asked = false;
    for (uint32_t answered = heard, let = 0;;) {
        const uint32_t asked = __atomic_load_n(&words_->asked, __ATOMIC_SEQ_CST);
        if (ends_) // after the load: the destructor changes the word
            return;
        if (asked != heard)
            eventfd_write(event_.get(), 1);
        heard = asked;
        const bool is_asked = this->is_asked();
        const auto computed = processor_time();
        const uint32_t last = std::exchange(answered, __atomic_load_n(&words_->answered, __ATOMIC_SEQ_CST)),
                       last_let = std::exchange(let, let_execute_);
        if (!std::exchange(was_asked, is_asked) || last != answered || last_let != let)
            begun = computed;
        if (is_asked && computed - begun < loader_waits)
            __atomic_add_fetch(&words_->signs, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &words_->asked, FUTEX_WAIT, heard, is_asked ? &soon : &second, nullptr, 0);
    }
}

uint32_t LoaderQuestions::take()
{
    eventfd_t count = 0;
    eventfd_read(event_.get(), &count);
    return __atomic_load_n(&words_->asked, __ATOMIC_SEQ_CST);
}

bool LoaderQuestions::answer(uint32_t question)
{
    __atomic_store_n(&words_->answered, question, __ATOMIC_SEQ_CST);
    const bool waited = __atomic_exchange_n(&words_->alone, 0, __ATOMIC_SEQ_CST) == 0;
    wake(&words_->answered);
    return waited;
}

} // namespace fastsdt::engine

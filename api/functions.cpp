// SPDX-License-Identifier: BSD-2-Clause
#include "functions.h"

#include <cerrno>
#include <chrono>
#include <thread>

namespace fastsdt::api {
namespace {

// In the static TLS block, since the first use of other thread-local data would allocate: a stub runs where that is
// forbidden.
thread_local const void* nested [[gnu::tls_model("initial-exec")]] = nullptr;

} // namespace

Nested::Nested() : outer_(nested)
{
    nested = this;
}

Nested::~Nested()
{
    nested = outer_;
}

// Stacks grow down, so a deeper frame has a lower address. If a function is left by longjmp all the same, its thread
// loses only the hits that are deeper in the stack than the function was.
bool Nested::at(const void* frame)
{
    return nested && frame < nested;
}

void Function::enable(fastsdt_trace_function* function, void* context)
{
    context_ = context;
    function_ = function;
}

bool Function::disable()
{
    function_ = nullptr;
    // deliver() counts running_ up before it reads function_. So a thread reads the null, or is seen here.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (running_ != 0) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

void Function::set_names(const std::vector<std::string>& names)
{
    if (!all_names_.empty() && all_names_.back()->size() == names.size())
        return; // the list only grows: it is still the same
    all_names_.push_back(std::make_unique<const std::vector<std::string>>(names));
    names_ = all_names_.back().get();
}

void Function::deliver(uint64_t context, const engine::Hit* hit) noexcept
{
    const int before = errno;
    Function& self = *reinterpret_cast<Function*>(context);
    self.running_.fetch_add(1);
    fastsdt_trace_function* const function = Nested::at(hit) ? nullptr : self.function_.load();
    const std::vector<std::string>* const names = self.names_.load();
    if (function && names && hit->probe < names->size()) {
        const fastsdt_trace_hit told = {(*names)[hit->probe].c_str(), hit->address, static_cast<unsigned>(hit->count),
                                        static_cast<unsigned>(hit->readable), hit->arguments};
        const Nested nested;
        function(&told, self.context_);
    } else {
        self.missed_.fetch_add(1);
    }
    self.running_.fetch_sub(1);
    errno = before;
}

} // namespace fastsdt::api

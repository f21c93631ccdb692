// SPDX-License-Identifier: BSD-2-Clause
// No signal is handled by this thread while it lives. A thread that is created meanwhile has them blocked for good.
#pragma once
#include <csignal>

namespace fastsdt::engine {

class SignalsBlocked {
public:
    SignalsBlocked()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

} // namespace fastsdt::engine

// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <pthread.h>

namespace fastsdt {

/// While it lives, pthread_cancel() has to wait: its unwinding would leave the work half done, and may not pass a function
/// of C.
class NoCancel {
public:
    NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    NoCancel(const NoCancel&) = delete;
    NoCancel& operator=(const NoCancel&) = delete;
    ~NoCancel() { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = 0;
};

} // namespace fastsdt

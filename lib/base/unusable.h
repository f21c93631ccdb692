// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "base/result.h"

#include <stdexcept>

namespace fastsdt {

/// Thrown: a file or a process that cannot be read or written at all. what() is the error in one line.
class Unusable : public std::runtime_error {
public:
    explicit Unusable(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
    explicit Unusable(std::string what) : Unusable(Error{std::move(what)}) {}
    const Error& error() const { return error_; }

private:
    Error error_;
};

} // namespace fastsdt

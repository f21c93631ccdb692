// SPDX-License-Identifier: BSD-2-Clause
// dtrace -G: the object that defines the semaphores.
#pragma once
#include "model.h"

namespace dtrace {

// The name by which the probe's note refers to the semaphore (sys/sdt.h: _SDT_SEMAPHORE_NAME).
std::string semaphore_name(const Provider& provider, const Probe& probe);

// Preprocessor lines that define `macro` as the attributes of a semaphore: in .probes, and hidden unless
// STAP_SDT_V1 or STAP_SDT_V2 asks for the visibility of older systemtap.
std::string semaphore_attributes(std::string_view macro);

// The object's source in C. #line leads to the probes in the provider file.
std::string object_text(const Model& model);

} // namespace dtrace

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Installed, sys/sdt.h and usdt.h lie beside this file, so that they are in the search path only where somebody asks. */
#include "../../fastsdt.h"

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * When installed, sys/sdt.h and usdt.h lie beside this file, so that only projects that ask have them in the search
 * path. */
#include "../../fastsdt.h"

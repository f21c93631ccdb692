// SPDX-License-Identifier: BSD-2-Clause
#include "queue.h"

#include <fastsdt.h>

#include <deque>

static std::deque<int> items;

void queue_put(int item)
{
    items.push_back(item);
    FASTSDT(queue, put, item, items.size());
}

int queue_take(void)
{
    if (items.empty()) {
        FASTSDT(queue, empty);
        return -1;
    }
    const int item = items.front();
    items.pop_front();
    FASTSDT(queue, take, item, items.size());
    return item;
}

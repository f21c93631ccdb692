/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef __cplusplus
extern "C" {
#endif
void queue_put(int item);
int queue_take(void);
#ifdef __cplusplus
}
#endif

/*
 * device.h - the front header of src/device: the GPU side, as PTX text.
 *
 * Made at build time from report.cu and tensor.cu. The first text holds two functions that
 * src/instrument pastes into a module (their bodies only; .version, .target and
 * .address_size are those of the module):
 *
 *   .weak .func __collider_changed(table u64, what u32, address u64, was u64, now u64)
 *   .weak .func __collider_warp(table u64, what u32, address u64, value u64, fold u32, mask u32)
 *
 * `what` is race_what() of race/record.h; all parameters are .b64 or .b32. They
 * read the module's knobs themselves (ld.const), return at once when there is no
 * agent, order no memory and wait for no lane but, in __collider_warp, those of
 * `mask`. They have few parameters on purpose: each takes a register from the caller. Code built
 * with --trap doesn't call them: it stops at the access.
 *
 * Call-free code does the same for one slot that is a constant: with
 *   key   = race_slot_key(table, site, kind)     (race/record.h)
 *   index = race_slot_index(key)                 no probing
 *   slot  = rt + DEV_RT_SLOTS + 16 * index       (device/report_core.h)
 * load slot.key relaxed; 0: atom.cas it to `key`, the winner stores the record
 * at [rt] + 128 * index with st.relaxed.sys, `valid` last; another key: add 1
 * to overflow at rt + DEV_RT_OVERFLOW. Then, unless slot.count >=
 * RACE_MUTE_COUNT, add the number of lanes to slot.count, and when
 * (old ^ new) > old store `new` to record.count.
 */
#ifndef COLLIDER_DEVICE_H
#define COLLIDER_DEVICE_H

#include <stddef.h>

/* NUL-terminated; the sizes are without the NUL. */
extern const char race_device_report[];
extern const size_t race_device_report_size;
/* The functions of check_cold.cu, check.cu and check_ahead.cu, for modules that check by call. */
extern const char race_device_check_cold[];
extern const size_t race_device_check_cold_size;
extern const char race_device_check[];
extern const size_t race_device_check_size;
extern const char race_device_check_ahead[];
extern const size_t race_device_check_ahead_size;
/* __collider_block (shuffle.cu), for modules whose code reads ids of blocks. */
extern const char race_device_shuffle[];
extern const size_t race_device_shuffle_size;
/* The functions of hirace.cu, for detector hirace; local to the module. */
extern const char race_device_hirace[];
extern const size_t race_device_hirace_size;
/* The functions of iguard.cu, for detector iguard; local to the module. The second text is for
 * targets from sm_90 on, PTX 8.4. */
extern const char race_device_iguard[];
extern const size_t race_device_iguard_size;
extern const char race_device_iguard90[];
extern const size_t race_device_iguard90_size;
/* The functions of watch.cu, for detector watch; local to the module. */
extern const char race_device_watch[];
extern const size_t race_device_watch_size;
/* __collider_tensor (tensor.cu), for modules with tensor copies; it calls __collider_changed. */
extern const char race_device_tensor[];
extern const size_t race_device_tensor_size;

#endif

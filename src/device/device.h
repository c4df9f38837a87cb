/*
 * device.h - the front header of src/device: the GPU side, as PTX text.
 *
 * Made at build time from report.cu. The text holds one function that
 * src/instrument pastes into a module (its body only; .version, .target and
 * .address_size are those of the module):
 *
 *   .weak .func __collider_report(table u64, site u32, kind | flags << 16 u32, address u64,
 *       was_lo u64, was_hi u64, now_lo u64, now_hi u64, lanes u32, width u32, rt u64)
 *
 * in the order of struct race_record; all parameters are .b64 or .b32. It
 * returns at once when rt is 0 (--trap is the caller's business), orders no
 * memory and waits for no lane that is not converged with the caller.
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

/* NUL-terminated; the size is without the NUL. */
extern const char race_device_ptx[];
extern const size_t race_device_ptx_size;

#endif

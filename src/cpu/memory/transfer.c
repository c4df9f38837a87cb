/*
 * transfer.c - copies, fills and values in memory: operations that are actors
 * themselves and do a piece at each turn, so that a kernel in another stream may see them half
 * done.
 *
 * A piece is 256 bytes to 512 KiB, drawn by seed, or at least one row. Memory is accessed directly,
 * bypassing every model's caches: a block that starts later sees the result. The caller of the
 * program's API has checked that the ranges exist.
 */
#include "cpu/sched.h"
#include "cpu/memory/space.h"
#include "cpu/events.h"

#include <string.h>

static uint64_t draw_piece(struct cpu_worker *k)
{
	return 256ull << cpu_random_below(k, 12);
}

/* Advances by n elements; true: that was the last. */
static bool advance(struct cpu_op *op, uint64_t n, uint64_t width, uint64_t height, uint64_t depth)
{
	op->done[0] += n;
	if (op->done[0] < width)
		return false;
	op->done[0] = 0;
	if (++op->done[1] < height)
		return false;
	op->done[1] = 0;
	return ++op->done[2] >= depth;
}

/* Of the operation's bytes: where this piece is. */
static uint64_t offset_of(const struct cpu_op *op, uint64_t width, uint64_t height)
{
	return (op->done[2] * height + op->done[1]) * width + op->done[0];
}

static bool step_copy(struct cpu_op *op, uint64_t piece)
{
	const struct cpu_copy *c = &op->work.copy;
	bool is_end = !c->width || !c->height || !c->depth;

	while (!is_end && piece) {
		uint64_t n = c->width - op->done[0];
		uint64_t to = c->dst + op->done[2] * c->dst_slice + op->done[1] * c->dst_pitch;
		uint64_t from = c->src + op->done[2] * c->src_slice + op->done[1] * c->src_pitch;

		to = cpu_space_machine(op->m, to);
		from = op->copy ? from : cpu_space_machine(op->m, from);
		const uint8_t *src = (const uint8_t *)(uintptr_t)from + op->done[0];
		if (op->copy)
			src = (const uint8_t *)op->copy + offset_of(op, c->width, c->height);
		if (n > piece)
			n = piece;
		if (!op->copy)
			cpu_event_op_range(op, false, from + op->done[0], n);
		cpu_event_op_range(op, true, to + op->done[0], n);
		memmove((uint8_t *)(uintptr_t)to + op->done[0], src, n);
		cpu_recheck_keep(op, from + op->done[0], to + op->done[0],
				 offset_of(op, c->width, c->height), n);
		piece -= n;
		is_end = advance(op, n, c->width, c->height, c->depth);
	}
	return is_end;
}

static void fill_some(uint64_t to, uint32_t value, uint32_t size, uint64_t n)
{
	uint8_t *p = (uint8_t *)(uintptr_t)to;

	if (size == 1) {
		memset(p, (int)value, n);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		memcpy(p + i * size, &value, size);
}

static bool step_fill(struct cpu_op *op, uint64_t piece)
{
	const struct cpu_fill *f = &op->work.fill;
	bool is_end = !f->width || !f->height || !f->depth;

	for (piece /= f->size; !is_end && piece;) {
		uint64_t n = f->width - op->done[0];
		uint64_t to = f->dst + op->done[2] * f->slice + op->done[1] * f->pitch;

		to = cpu_space_machine(op->m, to);
		if (n > piece)
			n = piece;
		cpu_event_op_range(op, true, to + op->done[0] * f->size, n * f->size);
		fill_some(to + op->done[0] * f->size, f->value, f->size, n);
		cpu_recheck_keep(op, 0, to + op->done[0] * f->size,
				 offset_of(op, f->width, f->height) * f->size, n * f->size);
		piece -= n;
		is_end = advance(op, n, f->width, f->height, f->depth);
	}
	return is_end;
}

void cpu_value_write(const struct cpu_op *op)
{
	void *p = (void *)(uintptr_t)cpu_space_machine(op->m, op->work.value.addr);

	if (op->work.value.size == 8)
		__atomic_store_n((uint64_t *)p, op->work.value.value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)p, (uint32_t)op->work.value.value, __ATOMIC_RELEASE);
}

/* The comparisons are cyclic, as in the driver API. */
bool cpu_value_holds(const struct cpu_op *op)
{
	const void *p = (const void *)(uintptr_t)cpu_space_machine(op->m, op->work.value.addr);
	uint64_t want = op->work.value.value, got;
	bool is_wide = op->work.value.size == 8;

	if (is_wide)
		got = __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
	else
		got = __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
	switch (op->work.value.cmp) {
	case CPU_WAIT_GEQ:
		return is_wide ? (int64_t)(got - want) >= 0 : (int32_t)(uint32_t)(got - want) >= 0;
	case CPU_WAIT_EQ:
		return is_wide ? got == want : (uint32_t)got == (uint32_t)want;
	case CPU_WAIT_AND:
		return (got & want) != 0;
	case CPU_WAIT_NOR:
		return is_wide ? ~(got | want) != 0 : (uint32_t) ~(got | want) != 0;
	}
	return true;
}

bool cpu_transfer_step(struct cpu_worker *k, struct cpu_op *op)
{
	bool is_end;

	if (cpu_recheck_step(k, op, &is_end))
		return is_end;
	uint64_t piece = draw_piece(k);
	switch (op->work.kind) {
	case CPU_WORK_COPY:
		k->clock += 1 + piece / 512;
		return cpu_recheck_wait(k, op, step_copy(op, piece));
	case CPU_WORK_FILL:
		k->clock += 1 + piece / 1024;
		return cpu_recheck_wait(k, op, step_fill(op, piece));
	case CPU_WORK_WRITE_VALUE:
		cpu_event_op_value(op, true);
		cpu_value_write(op);
		return true;
	default:
		return true;
	}
}

// paired.cu - two numbered barriers that a producer and a consumer use in turns; each with what takes the order away.
#define WAIT(n, threads)   asm volatile("bar.sync " #n ", " #threads ";" ::: "memory")
#define ARRIVE(n, threads) asm volatile("bar.arrive " #n ", " #threads ";" ::: "memory")
#define TURNS(first, last, ahead, produce, consume)                                                            \
	__shared__ float tile[32];                                                                             \
	int lane = threadIdx.x % 32;                                                                           \
	float sum = 0;                                                                                         \
	if (threadIdx.x < 32) {                                                                                \
		first;                                                                                         \
		for (int i = 0; i < n; i++) {                                                                  \
			produce;                                                                               \
		}                                                                                              \
		last;                                                                                          \
	} else if (threadIdx.x < 64) {                                                                         \
		ahead;                                                                                         \
		for (int i = 0; i < n; i++) {                                                                  \
			consume;                                                                               \
		}                                                                                              \
		out[blockIdx.x * 32 + lane] = sum;                                                             \
	}

// prove: turns_of_two race-free --block-dim=64
__global__ void turns_of_two(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_ahead race-free --block-dim=64
__global__ void turns_ahead(float *out, int n)
{
	TURNS(, , ARRIVE(2, 64),
	      WAIT(2, 64); tile[lane] = i; ARRIVE(1, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_left_early race-free --block-dim=64
__global__ void turns_left_early(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64); if (i * i == n) break,
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_no_way_back potential --block-dim=64
__global__ void turns_no_way_back(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64),
	      WAIT(1, 64); sum += tile[31 - lane])
}
// prove: turns_arrives_only potential --block-dim=64
__global__ void turns_arrives_only(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); ARRIVE(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; WAIT(2, 64))
}
// prove: turns_read_late potential --block-dim=64
__global__ void turns_read_late(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); ARRIVE(2, 64); sum += tile[31 - lane])
}
// prove: turns_written_late potential --block-dim=64
__global__ void turns_written_late(float *out, int n)
{
	TURNS(, , ,
	      ARRIVE(1, 64); tile[lane] = i; WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_other_order potential --block-dim=64
__global__ void turns_other_order(float *out, int n)
{
	TURNS(, , ,
	      WAIT(2, 64); tile[lane] = i; ARRIVE(1, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_ahead_twice potential --block-dim=64
__global__ void turns_ahead_twice(float *out, int n)
{
	TURNS(, , ARRIVE(2, 64); ARRIVE(2, 64),
	      WAIT(2, 64); tile[lane] = i; ARRIVE(1, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_some potential --block-dim=64
__global__ void turns_some(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); if (i & 1) WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; if (i & 1) ARRIVE(2, 64))
}
// prove: turns_few potential --block-dim=64
__global__ void turns_few(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 32); WAIT(2, 32),
	      WAIT(1, 32); sum += tile[31 - lane]; ARRIVE(2, 32))
}
// prove: turns_two_writers true --block-dim=64
__global__ void turns_two_writers(float *out, int n)
{
	TURNS(, , ,
	      tile[lane / 2] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_lane_leaves potential --block-dim=64
__global__ void turns_lane_leaves(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64); if (lane == 3) { if (i == n / 2) break; },
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_lane_leaves_inside potential --block-dim=64
__global__ void turns_lane_leaves_inside(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64); for (int j = 0; j < lane; j++) if (j == 3) return,
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_set_before race-free --block-dim=64
__global__ void turns_set_before(float *out, int n)
{
	__shared__ float more[32];
	TURNS(more[lane] = n, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += more[31 - lane] + tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_set_before_early true --block-dim=64
__global__ void turns_set_before_early(float *out, int n)
{
	__shared__ float more[32];
	TURNS(more[lane] = n, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      sum += more[31 - lane]; WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_set_after potential --block-dim=64
__global__ void turns_set_after(float *out, int n)
{
	TURNS(, tile[lane] = 0, ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_set_by_third true --block-dim=96
__global__ void turns_set_by_third(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
	if (threadIdx.x >= 64)
		tile[lane] = 1;
}
// prove: turns_third_arrives potential --block-dim=96
__global__ void turns_third_arrives(float *out, int n)
{
	TURNS(, , ,
	      tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
	if (threadIdx.x >= 64 && n > 3)
		ARRIVE(1, 64);
}
// prove: turns_three_warps potential --block-dim=96
__global__ void turns_three_warps(float *out, int n)
{
	if (threadIdx.x >= 64)
		for (int i = 0; i < n; i++) {
			ARRIVE(1, 64);
			WAIT(2, 64);
		}
	TURNS(, , ,
	      tile[threadIdx.x % 32] = i; ARRIVE(1, 64); WAIT(2, 64),
	      WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}
// prove: turns_of_lanes potential --block-dim=64
__global__ void turns_of_lanes(float *out, int n)
{
	n += threadIdx.x % 2;
	TURNS(, , , tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64), WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64))
}

// Both kinds of threads in one loop.
#define SIDES(ahead, is_producer, produce, consume)                                                            \
	__shared__ float tile[32];                                                                             \
	int lane = threadIdx.x % 32;                                                                           \
	float sum = 0;                                                                                         \
	ahead;                                                                                                 \
	for (int i = 0; i < n; i++) {                                                                          \
		if (is_producer) {                                                                             \
			produce;                                                                               \
		} else {                                                                                       \
			consume;                                                                               \
		}                                                                                              \
	}                                                                                                      \
	out[blockIdx.x * 64 + threadIdx.x] = sum;
#define PUT	tile[lane] = i; ARRIVE(1, 64); WAIT(2, 64)
#define PUT_BACK WAIT(2, 64); tile[lane] = i; ARRIVE(1, 64)
#define GET	WAIT(1, 64); sum += tile[31 - lane]; ARRIVE(2, 64)

// prove: sides race-free --block-dim=64
__global__ void sides(float *out, int n)
{
	SIDES(, threadIdx.x < 32, PUT, GET)
}
// prove: sides_ahead race-free --block-dim=64
__global__ void sides_ahead(float *out, int n)
{
	SIDES(if (threadIdx.x >= 32) ARRIVE(2, 64), threadIdx.x < 32, PUT_BACK, GET)
}
// prove: sides_ahead_wrong potential --block-dim=64
__global__ void sides_ahead_wrong(float *out, int n)
{
	SIDES(if (threadIdx.x < 32) ARRIVE(2, 64), threadIdx.x < 32, PUT_BACK, GET)
}
// prove: sides_ahead_some potential --block-dim=64
__global__ void sides_ahead_some(float *out, int n)
{
	SIDES(if (threadIdx.x >= 32 && n > 4) ARRIVE(2, 64), threadIdx.x < 32, PUT_BACK, GET)
}
// prove: sides_change potential --block-dim=64
__global__ void sides_change(float *out, int n)
{
	SIDES(, threadIdx.x / 32 == (i & 1), PUT, GET)
}
// prove: sides_of_lanes true --block-dim=64
__global__ void sides_of_lanes(float *out, int n)
{
	SIDES(, threadIdx.x % 2, PUT, GET)
}
// prove: sides_written_late potential --block-dim=64
__global__ void sides_written_late(float *out, int n)
{
	SIDES(, threadIdx.x < 32, ARRIVE(1, 64); tile[lane] = i; WAIT(2, 64), GET)
}
// prove: sides_consumer_writes potential --block-dim=64
__global__ void sides_consumer_writes(float *out, int n)
{
	SIDES(, threadIdx.x < 32, PUT, GET; if (n == 3) tile[lane] = 3)
}
// prove: sides_some_turns potential --block-dim=64
__global__ void sides_some_turns(float *out, int n)
{
	SIDES(, threadIdx.x < 32, tile[lane] = i; if (i & 1) { PUT; }, if (i & 1) { GET; })
}
// prove: sides_lane_skips potential --block-dim=64
__global__ void sides_lane_skips(float *out, int n)
{
	SIDES(, threadIdx.x < 32, if (lane == 3 && i == 5) continue; PUT, GET)
}

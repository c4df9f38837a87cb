/*
 * tables.c - the driver's private functions, which libraries of NVIDIA's ask for by the table
 * (cuGetExportTable).
 *
 * What is called by one isn't seen. Code that is loaded so and launched by the driver's other
 * functions is counted then, as not instrumented; what is launched so, too, would be missed. None
 * of the tables below was seen to be used for either by libraries of CUDA 12 and 13. Any other one
 * makes the run partial, by a line that names the library that has it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/load/load.h"
#include "race/file/shm_write.h"
#include "race/gap.h"

#define NOTES_MAX 8u

CUresult (*load_real_table)(const void **, const CUuuid *);

/* By what asks for them, seen on an H100, driver 580: 26 programs, PyTorch, cuDNN, JAX, CuPy. */
static const unsigned char known[][16] = {
	/* CUDA's runtime, of 13 */
	{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
	 0xd9},
	{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
	 0xf9},
	{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
	 0x66},
	{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
	 0xdc},
	{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
	 0x93},
	{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
	 0x7e},
	{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
	 0xf2},
	/* cuBLASLt */
	{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
	 0xf2},
	/* NVML, which PyTorch, Triton and JAX ask */
	{0x69, 0xa2, 0x8e, 0x9f, 0x24, 0x49, 0x8b, 0x47, 0xb0, 0x30, 0xc5, 0xda, 0x33, 0x0e, 0xa4,
	 0xe9},
	/* NVRTC */
	{0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3,
	 0x28},
};

static bool is_known(const CUuuid *id)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!memcmp(id->bytes, known[i], sizeof(known[i])))
			return true;
	return false;
}

/* Profilers and debuggers, which watch a program's launches and make none. */
static bool is_tool(const char *name)
{
	static const char *const tools[] = {"libcupti.so", "libsanitizer-", "libnvperf_"};

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strncmp(name, tools[i], strlen(tools[i])))
			return true;
	return false;
}

/* Each table once, whoever asks. */
static bool is_new(const CUuuid *id)
{
	static CUuuid seen[NOTES_MAX];
	static uint32_t nseen;
	uint32_t n = __atomic_load_n(&nseen, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < NOTES_MAX; i++)
		if (!memcmp(&seen[i], id, sizeof(*id)))
			return false;
	n = __atomic_fetch_add(&nseen, 1, __ATOMIC_ACQ_REL);
	if (n < NOTES_MAX)
		seen[n] = *id;
	return n < NOTES_MAX;
}

static void note(const CUuuid *id, const char *name)
{
	const unsigned char *b = (const unsigned char *)id->bytes;

	race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
			  "%.100s has private functions of the driver (%02x%02x%02x%02x-%02x%02x-"
			  "%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x): what it loads and launches "
			  "by them isn't seen",
			  name, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
			  b[11], b[12], b[13], b[14], b[15]);
}

CUresult load_hook_table(const void **table, const CUuuid *id)
{
	const void *caller = forward_caller(__builtin_return_address(0));
	CUresult r = load_real_table(table, id);

	if (r != CUDA_SUCCESS || !id || is_known(id) || !load_is_on())
		return r;
	const char *name = load_file_of(caller);
	name = name && *name ? name : "a program";
	if (!is_tool(name) && is_new(id))
		note(id, name);
	return r;
}

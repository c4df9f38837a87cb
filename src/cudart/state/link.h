/*
 * link.h - inside src/cudart: images (fat binaries, libraries), their kernels and variables.
 *
 *   image.c    parsing, loading on a device, look-up    library.c  what is loaded at run time
 *   launch.c   checks, parameters, work                 attr.c      attributes, occupancy
 *
 * An *image* is one unit of linking: a fat binary, all objects of an -rdc program, or a library
 * loaded at run time. It is parsed at first use and loaded on each device at the first use there.
 * One lock (rt_images_lock) guards all of it; it is taken before rt.lock, never after, and may be
 * held while text is parsed.
 */
#ifndef COLLIDER_CUDART_LINK_H
#define COLLIDER_CUDART_LINK_H

#include "base/table.h"

#include "cudart/state/internal.h"
#include "race/file/shm_write.h"

#define RT_API __attribute__((visibility("default")))

struct rt_image;

/* What cudaFuncSetAttribute has set, per device. */
struct rt_kern_attr {
	int max_dynamic; /* -1: what fits in 48 KB beside the static shared memory */
	int carveout;	 /* -1: default */
	int policy;
	uint32_t cluster[3]; /* 0: not set */
	bool must_cluster, may_nonportable;
};

/* A kernel: what cudaKernel_t and cudaFunction_t point to. Lives as long as its image. */
struct rt_kern {
	struct rt_kern *next; /* of the image */
	struct rt_image *image;
	const char *name;
	const void *host; /* host function; NULL: of a library */
	struct cpu_kernel *on[RT_DEVICES];
	struct cpu_kernel *plain[RT_DEVICES]; /* without checks; NULL: not wanted so far, or none */
	struct rt_kern_attr attr[RT_DEVICES];
	struct race_kernel_count *count; /* collider.c */
	struct race_launches launches;
	uint64_t *refused; /* launches; NULL: none so far */
	bool is_counted, is_reported;
	/* Which order of blocks its code follows; collider.c. */
	enum { RT_SHUFFLE_UNKNOWN, RT_SHUFFLE_PLAIN, RT_SHUFFLE_WAITING } order;
	UT_hash_handle hh; /* by host */
};

struct rt_var {
	struct rt_var *next; /* of the image */
	struct rt_image *image;
	const char *name;
	const void *host;  /* address of the host's shadow; managed: of the host's pointer to it */
	void **managed;	   /* where the address is kept for the host; NULL: not managed */
	UT_hash_handle hh; /* by host */
	uint64_t size;
};

/* The text of a part, as the program has it. */
struct rt_source {
	const char *file, *text;
	size_t size;
};

struct rt_image {
	struct rt_image *prev, *next;
	const void *data;		/* fat binary, or NULL */
	const void *const *relocatable; /* NULL-terminated, or NULL */
	char *text;	   /* of a library made of plain PTX; malloc'd; see data_size */
	void *copy;	   /* of a library's fat binary; malloc'd */
	size_t data_size;  /* of data, or of all texts */
	const char *where; /* for messages; in the arena */
	struct base_arena arena;
	BASE_VEC(char *) texts;
	BASE_VEC(struct ptx_module *) parts;
	BASE_VEC(struct rt_source) sources;	   /* of the parts */
	BASE_VEC(struct ptx_module *) plain_parts; /* without checks, when they are wanted */
	bool has_no_plain;			   /* they can't be had */
	unsigned sm;				   /* of the newest part */
	bool is_parsed, is_library;
	bool is_recorded;    /* its text, beside its launches (launches.c) */
	bool has_code_only;  /* a part had no PTX */
	enum rt_error error; /* of parsing or linking: what its kernels return */
	struct cpu_module *on[RT_DEVICES], *plain[RT_DEVICES];
	bool is_instrumented;
	bool has_history; /* with a detector that has words */
	struct rt_kern *kerns;
	struct rt_var *vars;
};

/* launches.c: the words of a launch's parameters. */
struct rt_words {
	struct race_param_word *v;
	size_t n, cap;
};
void rt_launches_words(const struct cpu_launch *l, struct rt_words *out);
/* As a line of JSON, without the words that may be anything (NULL: all are there), with what the
 * array of each holds (NULL: without). */
struct race_contents;
void rt_launches_put(const struct cpu_launch *l, const struct rt_words *words, const bool *is_any,
		     const struct race_contents *holds, struct base_buf *shown);

void rt_images_lock(void);
void rt_images_unlock(void);

/* ---- image.c. All with the images' lock held. ------------------------------------------------ */

struct rt_image *rt_image_new(void);
/* Is this an image of the list? It may be anything. */
bool rt_image_is(const void *p);
/* Its part of the program was unloaded (dlclose, exit): it is no longer found, but kernels that
 * still run keep their code. Its memory is not freed. */
void rt_image_retire(struct rt_image *im);
/* Unloads and frees it with its kernels and variables; nothing of it may run. */
void rt_image_free(struct rt_image *im);
struct rt_image *rt_image_first(void);
/* Parses what has not been parsed; returns the image's error. */
enum rt_error rt_image_parse(struct rt_image *im);
/* Makes the image's module on the device; *out may be NULL. */
enum rt_error rt_image_load(struct rt_image *im, unsigned device, struct cpu_module **out);
/* Adds a kernel (host may be NULL). The name is copied. NULL: out of memory. */
struct rt_kern *rt_kern_add(struct rt_image *im, const char *name, const void *host);
struct rt_var *rt_var_add(struct rt_image *im, const char *name, const void *host, uint64_t size,
			  void **managed);
/* By host function or handle; NULL: none. */
struct rt_kern *rt_kern_find(const void *func);
struct rt_var *rt_var_find(const void *symbol);
/* Its kernel on a device. */
enum rt_error rt_kern_load(struct rt_kern *k, unsigned device, struct cpu_kernel **out);
/* The same kernel without checks, after rt_kern_load; NULL: it can't be had, which the report says.
 * plain.c */
struct cpu_kernel *rt_kern_plain(struct rt_kern *k, unsigned device);
/* Is the CPU device unable to run it? Prints the reason once. Images' lock held. */
bool rt_kern_is_refused(struct rt_kern *k, struct cpu_kernel *kernel);

/* ---- library.c. Locks not held. ------------------------------------------------------------- */

/* The image of a library's handle; NULL: none. */
struct rt_image *rt_library_find(const void *library);
/* `size`: SIZE_MAX if only the content shows it. `where` (may be NULL) is for messages. */
enum rt_error rt_library_load(struct rt_image **library, const void *code, size_t size,
			      const char *where);
enum rt_error rt_library_load_file(struct rt_image **library, const char *path);
enum rt_error rt_library_unload(const void *library);
/*
 * PTX for this device in a file of machine code: in the padding of the ELF header's e_ident stands
 * RT_APPENDED, and after all that the header describes are texts, each with its NUL, and one more
 * NUL. Plug-ins of compilers write it, and cuLinkComplete.
 */
#define RT_APPENDED "CLDRPTX"
/* The first of the texts; NULL: none are there. */
const char *rt_library_appended(const void *code);
/* Why the calling thread's last load failed, for the driver's log buffers; "": it hasn't. */
const char *rt_load_log(void);
/* Its kernel, or *out is NULL. */
enum rt_error rt_library_kernel(const void *library, const char *name, struct rt_kern **out);
/* A variable of it on the current device. */
enum rt_error rt_library_variable(const void *library, const char *name, uint64_t *addr,
				  uint64_t *bytes);
/* Up to *n kernels; *n is how many there are. out may be NULL. */
enum rt_error rt_library_kernels(const void *library, struct rt_kern **out, size_t *n);

/* ---- attr.c ---------------------------------------------------------------------------------- */

/* A kernel's attributes by the driver's numbers; those from RT_ATTR_DYNAMIC on can be set and are
 * the runtime's, too. */
enum {
	RT_ATTR_THREADS,
	RT_ATTR_SHARED,
	RT_ATTR_CONST,
	RT_ATTR_LOCAL,
	RT_ATTR_REGISTERS,
	RT_ATTR_PTX,
	RT_ATTR_BINARY,
	RT_ATTR_CACHE,
	RT_ATTR_DYNAMIC,
	RT_ATTR_CARVEOUT,
	RT_ATTR_MUST_CLUSTER,
	RT_ATTR_CLUSTER_WIDTH,
	RT_ATTR_CLUSTER_HEIGHT,
	RT_ATTR_CLUSTER_DEPTH,
	RT_ATTR_NON_PORTABLE,
	RT_ATTR_POLICY
};
/* All that can be asked of one; false: there is no such attribute. */
struct rt_query;
bool rt_query_attr(const struct rt_query *q, int attr, int *value);
enum rt_error rt_kern_set_attr(struct rt_kern_attr *a, const struct cpu_kernel_info *info, int attr,
			       int value);
/* A kernel on the current device, for questions about it. On success the images' lock is held. */
struct rt_query {
	struct rt_kern *k;
	struct cpu_kernel *kernel;
	struct cpu_kernel_info info;
	unsigned device;
};
enum rt_error rt_query_begin(struct rt_query *q, rt_ref func);
/* Blocks of a multiprocessor. */
uint32_t rt_query_blocks(const struct rt_query *q, uint64_t threads, size_t shared);
/* Dynamic shared memory with which so many blocks fit; UINT64_MAX: they never do. */
uint64_t rt_query_dynamic(const struct rt_query *q, uint32_t blocks, uint64_t threads);
/* Clusters of `size` blocks that run at the same time. */
uint64_t rt_query_clusters(const struct rt_query *q, uint64_t threads, size_t shared,
			   uint64_t size);
/* The same for a launch's cluster (0: the kernel's); the largest size of which one runs. */
enum rt_error rt_query_active_clusters(const struct rt_query *q, uint64_t threads, size_t shared,
				       const uint32_t *cluster, int *out);
int rt_query_cluster_size(const struct rt_query *q, uint64_t threads, size_t shared);
/* Dynamic shared memory that a launch may request on the device now. Lock held. */
uint64_t rt_kern_dynamic_limit(const struct rt_kern *k, unsigned device,
			       const struct cpu_kernel_info *info);
/* Threads of a block that the registers allow. */
uint32_t rt_kern_max_threads(const struct cpu_kernel_info *info);

/* ---- launch.c -------------------------------------------------------------------------------- */

/* The attributes of a launch. */
struct rt_shape {
	uint32_t cluster[3]; /* 0: none */
	bool is_cooperative, is_programmatic;
	rt_ref event; /* to be set to the launch; NULL: none */
};
/* Launches on the stream; fills in l's device. Lock not held. */
enum rt_error rt_launch(struct rt_launch *l, rt_ref stream, struct rt_shape *shape,
			bool is_per_thread);

#endif

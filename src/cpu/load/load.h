/*
 * load.h - what load.c, slots.c and decode.c share: a module's inside.
 *
 * load.c makes one struct load_func per PTX function and one struct load_var per
 * variable that has storage; names are resolved per part (objects linked together
 * have their own static names). slots.c gives each register of a function a slot,
 * decode.c makes code. Everything lives in the module's arena.
 */
#ifndef COLLIDER_CPU_LOAD_H
#define COLLIDER_CPU_LOAD_H

#include "base/table.h"

#include "cpu/machine.h"
#include "flow/flow.h"
#include "race/detector.h"

#define LOAD_ALIGN(x, a) (((x) + ((a)-1)) & ~((a)-1))
#define CPU_PARAM_MAX	 (1u << 20) /* bytes of a .param area */

/* ---- slots.c ------------------------------------------------------------------- */

/*
 * A *lane register* is what has a slot: a register, or one component of a vector register
 * (numbered after all others).
 */
struct cpu_slots {
	uint32_t *slot;	 /* by lane register: number within its class, or CPU_NOSLOT */
	uint8_t *cls;	 /* by lane register: enum cpu_class */
	uint8_t *vec;	 /* by register: components, 1, 2 or 4; NULL: no vector registers */
	uint32_t *comps; /* by register: lane register of component x */
	uint32_t count[CPU_CLASSES];
	uint32_t max_words; /* 32-bit words live at the same time */
	uint32_t *first;    /* lane registers that may be live at the start */
	uint32_t nfirst;
};

enum cpu_class cpu_class_of(enum ptx_type t);
/* Chooses the slots; the result lives in `arena`. Uses and changes statements' marks. */
struct cpu_slots *cpu_slots_make(struct base_arena *arena, struct flow *fl);

/* ---- load.c -------------------------------------------------------------------- */

/* A variable with storage, at module scope or static in a function. */
struct load_var {
	const char *name;
	struct ptx_var *decl; /* its definition */
	struct load_part *part;
	uint64_t addr; /* global, const: host address; shared: offset in the window */
	uint64_t bytes;
	uint32_t align;
	bool is_module;		/* can be queried by name */
	bool is_dynamic;	/* extern .shared x[] */
	bool is_elsewhere;	/* it has its address, and holds what is there (places.c) */
	uint32_t *kernels;	/* shared: numbers of kernels that reach it, while laying out */
	uint32_t nkernels, cap; /* of that list */
	uint32_t stamp;
};

/* Which variable a declaration stands for. */
struct load_ref {
	const struct ptx_var *decl;
	struct load_var *var;
	UT_hash_handle hh;
};

struct load_func {
	struct cpu_func f; /* first: a cpu_func is one of these */
	struct load_part *part;
	struct cpu_slots *slots;
	struct load_func **callees;
	struct load_var **shared; /* variables of .shared space that it names */
	const char *why;    /* no thread can execute it: one line, with its place; NULL: they can */
	bool is_vetted;	    /* kernel.c: no instruction is missing, or `why` says it */
	bool is_incomplete; /* because it names what another object might define */
	uint32_t ncallees, nshared;
	uint32_t area;	  /* bytes of its .param area */
	uint32_t hidden;  /* of them, from `own` on, for calls with operands in registers */
	bool has_pointer; /* its address is taken */
	bool calls_pointer, has_calls;
	bool calls_heap;      /* malloc or free */
	bool calls_system;    /* these, or another function of the machine's own */
	bool is_inserted;     /* all of it, by name */
	bool is_instrumented; /* some of it */
	bool is_ready;
	uint32_t stamp;
};

/* A name of one part, or (mod->names) one that is visible to all. */
struct load_name {
	struct ptx_str text;
	struct load_func *func; /* one of these */
	struct load_var *var;
	cpu_syscall *syscall;
	struct cpu_kernel *kernel; /* in mod->kernel_names only */
	bool is_weak;		   /* another definition may replace it */
	UT_hash_handle hh;
};

struct load_part {
	struct ptx_module *m;
	struct load_name *names; /* of this part */
};

struct cpu_module {
	struct cpu_machine *m;
	struct cpu_module *of;		 /* the same module with checks (twin.c); NULL: none */
	struct load_func **twins;	 /* then: by number of its functions, ours; NULL: none */
	const struct cpu_places *places; /* while loading; NULL: they are its own */
	struct load_func **by_address;	 /* those with an address from `places`, rising */
	uint32_t nby_address;
	unsigned device;
	struct base_arena arena;
	struct base_sink *sink; /* while loading */
	struct load_part *parts;
	unsigned nparts;
	struct load_name *names;
	struct load_ref *refs;
	BASE_VEC(struct load_func *) funcs;
	BASE_VEC(struct load_var *) vars;
	BASE_VEC(struct cpu_kernel *) kernels;
	struct load_name *kernel_names;
	struct cpu_layout device_layout; /* of all that can be called */
	bool has_device_layout;
	uint64_t code; /* address of function 0 */
	uint32_t ncodes;
	void *blocks[4]; /* of load_place_globals */
	uint64_t const_bytes;
	uint32_t stamp;
	bool has_failed;
	bool has_refused; /* a function or kernel of it has a reason not to run */
};

#define LOAD_CODE_STEP 16u /* between the addresses of functions */

/* The function, variable or system call that a name means in a part; NULL: none. */
struct load_name *load_find(struct cpu_module *mod, struct load_part *part, struct ptx_str name);
/* The variable of a declaration, or NULL (a .local or .param one, or undefined). */
struct load_var *load_var_of(struct cpu_module *mod, const struct ptx_var *decl);
uint32_t load_param_align(const struct ptx_param *p);
uint32_t load_var_align(const struct ptx_var *v);
void load_error(struct cpu_module *mod, const struct load_part *part, uint32_t line, uint32_t col,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The same of one function: the module is loaded, but what calls the function can't be launched.
 * The first reason is kept. */
void load_refuse(struct cpu_module *mod, struct load_func *lf, uint32_t line, uint32_t col,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* scan.c: what each function calls and names, the size of its frames. False: an error. */
bool load_scan(struct cpu_module *mod);

/* layout.c */
/* Gives variables of .global and .const space memory and their initial values. */
bool load_place_globals(struct cpu_module *mod);
/* Gives .shared variables their offsets, kernels their sizes of shared memory. */
void load_place_shared(struct cpu_module *mod);

/* twin.c: variables and functions get the addresses of mod->of. False: they differ. */
bool load_place_as(struct cpu_module *mod);
void load_number_as(struct cpu_module *mod);
/* places.c: functions, and variables before they are laid out, get another machine's addresses. */
void load_number_placed(struct cpu_module *mod);
void load_place_elsewhere(struct cpu_module *mod);
/* The function that has the address there, or NULL. */
struct load_func *load_func_placed(const struct cpu_module *mod, uint64_t address);
/* layout.c: an initialiser of the variable takes functions' addresses: says so of these. */
bool load_note_pointers(struct cpu_module *mod, struct load_var *v);
/* Does it lie in memory of the device? */
bool load_is_placed(const struct load_var *v);

/* kernel.c */
void load_make_kernels(struct cpu_module *mod);
/* Calls fn for every function that `lf` may reach, itself included. */
void load_each_reached(struct cpu_module *mod, struct load_func *lf,
		       void (*fn)(struct load_func *lf, void *arg), void *arg);

/* traits.c: of the kernel `lf` and all that it may reach; under kernel.c's lock. */
void load_find_traits(struct cpu_module *mod, struct load_func *lf, struct cpu_traits *out);

/* decode.c */
static inline bool load_is_inserted_name(struct ptx_str name)
{
	return race_is_inserted_name(name.p, name.n);
}
/* Slots of `lf`, if it has none yet. */
void load_need_slots(struct load_func *lf);
/* Completes a layout from counts: starts and frame. */
void load_finish_layout(struct cpu_layout *l);

#endif

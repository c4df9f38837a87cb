/*
 * inner.h - inside src/cudart/entries: an object file's symbols, code and known runtimes.
 *
 * All of it runs before the C library has initialised itself (the library is linked with -z
 * initfirst), and within the loader: no stdio, no malloc, no environment.
 */
#ifndef COLLIDER_CUDART_ENTRIES_INNER_H
#define COLLIDER_CUDART_ENTRIES_INNER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of a loaded object, mapped to be read. */
struct entries_file {
	const unsigned char *p;
	size_t n;
	const Elf64_Phdr *segments;
	size_t nsegments;
	const Elf64_Shdr *sections; /* NULL: none, or none that can be read */
	size_t nsections;
	const Elf64_Shdr *names; /* of sections; NULL: none */
};

/* Maps the file. False: it isn't there, or no ELF file of this machine. */
bool entries_file_open(struct entries_file *f, const char *path);
void entries_file_close(struct entries_file *f);
/* Is there a section of this name? */
bool entries_file_has_section(const struct entries_file *f, const char *name);

/*
 * Calls `visit` for each defined function of the section's symbols (a SHT_SYMTAB or SHT_DYNSYM)
 * whose name begins with "cuda" or "__cuda", until it returns false. `at`: the symbol's value;
 * `bytes`: its size.
 */
void entries_file_functions(const struct entries_file *f, const Elf64_Shdr *symbols,
			    bool (*visit)(void *ctx, const char *name, uint64_t at, uint64_t bytes),
			    void *ctx);
/* May the section's symbols define the function, by the bytes of its names? */
bool entries_file_mentions(const struct entries_file *f, const Elf64_Shdr *symbols,
			   const char *name);
/* Are the n bytes at this value of a symbol in a segment of code? */
bool entries_file_is_code(const struct entries_file *f, uint64_t at, uint64_t n);

/*
 * A runtime that is known by its code, in an executable without symbols (known.c): calls `visit`
 * for each of its functions. Returns whether the file has it.
 */
bool entries_known(const struct entries_file *f,
		   bool (*visit)(void *ctx, const char *name, uint64_t at, uint64_t bytes),
		   void *ctx);

/* Makes the pages of n bytes at p writable and executable, or executable only again. */
bool entries_unlock(void *p, size_t n);
void entries_lock(void *p, size_t n);
/* jump_x86_64.c, jump_aarch64.c: writes a jump to `to` at p, whose page is unlocked; its bytes. */
extern const size_t entries_jump;
void entries_put_jump(void *p, const void *to);
/* Writes a call of `to` with `text` that returns to the caller's caller: 32 bytes at most. */
#define ENTRIES_CALL 32u
void entries_put_call(void *p, const char *text, const void *to);
/* The loader's empty function at p becomes a jump to `to`. False: it can't, and stays as it is. */
bool entries_put_listener(unsigned char *p, const void *to);

/* Lets `seen` be called after the loader has mapped new objects, before it relocates and
 * initialises them, and after it has removed some. False: this loader has another form. */
bool entries_listen(void (*seen)(void));

#endif

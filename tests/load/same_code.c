/*
 * same_code.c - are two cubins the same program? same_code A B
 *
 * All sections are compared but those that say how the file was made: notes, and what debuggers
 * read.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
	char *p;
	size_t n;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
};

static bool file_read(struct file *f, const char *path)
{
	FILE *in = fopen(path, "r");

	f->p = calloc(1, 16u << 20);
	if (!in || !f->p)
		return false;
	f->n = fread(f->p, 1, 16u << 20, in);
	fclose(in);
	f->head = (const Elf64_Ehdr *)(const void *)f->p;
	if (f->n < sizeof(*f->head) || memcmp(f->p, ELFMAG, SELFMAG) != 0 ||
	    f->head->e_shoff + f->head->e_shnum * sizeof(Elf64_Shdr) > f->n)
		return false;
	f->sections = (const Elf64_Shdr *)(const void *)(f->p + f->head->e_shoff);
	return true;
}

static const char *name_of(const struct file *f, const Elf64_Shdr *s)
{
	return f->p + f->sections[f->head->e_shstrndx].sh_offset + s->sh_name;
}

static const Elf64_Shdr *find(const struct file *f, const char *name)
{
	for (unsigned i = 1; i < f->head->e_shnum; i++)
		if (!strcmp(name_of(f, &f->sections[i]), name))
			return &f->sections[i];
	return NULL;
}

static bool is_of_making(const char *name)
{
	return strstr(name, "debug") || !strncmp(name, ".note", 5) || strstr(name, "strtab") ||
	       !strcmp(name, ".symtab");
}

/* Each section of a is in b. */
static int compare(const struct file *a, const struct file *b)
{
	int differ = 0;

	for (unsigned i = 1; i < a->head->e_shnum; i++) {
		const Elf64_Shdr *s = &a->sections[i];
		const char *name = name_of(a, s);
		const Elf64_Shdr *o = find(b, name);
		bool is_same = o && o->sh_size == s->sh_size && o->sh_type == s->sh_type;

		if (is_of_making(name))
			continue;
		if (is_same && s->sh_type != SHT_NOBITS)
			is_same = !memcmp(a->p + s->sh_offset, b->p + o->sh_offset, s->sh_size);
		if (is_same)
			continue;
		printf("section %s differs\n", name);
		differ = 1;
	}
	return differ;
}

int main(int argc, char **argv)
{
	struct file a, b;

	if (argc != 3 || !file_read(&a, argv[1]) || !file_read(&b, argv[2])) {
		printf("no cubins: %s %s\n", argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
		return 2;
	}
	return compare(&a, &b) || compare(&b, &a);
}

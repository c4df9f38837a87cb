/*
 * calls.c - writes the list of the driver's functions that can be listened to, at build time.
 *
 *     forward_calls generated_cuda_meta.h cupti_driver_cbid.h cuda.h calls.inc
 *
 * CUPTI's headers have a structure of parameters and a number for each function; one line of the
 * list is a function's name, its parameters as declared, and their names:
 *
 *     CALL(cuInit, (unsigned int Flags), Flags)
 *     CALL_NOTHING(cuCtxSynchronize)
 *
 * The second kind has no parameters, and so no structure: cuda.h says which those are.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRUCT_START "typedef struct "
#define STRUCT_END   "_params_st {"
#define NUMBER	     "CUPTI_DRIVER_TRACE_CBID_"
#define PARAMETERS   64
#define NAME_ROOM    128

/* A file's text, malloc'd; NULL: it can't be read. */
static char *read_text(const char *path)
{
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	long n = -1;

	if (in && fseek(in, 0, SEEK_END) == 0 && (n = ftell(in)) >= 0 &&
	    fseek(in, 0, SEEK_SET) == 0)
		text = malloc((size_t)n + 1);
	if (text && fread(text, 1, (size_t)n, in) == (size_t)n) {
		text[n] = 0;
	} else {
		free(text);
		text = NULL;
	}
	if (in)
		fclose(in);
	return text;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Has the function a number? */
static bool has_number(const char *numbers, const char *name)
{
	char word[NAME_ROOM + sizeof(NUMBER)];
	int n = snprintf(word, sizeof(word), NUMBER "%s", name);

	for (const char *p = strstr(numbers, word); p; p = strstr(p + n, word))
		if (!is_word(p[n]))
			return true;
	return false;
}

/* One parameter, "    CUfunction f;" without its end: where its name begins. */
static const char *name_in(const char *field, size_t n)
{
	while (n && is_word(field[n - 1]))
		n--;
	return field + n;
}

/* Writes the line of the structure whose fields begin at p; false: it is not as expected. */
static bool write_call(FILE *out, const char *name, const char *p)
{
	const char *field[PARAMETERS];
	size_t length[PARAMETERS], n = 0;

	while (*(p += strspn(p, " \t\r\n")) != '}') {
		size_t m = strcspn(p, ";{}[");
		if (p[m] != ';' || n == PARAMETERS)
			return false;
		field[n] = p;
		length[n++] = m;
		p += m + 1;
	}
	if (!n)
		return false;
	fprintf(out, "CALL(%s, (", name);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%.*s", i ? ", " : "", (int)length[i], field[i]);
	fprintf(out, ")");
	for (size_t i = 0; i < n; i++) {
		const char *own = name_in(field[i], length[i]);
		fprintf(out, ", %.*s", (int)(field[i] + length[i] - own), own);
	}
	fprintf(out, ")\n");
	return true;
}

/* How many, or -1. */
static int write_calls(FILE *out, const char *structs, const char *numbers)
{
	int count = 0;

	for (const char *p = strstr(structs, STRUCT_START); p; p = strstr(p + 1, STRUCT_START)) {
		const char *word = p + strlen(STRUCT_START), *end = strstr(word, STRUCT_END);
		char name[NAME_ROOM];
		size_t n = end ? (size_t)(end - word) : 0;

		if (!n || n >= sizeof(name) || memchr(word, '\n', n) || strncmp(word, "cu", 2) != 0)
			continue;
		memcpy(name, word, n);
		name[n] = 0;
		if (!has_number(numbers, name))
			continue;
		if (!write_call(out, name, end + strlen(STRUCT_END)))
			return -1;
		count++;
	}
	return count;
}

/* Functions without parameters: "CUresult CUDAAPI cuCtxSynchronize(void);". */
static void write_nothings(FILE *out, const char *declared, const char *numbers)
{
	static const char end[] = "(void);";

	for (const char *p = strstr(declared, end); p; p = strstr(p + 1, end)) {
		const char *own = p;
		char name[NAME_ROOM];
		size_t n;

		while (own > declared && is_word(own[-1]))
			own--;
		n = (size_t)(p - own);
		if (n < 3 || n >= sizeof(name) || strncmp(own, "cu", 2) != 0)
			continue;
		memcpy(name, own, n);
		name[n] = 0;
		if (has_number(numbers, name))
			fprintf(out, "CALL_NOTHING(%s)\n", name);
	}
}

int main(int argc, char **argv)
{
	char *text[3] = {NULL, NULL, NULL};

	if (argc != 5) {
		fprintf(stderr, "usage: forward_calls generated_cuda_meta.h cupti_driver_cbid.h "
				"cuda.h calls.inc\n");
		return 64;
	}
	for (int i = 0; i < 3; i++) {
		text[i] = read_text(argv[i + 1]);
		if (!text[i]) {
			fprintf(stderr, "%s: can't be read\n", argv[i + 1]);
			return 66;
		}
	}
	FILE *out = fopen(argv[4], "w");
	if (!out) {
		perror(argv[4]);
		return 74;
	}
	fprintf(out, "/* Made by calls.c: the functions of the driver that CUPTI knows. */\n");
	int n = write_calls(out, text[0], text[1]);
	write_nothings(out, text[2], text[1]);
	for (int i = 0; i < 3; i++)
		free(text[i]);
	if (fclose(out) != 0) {
		perror(argv[4]);
		return 74;
	}
	if (n < 100) {
		fprintf(stderr, "%s: no list of functions\n", argv[1]);
		return 66;
	}
	return 0;
}

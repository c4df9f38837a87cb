/*
 * main.c - host code that sums what a kernel writes; with the argument `wait` it waits for the
 * kernel.
 *
 * Without, the sum may be made of old and new numbers. docs/host.md shows how Collider reports it.
 */
#include <stdio.h>
#include <string.h>

#include "numbers.h"

static unsigned sum(const unsigned *numbers)
{
	unsigned s = 0;

	for (unsigned i = 0; i < COUNT; i++)
		s += numbers[i]; /* race: no wait */
	return s;
}

int main(int argc, char **argv)
{
	unsigned *numbers = numbers_make();

	if (!numbers)
		return 1;
	numbers_fill(numbers);
	if (argc > 1 && !strcmp(argv[1], "wait") && !numbers_wait())
		return 1;
	printf("%u\n", sum(numbers));
	return !numbers_wait();
}

/*
 * spellings.c - reads instruction spellings, one per line, and prints those not known in full.
 *
 * The last line counts both; exit code 1 if any was unknown, or if there was no input at all.
 */
#include "ptx/ptx.h"
#include "ptx/forms.h"

#include <string.h>

int main(void)
{
	struct base_arena arena = {0};
	struct ptx_forms *forms = ptx_forms_new(&arena);
	char line[1024];
	unsigned all = 0, unknown = 0;

	while (fgets(line, sizeof(line), stdin)) {
		struct ptx_str text = {line, (uint32_t)strcspn(line, "\n")};
		const struct ptx_form *f;

		if (!text.n)
			continue;
		f = ptx_forms_intern(forms, text);
		all++;
		if (!(f->effects & PTX_EFF_UNKNOWN))
			continue;
		unknown++;
		printf("unknown: %.*s (opcode %s)\n", (int)text.n, text.p, ptx_op_name(f->op));
	}
	printf("%u spellings, %u unknown\n", all, unknown);
	base_arena_free(&arena);
	return unknown || !all;
}

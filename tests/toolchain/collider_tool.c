/*
 * collider_tool.c - the three stand-ins alone, dispatched as the collider program does it.
 *
 * `collider_tool nvcc ARGS`, `collider_tool ptxas ARGS`, or by the name it is called with.
 */
#include "toolchain/toolchain.h"
#include "base/base.h"

#include <string.h>

int main(int argc, char **argv)
{
	tool_main *run = tool_by_name(argv[0]);

	if (run)
		return run(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "nvcc"))
		return tool_nvcc(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "ptxas"))
		return tool_ptxas(argc - 1, argv + 1);
	base_say("expected nvcc or ptxas, found %s", argc > 1 ? argv[1] : "nothing");
	return BASE_EXIT_USAGE;
}

// rows.cu - the kernels of tests/hirace/rows.h under iguard (cases.h).
#include "cases.h"

#define FLAG c.flag
#include "../hirace/rows.h"

#define LAUNCHES "rows_launches.h"
#include "main.h"

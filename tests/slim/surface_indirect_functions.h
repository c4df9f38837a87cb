// surface_indirect_functions.h - like sm_32_intrinsics.h here: for programs that include it.
#if __cplusplus >= 201703L || defined(COLLIDER_SLIM_SURFACE)
#include_next <surface_indirect_functions.h>
#else
#define COLLIDER_SLIM_SURFACE
#endif

// texture_indirect_functions.h - like sm_32_intrinsics.h here: for programs that include it.
#if __cplusplus >= 201703L || defined(COLLIDER_SLIM_TEXTURE)
#include_next <texture_indirect_functions.h>
#else
#define COLLIDER_SLIM_TEXTURE
#endif

// sm_32_intrinsics.h - cuda_runtime.h brings 90 KB of __ldg, __ldcg, __stcg and their like into
// each program, which nvcc reads four times. The few programs of the tests that use them include
// this header themselves; C++17 programs have it.
#if __cplusplus >= 201703L || defined(COLLIDER_SLIM_SM_32)
#include_next <sm_32_intrinsics.h>
#else
#define COLLIDER_SLIM_SM_32
#endif

#!/bin/sh
# bare.sh FOLDER COLLIDER NVCC - programs find the CPU device in FOLDER by LD_LIBRARY_PATH alone and run as on a GPU: those
# that are linked with the driver's library, with a shared runtime, with a static one and the driver's, and those that open
# the driver's library. A static runtime alone opens it too late: one line says so. All run with COLLIDER, too.
set -eu
folder=$1 collider=$2 nvcc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU LD_PRELOAD LD_LIBRARY_PATH
failed=0
fail() {
	echo "FAILED: $*"
	sed 's/^/  /' out
	failed=1
}
include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include

# The driver's API, from two threads with a lock.
cat >driver.c <<'EOF'
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry fill(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<2>;\n"
	"ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
	"add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
#ifdef OPENED /* OPENED: the flags */
static void *library;
#define F(name) ((__typeof__(name) *)dlsym(library, #name))
#else
#define F(name) name
#endif
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static CUcontext context;
static int bad;
static void *use(void *arg)
{
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	int host[64] = {0}, sum = 0;
	void *args[] = {&p};

	pthread_mutex_lock(&lock);
	while (!context)
		pthread_cond_wait(&made, &lock);
	pthread_mutex_unlock(&lock);
	bad = F(cuCtxSetCurrent)(context) || F(cuModuleLoadData)(&m, text) ||
	      F(cuModuleGetFunction)(&f, m, "fill") || F(cuMemAlloc_v2)(&p, sizeof(host)) ||
	      F(cuLaunchKernel)(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL) ||
	      F(cuMemcpyDtoH_v2)(host, p, sizeof(host));
	for (int i = 0; i < 64; i++)
		sum += host[i];
	printf("sum %d\n", sum);
	return arg;
}
int main(void)
{
	CUdevice d;
	CUcontext c;
	pthread_t t;

#ifdef OPENED
	library = dlopen("libcuda.so.1", OPENED);
	if (!library)
		return puts(dlerror()), 2;
#endif
	if (F(cuInit)(0) || F(cuDeviceGet)(&d, 0) || F(cuDevicePrimaryCtxRetain)(&c, d) ||
	    pthread_create(&t, NULL, use, NULL))
		return 1;
	pthread_mutex_lock(&lock);
	context = c;
	pthread_cond_signal(&made);
	pthread_mutex_unlock(&lock);
	return pthread_join(t, NULL) || bad;
}
EOF
cat >runtime.cu <<'EOF'
#include <cstdio>
__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }
#ifdef BOTH
#include <cuda.h>
#define copied(h, p) (cuMemcpyDtoH(h, (CUdeviceptr)p, sizeof(h)) == CUDA_SUCCESS)
#else
#define copied(h, p) (cudaMemcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess)
#endif
int main()
{
	int *p = nullptr, h[64] = {}, sum = 0;
	if (cudaMalloc(&p, sizeof(h)) != cudaSuccess)
		return 3;
	fill<<<1, 64>>>(p);
	if (!copied(h, p))
		return 4;
	for (int i : h)
		sum += i;
	printf("sum %d\n", sum);
	return 0;
}
EOF
driver="$folder/libcuda.so.1"
cc_driver() { cc -I"$include" driver.c "$@" -Wl,--allow-shlib-undefined -pthread -ldl; }
build() { "$nvcc" -arch=compute_80 -Wno-deprecated-gpu-targets runtime.cu "$@" -Xlinker --allow-shlib-undefined; }
cc_driver -o driver "$driver"
cc_driver -o driver_now -Wl,-z,now "$driver"
cc_driver -o driver_after -Wl,--no-as-needed -lc "$driver"
cc_driver -o opened -DOPENED=RTLD_NOW
cc_driver -o opened_global -DOPENED='RTLD_LAZY|RTLD_GLOBAL'
cc_driver -o opened_deep -DOPENED='RTLD_NOW|RTLD_DEEPBIND'
build -cudart shared -o shared
build -cudart shared -DBOTH -Xlinker "$driver" -o shared_both
build -DBOTH -Xlinker "$driver" -o static_both
build -o static

by_path() { LD_LIBRARY_PATH=$folder timeout 100 "./$1" >out 2>&1; }
by_collider() { timeout 100 "$collider" run --device=cpu --fail-partial --error-exitcode=9 -- "./$1" >out 2>&1; }
for p in driver driver_now driver_after opened opened_global opened_deep shared shared_both static_both static; do
	for how in by_path by_collider; do
		want=0
		[ $p.$how != static.by_path ] || want=3
		rc=0
		$how $p || rc=$?
		[ $rc = $want ] || fail "$p $how: exit code $rc, expected $want"
		if [ $want = 0 ]; then
			grep -q '^sum 2016$' out || fail "$p $how: another sum"
		else
			grep -q 'had started before the CPU device was loaded; start the program with' out || fail "$p $how: no line"
			[ "$(grep -c . out)" = 1 ] || fail "$p $how: more than a line"
		fi
	done
done
exit $failed

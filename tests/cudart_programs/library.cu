/* Code that is loaded at run time: PTX text, good and bad. */
#include "expect.h"

#include <string>

static const char good[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<5>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.u32 %r1, [%rd2];
	ld.global.u32 %r2, [factor];
	mul.lo.s32 %r3, %r1, %r2;
	st.global.u32 [%rd2], %r3;
	ret;
}
)";

extern "C" void **__cudaRegisterFatBinary(void *);
extern "C" void __cudaRegisterFatBinaryEnd(void **);
extern "C" void __cudaUnregisterFatBinary(void **);
extern "C" void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *,
				       dim3 *, dim3 *, int *);

static cudaError_t load(cudaLibrary_t *lib, const char *text)
{
	return cudaLibraryLoadData(lib, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

int main()
{
	cudaLibrary_t lib, lib2;
	cudaKernel_t k, all[2];
	unsigned count;
	size_t bytes;
	void *factor;
	int *p, five = 5;

	if (is_cpu_device()) /* a GPU's driver reads it at the first use */
		EXPECT(load(&lib, ".version 8.0\n.target sm_90\n.visible .entry k( {"),
		       cudaErrorInvalidPtx);
	/* What ptxas refuses: a guard that is no predicate, an atom without brackets, a missing operand,
	 * registers of another size; and a fat binary's wrapper of a version that doesn't exist. */
	static const char *const wrong[] = {"@%r1 st.global.u32 [%d1], %r1;",
					    "atom.global.add.u32 %r1, %d1, %r1;", "st.global.u32 [%d1];",
					    "add.u32 %r1, %d1, %r1;"};
	for (const char *body : wrong)
		if (is_cpu_device())
			EXPECT(load(&lib, (std::string(".version 8.0\n.target sm_90\n.address_size 64\n"
						       ".visible .entry k()\n{\n.reg .b32 %r<3>;\n"
						       ".reg .b64 %d<3>;\n") +
					   body + "\nret;\n}\n")
						  .c_str()),
			       cudaErrorInvalidPtx);
	if (is_cpu_device()) {
		/* Addresses of nothing, and a size that no memory has. */
		static const unsigned long long large[] = {0x00100001ba55ed50, 1ull << 40}, *none[] = {nullptr, nullptr};
		static struct {
			unsigned magic, version;
			const void *data, *parts;
		} wrapper[] = {{0x466243b1, 7, good, (void *)16}, {0x466243b1, 1, (void *)16, nullptr},
			       {0x466243b1, 1, large, nullptr},	  {0x466243b1, 2, nullptr, (void *)16},
			       {0x466243b1, 2, nullptr, none}};
		for (auto &w : wrapper) {
			char *host = new char;
			void **handle = __cudaRegisterFatBinary(&w);
			__cudaRegisterFunction(handle, host, (char *)"k", "k", -1, 0, 0, 0, 0, 0);
			__cudaRegisterFatBinaryEnd(handle);
			EXPECT(cudaLaunchKernel(host, 1, 1, nullptr, 0, 0), cudaErrorInvalidKernelImage);
			__cudaUnregisterFatBinary(handle);
		}
	}
	OK(load(&lib, good));
	OK(load(&lib2, good)); /* a second one has variables of its own */
	OK(cudaLibraryGetKernelCount(&count, lib));
	THAT(count == 1);
	OK(cudaLibraryGetKernel(&k, lib, "scale"));
	OK(cudaLibraryEnumerateKernels(all, 2, lib));
	THAT(all[0] == k);
	EXPECT(cudaLibraryGetKernel(&all[1], lib, "nothing"), cudaErrorSymbolNotFound);
	OK(cudaLibraryGetGlobal(&factor, &bytes, lib, "factor"));
	THAT(bytes == 4);
	OK(cudaMemcpy(factor, &five, 4, cudaMemcpyHostToDevice));

	OK(cudaMallocManaged(&p, sizeof(*p)));
	*p = 7;
	void *args[] = {&p};
	OK(cudaLaunchKernel((void *)k, 1, 1, args, 0, 0));
	OK(cudaDeviceSynchronize());
	THAT(*p == 35);
	OK(cudaLibraryGetKernel(&k, lib2, "scale"));
	OK(cudaLaunchKernel((void *)k, 1, 1, args, 0, 0));
	OK(cudaDeviceSynchronize());
	THAT(*p == 105);
	OK(cudaLibraryUnload(lib2));
	if (is_cpu_device()) { /* they are gone; elsewhere they must not be used */
		EXPECT(cudaLaunchKernel((void *)k, 1, 1, args, 0, 0),
		       cudaErrorInvalidResourceHandle);
		EXPECT(cudaLibraryUnload(lib2), cudaErrorInvalidResourceHandle);
	}
	OK(cudaLibraryUnload(lib));
	puts("ok");
}

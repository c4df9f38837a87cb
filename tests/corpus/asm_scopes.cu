// Inline asm with scopes of its own: registers and labels that shadow, several copies of a label.
__device__ unsigned nested(unsigned a, unsigned b)
{
	unsigned r;

	asm volatile("{\n\t"
		     ".reg .u32 t, %%odd$name;\n\t"
		     ".reg .pred p;\n\t"
		     "mov.u32 t, %1;\n\t"
		     "{ .reg .u32 t; mov.u32 t, %2; add.u32 %%odd$name, t, 1; }\n\t"
		     "setp.gt.u32 p, t, %%odd$name;\n\t"
		     "@!p bra L_%=;\n\t"
		     "add.u32 t, t, %%odd$name;\n"
		     "L_%=:\n\t"
		     "{{ mov.u32 %0, t; }}\n\t"
		     "}"
		     : "=r"(r)
		     : "r"(a), "r"(b));
	return r;
}

__device__ unsigned labelled(unsigned a)
{
	/* The same label in each inlined copy: legal inside its scope. */
	asm volatile("{\n\t.reg .pred q;\n"
		     "AGAIN: add.u32 %0, %0, 3;\n\t"
		     "setp.lt.u32 q, %0, 100;\n\t"
		     "@q bra AGAIN;\n\t}"
		     : "+r"(a));
	return a;
}

__global__ void scopes(unsigned *a)
{
	unsigned v = a[threadIdx.x], x, y;

	v = nested(v, 3) + nested(7, v);
	v = labelled(v) + labelled(v + 1);
	asm("// a comment alone\n\t/* and another */ mov.b32 {%0, %1}, %2;"
	    : "=h"(*(unsigned short *)&x), "=h"(*(unsigned short *)&y)
	    : "r"(v));
	asm volatile("mov.u32 %0, %%laneid; mov.u32 %1, %%smid;" : "=r"(x), "=r"(y));
	asm volatile(".pragma \"nounroll\";");
	asm volatile("st.global.v2.u32 [%0+8], {%1, %2};" ::"l"(a), "r"(x), "r"(y) : "memory");
	asm volatile("" ::: "memory");
	a[threadIdx.x] = v;
}

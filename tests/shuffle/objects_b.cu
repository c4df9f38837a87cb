// objects_b.cu - see objects_a.cu.
__device__ __noinline__ unsigned other_block()
{
	return blockIdx.x;
}

/*
 * members.cu - members of structures that are given by value, in --param and --assume.
 *
 * Each is named as the program names it: nested, of a base, an element of an array. A value that
 * makes the rows too short races; that one word of the parameters is read as a part of a wider one
 * changes nothing.
 */

#define COLUMN (int)(blockIdx.x * 16 + threadIdx.x)
#define ROW    (int)(blockIdx.y * 8 + threadIdx.y)

struct extent {
	int width, height;
};

struct shape {
	int pitch;
};

struct picture : shape {
	float *pixels;
	extent size;
	int strides[3];
	const int *places;
};

// prove: row_of_base race-free --block-dim=16,8 --grid-dim=64,32 --param=p.pitch=1024
// prove: row_of_base race-free --block-dim=16,8 --grid-dim=64,32 --assume=p.pitch>=1024&&p.pitch<=4096
// prove: row_of_base true --block-dim=16,8 --grid-dim=64,32 --param=p.pitch=512
// prove: row_of_base vacuous --block-dim=16,8 --grid-dim=64,32 --param=p.none=1024
// prove: row_of_base vacuous --block-dim=16,8 --grid-dim=64,32 --param=p=1024
// prove: row_of_base vacuous --block-dim=16,8 --grid-dim=64,32 --param=p.pitch=0x100000000
__global__ void row_of_base(picture p)
{
	p.pixels[ROW * p.pitch + COLUMN] = 1.0f;
}

// prove: row_nested race-free --block-dim=16,8 --grid-dim=64,32 --param=p.size.width=1024
// prove: row_nested true --block-dim=16,8 --grid-dim=64,32 --param=p.size.width=1023
__global__ void row_nested(picture p)
{
	p.pixels[ROW * p.size.width + COLUMN] = 1.0f;
}

// prove: row_element race-free --block-dim=16,8 --grid-dim=64,32 --param=p.strides[1]=1024
// prove: row_element true --block-dim=16,8 --grid-dim=64,32 --param=p.strides[0]=1024,p.strides[1]=1
__global__ void row_element(int first, picture p)
{
	p.pixels[first + ROW * p.strides[1] + COLUMN] = 1.0f;
}

// prove: places_of race-free --block-dim=64 --grid-dim=8 --assume=injective(p.places)
// prove: places_of potential --block-dim=64 --grid-dim=8
__global__ void places_of(picture p)
{
	p.pixels[p.places[blockIdx.x * 64 + threadIdx.x]] = 1.0f;
}

union packed {
	long long all;
	extent parts;
};

// prove: row_packed race-free --block-dim=16,8 --grid-dim=64,32 --param=p.parts.width=1024
// prove: row_packed race-free --block-dim=16,8 --grid-dim=64,32 --param=p.all=0x700000400
// prove: row_packed potential racy --block-dim=16,8 --grid-dim=64,32 --param=p.parts.width=512
// prove: row_packed true --block-dim=16,8 --grid-dim=64,32 --param=p.parts.height=1024
__global__ void row_packed(packed p, float *y)
{
	y[ROW * (int)p.all + COLUMN] = 1.0f;
}

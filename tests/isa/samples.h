/*
 * samples.h - spellings in the manual's syntax with what they must decode to.
 *
 * MEMORY: everything about a memory or ordering form. SPELL: only that the
 * opcode ends at the bar and that every part after it is known.
 */
#define R PTX_EFF_READ
#define W PTX_EFF_WRITE
#define A PTX_EFF_ATOMIC
#define N PTX_EFF_NONTEMPORAL
#define B PTX_EFF_BARRIER
#define F PTX_EFF_FENCE
#define C PTX_EFF_CONVERGENT
#define Y PTX_EFF_ASYNC
#define T PTX_EFF_WAIT
#define M PTX_EFF_COLLECTIVE_MEM

/* clang-format off: one sample per line */
/* spelling, op, effects, space, source space, sem, scope, proxy, vec, width */
static const struct memory_sample {
	const char *text;
	enum ptx_op op;
	uint32_t effects;
	enum ptx_space space, space2;
	enum ptx_sem sem;
	enum ptx_scope scope;
	enum ptx_proxy proxy;
	unsigned vec, width;
} memory_samples[] = {
/* One sample per line. */
/* clang-format off */
#define S(text, op, eff, sp, sp2, sem, sc, px, vec, width)                                         \
	{text,		  PTX_OP_##op,	  eff,		  PTX_SPACE_##sp, PTX_SPACE_##sp2,         \
	 PTX_SEM_##sem, PTX_SCOPE_##sc, PTX_PROXY_##px, vec,		width},
/* weak loads and stores: cache operators and hints change nothing */
S("ld.u32", LD, R, GENERIC, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.weak.u32", LD, R, GENERIC, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.global.f64", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 8)
S("ld.global.cg.u32", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.global.cv.u32", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.global.ca.b8", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 1)
S("ld.global.cs.v2.f32", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 2, 4)
S("ld.global.lu.s16", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 2)
S("ld.weak.global.L1::evict_last.L2::128B.v4.b32", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 4, 4)
S("ld.global.L1::no_allocate.L2::cache_hint.L2::256B.v8.b32", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 8, 4)
S("ld.global.v4.b64", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 4, 8)
S("ld.global.b128", LD, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 16)
S("ld.shared.v2.u64", LD, R, SHARED, NONE, WEAK, NONE, GENERIC, 2, 8)
S("ld.shared::cta.b32", LD, R, SHARED, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.shared::cluster.b32", LD, R, SHARED_CLUSTER, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.local.u64", LD, R, LOCAL, NONE, WEAK, NONE, GENERIC, 1, 8)
S("ld.const.f32", LD, R, CONST, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.param.u64", LD, R, PARAM, NONE, WEAK, NONE, GENERIC, 1, 8)
S("ld.param::func.b32", LD, R, PARAM, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.param::entry.b32", LD, R, PARAM, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.global.nc.u32", LD, R | N, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("ld.global.nc.v4.f32", LD, R | N, GLOBAL, NONE, WEAK, NONE, GENERIC, 4, 4)
S("ld.global.ca.nc.L1::evict_first.L2::64B.v2.b64", LD, R | N, GLOBAL, NONE, WEAK, NONE, GENERIC, 2, 8)
S("ldu.global.v4.f32", LDU, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 4, 4)
S("st.u8", ST, W, GENERIC, NONE, WEAK, NONE, GENERIC, 1, 1)
S("st.weak.global.b16", ST, W, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 2)
S("st.global.wt.f32", ST, W, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("st.global.wb.f32", ST, W, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("st.global.cg.v4.s32", ST, W, GLOBAL, NONE, WEAK, NONE, GENERIC, 4, 4)
S("st.global.L1::no_allocate.v8.f32", ST, W, GLOBAL, NONE, WEAK, NONE, GENERIC, 8, 4)
S("st.shared.f64", ST, W, SHARED, NONE, WEAK, NONE, GENERIC, 1, 8)
S("st.local.v2.u32", ST, W, LOCAL, NONE, WEAK, NONE, GENERIC, 2, 4)
S("st.param.b64", ST, W, PARAM, NONE, WEAK, NONE, GENERIC, 1, 8)
S("st.bulk.weak.shared::cta", ST_BULK, W, SHARED, NONE, WEAK, NONE, GENERIC, 1, 0)
/* strong ones */
S("ld.volatile.global.u32", LD, R, GLOBAL, NONE, VOLATILE, SYS, GENERIC, 1, 4)
S("ld.volatile.shared.v2.f32", LD, R, SHARED, NONE, VOLATILE, SYS, GENERIC, 2, 4)
S("st.volatile.u64", ST, W, GENERIC, NONE, VOLATILE, SYS, GENERIC, 1, 8)
S("ld.relaxed.sys.b32", LD, R, GENERIC, NONE, RELAXED, SYS, GENERIC, 1, 4)
S("ld.relaxed.gpu.global.L1::no_allocate.b32", LD, R, GLOBAL, NONE, RELAXED, GPU, GENERIC, 1, 4)
S("ld.acquire.cta.shared.u32", LD, R, SHARED, NONE, ACQUIRE, CTA, GENERIC, 1, 4)
S("ld.acquire.cluster.shared::cluster.u32", LD, R, SHARED_CLUSTER, NONE, ACQUIRE, CLUSTER, GENERIC, 1, 4)
S("ld.acquire.gpu.v2.b64", LD, R, GENERIC, NONE, ACQUIRE, GPU, GENERIC, 2, 8)
S("ld.acquire.sys.global.b128", LD, R, GLOBAL, NONE, ACQUIRE, SYS, GENERIC, 1, 16)
S("ld.mmio.relaxed.sys.global.u32", LD, R, GLOBAL, NONE, MMIO, SYS, GENERIC, 1, 4)
S("st.mmio.relaxed.sys.global.u32", ST, W, GLOBAL, NONE, MMIO, SYS, GENERIC, 1, 4)
S("st.relaxed.cta.shared.b32", ST, W, SHARED, NONE, RELAXED, CTA, GENERIC, 1, 4)
S("st.release.gpu.global.v2.b32", ST, W, GLOBAL, NONE, RELEASE, GPU, GENERIC, 2, 4)
S("st.release.sys.u64", ST, W, GENERIC, NONE, RELEASE, SYS, GENERIC, 1, 8)
/* atomics: relaxed and gpu unless spelled */
S("atom.add.u32", ATOM, R | W | A, GENERIC, NONE, RELAXED, GPU, GENERIC, 1, 4)
S("atom.global.cas.b64", ATOM, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 1, 8)
S("atom.shared.exch.b128", ATOM, R | W | A, SHARED, NONE, RELAXED, GPU, GENERIC, 1, 16)
S("atom.acq_rel.sys.global.inc.u32", ATOM, R | W | A, GLOBAL, NONE, ACQ_REL, SYS, GENERIC, 1, 4)
S("atom.acquire.cta.shared::cta.min.s64", ATOM, R | W | A, SHARED, NONE, ACQUIRE, CTA, GENERIC, 1, 8)
S("atom.release.cluster.shared::cluster.or.b32", ATOM, R | W | A, SHARED_CLUSTER, NONE, RELEASE, CLUSTER, GENERIC, 1, 4)
S("atom.cta.global.add.f32", ATOM, R | W | A, GLOBAL, NONE, RELAXED, CTA, GENERIC, 1, 4)
S("atom.global.add.noftz.f16x2", ATOM, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 1, 4)
S("atom.global.v4.f32.add", ATOM, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 4, 4)
S("atom.global.v8.f16.add.noftz", ATOM, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 8, 2)
S("atom.relaxed.gpu.global.L2::cache_hint.xor.b32", ATOM, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 1, 4)
S("red.global.add.f64", RED, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 1, 8)
S("red.shared.max.s32", RED, R | W | A, SHARED, NONE, RELAXED, GPU, GENERIC, 1, 4)
S("red.release.sys.global.dec.u32", RED, R | W | A, GLOBAL, NONE, RELEASE, SYS, GENERIC, 1, 4)
S("red.relaxed.gpu.global.add.v2.f32", RED, R | W | A, GLOBAL, NONE, RELAXED, GPU, GENERIC, 2, 4)
S("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32", RED_ASYNC, R | W | A | Y, SHARED_CLUSTER, NONE, RELAXED, CLUSTER, GENERIC, 1, 4)
S("red.async.mmio.release.sys.global.add.u32", RED_ASYNC, R | W | A | Y, GLOBAL, NONE, MMIO, SYS, GENERIC, 1, 4)
S("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", ST_ASYNC, W | Y, SHARED_CLUSTER, NONE, WEAK, NONE, GENERIC, 4, 4)
S("st.async.release.sys.global.b32", ST_ASYNC, W | Y, GLOBAL, NONE, RELEASE, SYS, GENERIC, 1, 4)
S("multimem.ld_reduce.global.add.f32", MULTIMEM_LD_REDUCE, R, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("multimem.ld_reduce.acquire.sys.global.add.acc::f32.v4.bf16x2", MULTIMEM_LD_REDUCE, R, GLOBAL, NONE, ACQUIRE, SYS, GENERIC, 4, 4)
S("multimem.st.release.gpu.global.b64", MULTIMEM_ST, W, GLOBAL, NONE, RELEASE, GPU, GENERIC, 1, 8)
S("multimem.red.global.and.b32", MULTIMEM_RED, R | W | A, GLOBAL, NONE, RELAXED, SYS, GENERIC, 1, 4)
/* fences */
S("fence.gpu", FENCE, F, NONE, NONE, ACQ_REL, GPU, GENERIC, 1, 0)
S("fence.acq_rel.cta", FENCE, F, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("fence.sc.sys", FENCE, F, NONE, NONE, SC, SYS, GENERIC, 1, 0)
S("fence.sc.cluster", FENCE, F, NONE, NONE, SC, CLUSTER, GENERIC, 1, 0)
S("fence.acquire.gpu", FENCE, F, NONE, NONE, ACQUIRE, GPU, GENERIC, 1, 0)
S("fence.release.sync_restrict::shared::cta.cluster", FENCE, F, NONE, NONE, RELEASE, CLUSTER, GENERIC, 1, 0)
S("membar.cta", MEMBAR, F, NONE, NONE, SC, CTA, GENERIC, 1, 0)
S("membar.gl", MEMBAR, F, NONE, NONE, SC, GPU, GENERIC, 1, 0)
S("membar.sys", MEMBAR, F, NONE, NONE, SC, SYS, GENERIC, 1, 0)
S("membar.proxy.alias", MEMBAR_PROXY, F, NONE, NONE, NONE, NONE, GENERIC, 1, 0)
S("fence.mbarrier_init.release.cluster", FENCE_MBARRIER_INIT, F, NONE, NONE, RELEASE, CLUSTER, GENERIC, 1, 0)
S("fence.proxy.alias", FENCE_PROXY, F, NONE, NONE, NONE, NONE, GENERIC, 1, 0)
S("fence.proxy.async", FENCE_PROXY, F, NONE, NONE, NONE, NONE, ASYNC, 1, 0)
S("fence.proxy.async.shared::cta", FENCE_PROXY, F, SHARED, NONE, NONE, NONE, ASYNC, 1, 0)
S("fence.proxy.async.global", FENCE_PROXY, F, GLOBAL, NONE, NONE, NONE, ASYNC, 1, 0)
S("fence.proxy.tensormap::generic.acquire.gpu", FENCE_PROXY, F, NONE, NONE, ACQUIRE, GPU, TENSORMAP, 1, 0)
S("fence.proxy.tensormap::generic.release.sys", FENCE_PROXY, F, NONE, NONE, RELEASE, SYS, TENSORMAP, 1, 0)
S("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", FENCE_PROXY, F, NONE, NONE, ACQUIRE, CLUSTER, ASYNC, 1, 0)
/* barriers */
S("bar.sync", BAR_SYNC, B | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("bar.cta.sync", BAR_SYNC, B | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("bar.arrive", BAR_ARRIVE, B | C, NONE, NONE, RELEASE, CTA, GENERIC, 1, 0)
S("bar.red.popc.u32", BAR_RED, B | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("bar.cta.red.and.pred", BAR_RED, B | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("barrier.sync", BARRIER_SYNC, B, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("barrier.sync.aligned", BARRIER_SYNC, B | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("barrier.cta.arrive.aligned", BARRIER_ARRIVE, B | C, NONE, NONE, RELEASE, CTA, GENERIC, 1, 0)
S("barrier.cta.red.or.pred", BARRIER_RED, B, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("bar.warp.sync", BAR_WARP_SYNC, PTX_EFF_WARP_SYNC | C, NONE, NONE, ACQ_REL, CTA, GENERIC, 1, 0)
S("barrier.cluster.arrive", BARRIER_CLUSTER_ARRIVE, B, NONE, NONE, RELEASE, CLUSTER, GENERIC, 1, 0)
S("barrier.cluster.arrive.relaxed.aligned", BARRIER_CLUSTER_ARRIVE, B | C, NONE, NONE, RELAXED, CLUSTER, GENERIC, 1, 0)
S("barrier.cluster.wait.acquire.aligned", BARRIER_CLUSTER_WAIT, B | T | C, NONE, NONE, ACQUIRE, CLUSTER, GENERIC, 1, 0)
S("mbarrier.init.shared::cta.b64", MBARRIER_INIT, B, SHARED, NONE, WEAK, NONE, GENERIC, 1, 8)
S("mbarrier.inval.b64", MBARRIER_INVAL, B, GENERIC, NONE, WEAK, NONE, GENERIC, 1, 8)
S("mbarrier.arrive.shared.b64", MBARRIER_ARRIVE, B, SHARED, NONE, RELEASE, CTA, GENERIC, 1, 8)
S("mbarrier.arrive.release.cluster.shared::cluster.b64", MBARRIER_ARRIVE, B, SHARED_CLUSTER, NONE, RELEASE, CLUSTER, GENERIC, 1, 8)
S("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64", MBARRIER_ARRIVE, B, SHARED, NONE, RELAXED, CLUSTER, GENERIC, 1, 8)
S("mbarrier.arrive.noComplete.release.cta.b64", MBARRIER_ARRIVE, B, GENERIC, NONE, RELEASE, CTA, GENERIC, 1, 8)
S("mbarrier.arrive_drop.shared.b64", MBARRIER_ARRIVE_DROP, B, SHARED, NONE, RELEASE, CTA, GENERIC, 1, 8)
S("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", MBARRIER_EXPECT_TX, B, SHARED, NONE, RELAXED, CTA, GENERIC, 1, 8)
S("mbarrier.complete_tx.shared::cluster.b64", MBARRIER_COMPLETE_TX, B, SHARED_CLUSTER, NONE, RELAXED, CTA, GENERIC, 1, 8)
S("mbarrier.test_wait.shared.b64", MBARRIER_TEST_WAIT, B | T, SHARED, NONE, ACQUIRE, CTA, GENERIC, 1, 8)
S("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", MBARRIER_TRY_WAIT, B | T, SHARED, NONE, ACQUIRE, CLUSTER, GENERIC, 1, 8)
S("mbarrier.try_wait.relaxed.cta.b64", MBARRIER_TRY_WAIT, B | T, GENERIC, NONE, RELAXED, CTA, GENERIC, 1, 8)
/* copies: destination first */
S("cp.async.ca.shared.global", CP_ASYNC, R | W | Y, SHARED, GLOBAL, WEAK, NONE, GENERIC, 1, 0)
S("cp.async.cg.shared::cta.global.L2::cache_hint.L2::128B", CP_ASYNC, R | W | Y, SHARED, GLOBAL, WEAK, NONE, GENERIC, 1, 0)
S("cp.async.commit_group", CP_ASYNC_COMMIT_GROUP, Y, NONE, NONE, NONE, NONE, GENERIC, 1, 0)
S("cp.async.wait_group", CP_ASYNC_WAIT_GROUP, T, NONE, NONE, NONE, NONE, GENERIC, 1, 0)
S("cp.async.wait_all", CP_ASYNC_WAIT_ALL, T, NONE, NONE, NONE, NONE, GENERIC, 1, 0)
S("cp.async.mbarrier.arrive.noinc.shared::cta.b64", CP_ASYNC_MBARRIER_ARRIVE, B | Y, SHARED, NONE, NONE, NONE, GENERIC, 1, 8)
S("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", CP_ASYNC_BULK, R | W | Y, SHARED_CLUSTER, GLOBAL, WEAK, NONE, ASYNC, 1, 0)
S("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint", CP_ASYNC_BULK, R | W | Y, SHARED_CLUSTER, GLOBAL, WEAK, NONE, ASYNC, 1, 0)
S("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask", CP_ASYNC_BULK, R | W | Y, GLOBAL, SHARED, WEAK, NONE, ASYNC, 1, 0)
S("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16", CP_REDUCE_ASYNC_BULK, R | W | A | Y, GLOBAL, SHARED, RELAXED, GPU, ASYNC, 1, 2)
S("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2", CP_ASYNC_BULK_TENSOR, R | W | Y, SHARED_CLUSTER, GLOBAL, WEAK, NONE, ASYNC, 1, 0)
S("cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs.bulk_group", CP_ASYNC_BULK_TENSOR, R | W | Y, GLOBAL, SHARED, WEAK, NONE, ASYNC, 1, 0)
S("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group", CP_REDUCE_ASYNC_BULK_TENSOR, R | W | A | Y, GLOBAL, SHARED, RELAXED, GPU, ASYNC, 1, 0)
S("cp.async.bulk.prefetch.L2.global.L2::cache_hint", CP_ASYNC_BULK_PREFETCH, PTX_EFF_PREFETCH | Y, GLOBAL, NONE, NONE, NONE, ASYNC, 1, 0)
S("cp.async.bulk.prefetch.tensor.2d.L2.global.tile", CP_ASYNC_BULK_PREFETCH_TENSOR, PTX_EFF_PREFETCH | Y, GLOBAL, NONE, NONE, NONE, ASYNC, 1, 0)
S("cp.async.bulk.wait_group.read", CP_ASYNC_BULK_WAIT_GROUP, T, NONE, NONE, NONE, NONE, ASYNC, 1, 0)
S("tensormap.replace.tile.global_address.shared::cta.b1024.b64", TENSORMAP_REPLACE, W, SHARED, NONE, WEAK, NONE, GENERIC, 1, 128)
S("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned", TENSORMAP_CP_FENCEPROXY, R | W | F | C, GLOBAL, SHARED, RELEASE, GPU, TENSORMAP, 1, 0)
S("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128", CLUSTERLAUNCHCONTROL_TRY_CANCEL, W | Y, SHARED, NONE, WEAK, NONE, ASYNC, 1, 16)
/* textures, surfaces, matrices, tensor memory */
S("tex.2d.v4.f32.s32", TEX, R, TEX, NONE, WEAK, NONE, TEX, 4, 4)
S("suld.b.2d.v2.b32.trap", SULD, R, TEX, NONE, WEAK, NONE, TEX, 2, 4)
S("sust.p.1d.v4.b32.clamp", SUST, W, TEX, NONE, WEAK, NONE, TEX, 4, 4)
S("sured.b.add.2d.u32.trap", SURED, R | W | A, TEX, NONE, RELAXED, GPU, TEX, 1, 4)
S("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", LDMATRIX, R | C | M, SHARED, NONE, WEAK, NONE, GENERIC, 1, 2)
S("ldmatrix.sync.aligned.m16n16.x1.trans.shared::cta.b8x16.b6x16_p32", LDMATRIX, R | C | M, SHARED, NONE, WEAK, NONE, GENERIC, 1, 0)
S("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8", STMATRIX, W | C | M, SHARED, NONE, WEAK, NONE, GENERIC, 1, 1)
S("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", WMMA_LOAD, R | C | M, SHARED, NONE, WEAK, NONE, GENERIC, 1, 2)
S("wmma.store.d.sync.aligned.col.m16n16k16.global.f32", WMMA_STORE, W | C | M, GLOBAL, NONE, WEAK, NONE, GENERIC, 1, 4)
S("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32", TCGEN05_LD, R | C | Y | M, TMEM, NONE, WEAK, NONE, GENERIC, 1, 4)
S("tcgen05.ld.red.sync.aligned.32x32b.x8.max.abs.NaN.f32", TCGEN05_LD_RED, R | C | Y | M, TMEM, NONE, WEAK, NONE, GENERIC, 1, 4)
S("tcgen05.st.sync.aligned.16x32bx2.x64.unpack::16b.b32", TCGEN05_ST, W | C | Y | M, TMEM, NONE, WEAK, NONE, GENERIC, 1, 4)
S("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", TCGEN05_ALLOC, W | C, SHARED, NONE, WEAK, NONE, GENERIC, 1, 4)
S("tcgen05.mma.cta_group::1.kind::f16", TCGEN05_MMA, R | W | Y, TMEM, NONE, WEAK, NONE, ASYNC, 1, 0)
S("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64", TCGEN05_COMMIT, B | Y, SHARED_CLUSTER, NONE, NONE, NONE, ASYNC, 1, 8)
S("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", WGMMA_MMA_ASYNC, R | C | Y | M, SHARED, NONE, WEAK, NONE, ASYNC, 1, 4)
S("discard.global.L2", DISCARD, PTX_EFF_DISCARD, GLOBAL, NONE, NONE, NONE, GENERIC, 1, 0)
S("prefetch.global.L2::evict_last", PREFETCH, PTX_EFF_PREFETCH, GLOBAL, NONE, NONE, NONE, GENERIC, 1, 0)
S("prefetch.tensormap", PREFETCH, PTX_EFF_PREFETCH, GENERIC, NONE, NONE, NONE, TENSORMAP, 1, 0)
S("applypriority.global.L2::evict_normal", APPLYPRIORITY, PTX_EFF_PREFETCH, GLOBAL, NONE, NONE, NONE, GENERIC, 1, 0)
#undef S
};
#undef R
#undef W
#undef A
#undef N
#undef B
#undef F
#undef C
#undef Y
#undef T
#undef M

/* opcode|types and modifiers */
static const char *const spell_samples[] = {
	"add|.s32", "add|.sat.s32", "add|.u16x2", "add|.cc.u64", "add|.rn.ftz.sat.f32",
	"add|.rz.f64", "add|.rn.f16x2", "add|.rn.bf16", "add|.rn.ftz.f32x2",
	"add|.rn.sat.f32.bf16", "sub|.rm.f32", "sub|.cc.s32", "addc|.cc.u32", "subc|.s64",
	"madc|.lo.cc.u32", "madc|.hi.s64", "mul|.wide.s32", "mul|.hi.u64", "mul|.lo.u16",
	"mul|.rp.f32", "mul|.rn.bf16x2", "mad|.lo.s32", "mad|.wide.u32", "mad|.hi.sat.s32",
	"mad|.rn.f64", "mad|.lo.cc.u64", "mul24|.lo.u32", "mad24|.hi.sat.s32", "sad|.u64",
	"div|.full.ftz.f32", "div|.approx.f32", "div|.rn.f64", "div|.s16", "rem|.u32",
	"abs|.ftz.f32", "abs|.bf16x2", "neg|.f16", "min|.NaN.xorsign.abs.f32",
	"min|.relu.s16x2", "max|.ftz.NaN.f16x2", "max|.u64", "popc|.b64", "clz|.b32",
	"bfind|.shiftamt.u32", "fns|.b32", "brev|.b64", "bfe|.s32", "bfi|.b64",
	"szext|.wrap.s32", "szext|.clamp.u32", "bmsk|.wrap.b32", "dp4a|.u32.s32",
	"dp2a|.lo.s32.u32", "dp2a|.hi.s32.s32", "testp|.notanumber.f32",
	"testp|.subnormal.f64", "copysign|.f64", "fma|.rn.relu.bf16x2",
	"fma|.rn.ftz.sat.f16", "fma|.rn.oob.relu.f16x2", "fma|.rz.ftz.f32x2",
	"rcp|.approx.ftz.f64", "rcp|.rn.f32", "sqrt|.approx.f32", "sqrt|.rp.f64",
	"rsqrt|.approx.ftz.f64", "sin|.approx.ftz.f32", "cos|.approx.f32",
	"lg2|.approx.f32", "ex2|.approx.ftz.bf16x2", "tanh|.approx.f16x2",
	"set|.lt.and.f32.s32", "set|.leu.ftz.f16x2.f16x2", "setp|.eq.u32",
	"setp|.ltu.or.ftz.f32", "setp|.hs.u64", "setp|.lo.u32", "setp|.num.f64",
	"setp|.nan.bf16x2", "selp|.b64", "slct|.ftz.f32.f32", "slct|.u64.s32", "and|.pred",
	"and|.b32", "or|.b64", "xor|.b16", "not|.pred", "cnot|.b32", "lop3|.b32",
	"lop3|.or.b32", "shf|.l.wrap.b32", "shf|.r.clamp.b32", "shl|.b64", "shr|.u16",
	"mov|.b128", "mov|.pred", "mov|.u32", "mov|.f64", "prmt|.b32", "prmt|.b32.f4e",
	"prmt|.b32.rc16", "shfl.sync|.down.b32", "shfl.sync|.bfly.b32", "shfl|.up.b32",
	"cvt|.rn.f32.s32", "cvt|.rzi.ftz.s32.f32", "cvt|.sat.u8.s32",
	"cvt|.rn.satfinite.e4m3x2.f32", "cvt|.rn.f16x2.e5m2x2", "cvt|.rn.relu.bf16x2.f32",
	"cvt|.rna.tf32.f32", "cvt|.rn.satfinite.relu.e2m1x2.f32",
	"cvt|.rz.satfinite.ue8m0x2.bf16x2", "cvt|.rs.satfinite.e4m3x4.f32",
	"cvt|.rpi.f32.f32", "cvt.pack|.sat.s8.s32.b32", "cvt.pack|.sat.u4.s32.b32",
	"cvta|.to.global.u64", "cvta|.shared::cluster.u64", "cvta|.param.u64",
	"isspacep|.shared::cta", "isspacep|.param::entry", "isspacep|.global",
	"mapa|.shared::cluster.u32", "mapa|.u64", "getctarank|.shared::cluster.u32",
	"createpolicy|.fractional.L2::evict_last.L2::evict_unchanged.b64",
	"createpolicy|.range.global.L2::evict_last.L2::evict_first.b64",
	"createpolicy|.cvt.L2.b64", "prefetchu|.L1", "prefetch|.local.L1",
	"prefetch|.param.tensormap", "tex|.base.3d.v4.u32.f32", "tex|.level.a2d.v4.f32.f32",
	"tex|.grad.cube.v4.f32.f32", "tex|.1d.v2.f16x2.f32", "tex|.2dms.v4.s32.s32",
	"tex|.acube.v4.f32.f32", "tld4|.r.2d.v4.f32.f32", "tld4|.a.acube.v4.u32.f32",
	"txq|.width.b32", "txq|.level.height.b32", "txq|.channel_data_type.b32",
	"txq|.force_unnormalized_coords.b32", "txq|.num_mipmap_levels.b32",
	"istypep|.texref", "istypep|.samplerref", "istypep|.surfref",
	"suld|.b.a1d.b64.zero", "suld|.b.3d.v4.b8.clamp", "sust|.b.a2d.v2.b16.trap",
	"sured|.p.min.1d.b32.clamp", "suq|.memory_layout.b32", "suq|.array_size.b32",
	"bra|.uni", "bra|", "brx.idx|", "brx.idx|.uni", "call|", "call|.uni", "ret|",
	"ret|.uni", "exit|", "trap|", "brkpt|", "nanosleep|.u32", "pmevent|",
	"pmevent|.mask", "setmaxnreg|.inc.sync.aligned.u32",
	"setmaxnreg|.dec.sync.aligned.u32", "vote|.all.pred", "vote.sync|.any.pred",
	"vote.sync|.uni.pred", "vote.sync|.ballot.b32", "match.any.sync|.b32",
	"match.all.sync|.b64", "activemask|.b32", "redux.sync|.add.s32",
	"redux.sync|.xor.b32", "redux.sync|.min.abs.NaN.f32", "elect.sync|",
	"griddepcontrol.wait|", "griddepcontrol.launch_dependents|",
	"mbarrier.pending_count|.b64",
	"clusterlaunchcontrol.query_cancel|.is_canceled.pred.b128",
	"clusterlaunchcontrol.query_cancel|.get_first_ctaid.v4.b32.b128",
	"clusterlaunchcontrol.query_cancel|.get_first_ctaid::y.b32.b128",
	"wmma.mma|.sync.aligned.row.col.m16n16k16.f32.f32",
	"wmma.mma|.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32.satfinite",
	"wmma.mma|.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
	"wmma.load|.c.sync.aligned.col.m32n8k16.f32",
	"mma|.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
	"mma|.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
	"mma|.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
	"mma|.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32",
	"mma|.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
	"mma|.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32",
	"mma|.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
	"mma.sp|.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",
	"movmatrix|.sync.aligned.m8n8.trans.b16",
	"wgmma.mma_async|.sync.aligned.m64n8k32.s32.u8.s8.satfinite",
	"wgmma.mma_async|.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
	"wgmma.mma_async.sp|.sync.aligned.m64n64k32.f32.f16.f16",
	"wgmma.fence|.sync.aligned", "wgmma.commit_group|.sync.aligned",
	"wgmma.wait_group|.sync.aligned", "tcgen05.dealloc|.cta_group::1.sync.aligned.b32",
	"tcgen05.relinquish_alloc_permit|.cta_group::2.sync.aligned",
	"tcgen05.cp|.cta_group::1.128x256b",
	"tcgen05.cp|.cta_group::2.64x128b.warpx2::02_13.b8x16.b4x16_p64",
	"tcgen05.cp|.cta_group::1.32x128b.warpx4", "tcgen05.shift|.cta_group::1.down",
	"tcgen05.mma|.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X.collector::a::fill",
	"tcgen05.mma|.cta_group::2.kind::i8.ashift.collector::a::lastuse",
	"tcgen05.mma|.cta_group::1.kind::mxf4.block_scale.block32",
	"tcgen05.mma.sp|.cta_group::1.kind::tf32",
	"tcgen05.mma.ws|.cta_group::1.kind::f8f6f4.collector::b1::discard",
	"tcgen05.mma.ws.sp|.cta_group::1.kind::f16.collector::b3::use",
	"tcgen05.commit|.cta_group::1.mbarrier::arrive::one.b64", "stacksave|.u64",
	"stackrestore|.u32", "alloca|.u64", "vadd|.s32.u32.s32.sat",
	"vadd|.u32.u32.u32.add", "vsub|.s32.s32.s32.max", "vabsdiff|.u32.u32.u32",
	"vmin|.s32.s32.s32", "vshl|.u32.u32.u32.clamp", "vshr|.u32.u32.u32.wrap.add",
	"vmad|.s32.s32.u32.sat.shr7", "vmad|.u32.u32.u32.po.shr15", "vset|.s32.u32.lt.add",
	"vadd2|.s32.s32.u32.sat", "vavrg4|.u32.u32.u32.add", "vset4|.u32.u32.ne.add",
	"vabsdiff4|.u32.u32.u32.add", "cp.async.bulk.commit_group|", "st.bulk|",
};

/*
 * plain.c - the text of an image without checks, for launches that a run leaves out.
 *
 * The image's own text is parsed again and what was inserted when it was built is removed; the
 * module made of that shares its variables with the one with checks (cpu_module_load_plain). Where
 * nothing was inserted the image's own parts are taken: then only the oracle's events are missing.
 *
 * Costs: a parse and a load, once an image, when a launch of it may be left out.
 */
#include "cudart/report/collider.h"
#include "instrument/instrument.h"
#include "race/file/shm_write.h"

static struct ptx_module *parse_plain(struct rt_image *im, const struct rt_source *s)
{
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(&im->arena, s->file, s->text, s->size, &sink);

	if (m && !sink.errors && inst_detectors_of(m) && !inst_strip(m, &sink))
		m = NULL;
	if (sink.errors)
		m = NULL;
	base_sink_free(&sink);
	return m;
}

static bool make_parts(struct rt_image *im)
{
	for (size_t i = 0; i < im->sources.n; i++) {
		struct ptx_module *m =
			im->is_instrumented ? parse_plain(im, &im->sources.v[i]) : im->parts.v[i];
		if (!m)
			return false;
		base_vec_push(&im->plain_parts, m);
	}
	return im->plain_parts.n == im->parts.n;
}

static struct cpu_module *load_plain(struct rt_image *im, unsigned device)
{
	struct base_sink sink = {0};
	struct cpu_module *mod = NULL;

	if (!im->plain_parts.n && !make_parts(im))
		im->has_no_plain = true;
	if (!im->has_no_plain)
		mod = cpu_module_load_plain(im->on[device], im->plain_parts.v,
					    (unsigned)im->plain_parts.n, &sink);
	if (!mod) {
		im->has_no_plain = true;
		race_shm_note("%s: its text without checks can't be made; all launches of its "
			      "kernels are checked",
			      im->where);
	}
	base_sink_free(&sink);
	return mod;
}

struct cpu_kernel *rt_kern_plain(struct rt_kern *k, unsigned device)
{
	struct rt_image *im = k->image;

	if (k->plain[device] || im->has_no_plain || !im->on[device])
		return k->plain[device];
	if (!im->plain[device])
		im->plain[device] = load_plain(im, device);
	if (im->plain[device])
		k->plain[device] = cpu_module_kernel(im->plain[device], k->name);
	return k->plain[device];
}

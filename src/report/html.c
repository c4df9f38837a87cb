/*
 * html.c - the report as one page, without network: findings by kernel, both sides, what helps.
 *
 * All text is in the page itself, so it can be read, searched and printed without JavaScript; the
 * script (page.js) only filters, opens and switches between light and dark. Each finding has a time
 * line: the two threads side by side, and what is missing between their accesses. Short class names
 * keep a page of 2,000 findings below 3 MB (page.css explains them).
 *
 * Misses: figures over several runs; a report doesn't have them.
 */
#include "report/form.h"

#include <string.h>

#define OPEN 3u /* so many findings are open from the start */

/* <tag class="cls">text</tag> */
static void element(struct base_buf *out, const char *tag, const char *cls, const char *text)
{
	base_buf_printf(out, *cls ? "<%s class=%s>" : "<%s%s>", tag, cls);
	rep_escaped(out, text);
	base_buf_printf(out, "</%s>", tag);
}

static const char level_classes[] = {
	[REP_FORM_ERROR] = 'e', [REP_FORM_WARNING] = 'w', [REP_FORM_NOTE] = 'n'};

static void side_put(struct base_buf *out, struct rep_form *f, const struct rep_form_side *s)
{
	const char *place = rep_form_place(&f->arena, s, true);

	base_buf_puts(out, "<div>");
	element(out, "b", "", *s->access ? s->access : s->verb);
	base_buf_puts(out, "<br>");
	element(out, "span", "p", *place ? place : "unknown place");
	if (*s->source)
		element(out, "pre", "", s->source);
	element(out, "span", "d", rep_form_thread(&f->arena, s));
	if (*s->launched) {
		base_buf_puts(out, "<br><span class=d>launched at ");
		rep_escaped(out, s->launched);
		base_buf_puts(out, "</span>");
	}
	base_buf_puts(out, "</div>");
}

/* One column a thread, time goes down: the other side came first, as far as is known; between the
 * accesses is what isn't there. */
static void timeline_put(struct base_buf *out, struct rep_form *f, const struct rep_form_item *it)
{
	if (it->nsides < 2)
		return;
	base_buf_puts(out, "<div class=t>");
	for (unsigned i = 0; i < 2; i++) {
		const char *who = rep_form_thread(&f->arena, &it->side[i]);
		element(out, "span", "d", *who ? who : "the host");
		base_buf_puts(out, i ? "" : "<i></i>");
	}
	base_buf_puts(out, "<i></i><i></i><span class=a>");
	rep_escaped(out, it->side[1].verb);
	base_buf_printf(out, " line %u</span><span class=m>", it->side[1].line);
	rep_escaped(out, it->missing);
	base_buf_puts(out, "</span><span class=a>");
	rep_escaped(out, it->side[0].verb);
	base_buf_printf(out, " line %u</span></div>", it->side[0].line);
}

static void item_put(struct base_buf *out, struct rep_form *f, const struct rep_form_item *it)
{
	const char *place = rep_form_place(&f->arena, &it->side[0], false);

	base_buf_printf(out, "<details data-l=%c%s><summary><b class=%c>", level_classes[it->level],
			f->items.n <= OPEN ? " open" : "", level_classes[it->level]);
	rep_escaped(out, it->kind);
	base_buf_puts(out, "</b> ");
	element(out, "span", "p", place);
	base_buf_puts(out, " ");
	rep_escaped(out, it->title);
	if (it->count)
		base_buf_printf(out, " <span class=d>%s</span>",
				rep_count(&f->arena, it->count, "time"));
	if (*it->ignored) {
		base_buf_puts(out, " <span class=d>left out: ");
		rep_escaped(out, it->ignored);
		base_buf_puts(out, "</span>");
	}
	base_buf_puts(out, "</summary><div><p>");
	rep_escaped(out, it->sentence);
	base_buf_puts(out, "</p><div class=s>");
	for (unsigned i = 0; i < it->nsides; i++)
		side_put(out, f, &it->side[i]);
	base_buf_puts(out, "</div>");
	timeline_put(out, f, it);
	if (*it->values)
		element(out, "p", "p", it->values);
	if (*it->help) {
		base_buf_puts(out, "<p><b>What usually helps:</b> ");
		rep_escaped(out, it->help);
		base_buf_puts(out, "</p>");
	}
	base_buf_puts(out, "</div></details>\n");
}

/* ---- groups by kernel, in the order of their first finding ------------------------------- */

struct group {
	const char *kernel;
	BASE_VEC(size_t) items;
};

struct groups {
	struct group *v;
	size_t n, cap;
};

static const char *group_name(const struct rep_form_item *it)
{
	return *it->kernel ? it->kernel : "Host code and copies";
}

static void groups_make(struct groups *g, struct rep_form *f)
{
	for (size_t i = 0; i < f->items.n; i++) {
		const char *name = group_name(&f->items.v[i]);
		size_t k = 0;
		while (k < g->n && strcmp(g->v[k].kernel, name))
			k++;
		if (k == g->n)
			base_vec_push(g, (struct group){.kernel = name});
		base_vec_push(&g->v[k].items, i);
	}
}

static void bars_put(struct base_buf *out, const struct groups *g)
{
	size_t most = 1;

	if (g->n < 2)
		return;
	for (size_t i = 0; i < g->n; i++)
		most = g->v[i].items.n > most ? g->v[i].items.n : most;
	base_buf_puts(out, "<h2>Findings by kernel</h2><table>");
	for (size_t i = 0; i < g->n; i++) {
		base_buf_printf(out, "<tr><td><a href=#k%zu>", i);
		rep_escaped(out, g->v[i].kernel);
		base_buf_printf(out, "</a><td>%zu<td><span class=bar style=width:%zupx></span>\n",
				g->v[i].items.n, 4 + 240 * g->v[i].items.n / most);
	}
	base_buf_puts(out, "</table>");
}

static void kernels_put(struct base_buf *out, const struct rep_form *f)
{
	static const char *const states[] = {[REP_FORM_CHECKED] = "checked",
					     [REP_FORM_PARTLY] = "in part",
					     [REP_FORM_UNCHECKED] = "not checked"};

	if (!f->kernels.n)
		return;
	base_buf_puts(out, "<h2>Kernels</h2><table><tr><th>Kernel<th>State<th>Launches<th>\n");
	for (size_t i = 0; i < f->kernels.n; i++) {
		const struct rep_form_kernel *k = &f->kernels.v[i];
		base_buf_puts(out, "<tr><td class=p>");
		rep_escaped(out, k->name);
		base_buf_printf(out, "<td>%s<td>", states[k->state]);
		if (k->launches)
			base_buf_printf(out, "%llu", (unsigned long long)k->launches);
		base_buf_puts(out, "<td>");
		rep_escaped(out, k->why);
		base_buf_puts(out, "\n");
	}
	base_buf_puts(out, "</table>");
}

static void head_put(struct base_buf *out, const struct rep_form *f)
{
	base_buf_puts(out, "<!DOCTYPE html><html lang=en><meta charset=utf-8>"
			   "<meta name=viewport content=\"width=device-width\"><title>Collider: ");
	rep_escaped(out, f->command);
	base_buf_printf(out, "</title><style>%s</style><h1>Collider</h1>", rep_page_css);
	element(out, "div", "p", f->command);
	element(out, "p", "r", f->result);
	if (!f->items.n)
		return;
	base_buf_puts(out,
		      "<form><input type=search id=find placeholder=\"Search\" aria-label=Search>"
		      "<select id=level aria-label=Kind><option value=\"\">all"
		      "<option value=e>errors<option value=w>warnings<option value=n>notes</select>"
		      "<button id=open type=button>Open or close all</button>"
		      "<button id=theme type=button>Light or dark</button>"
		      "<span id=shown class=d></span></form>\n");
}

void rep_html(struct base_buf *out, struct rep_form *f)
{
	struct groups g = {0};

	groups_make(&g, f);
	head_put(out, f);
	bars_put(out, &g);
	for (size_t i = 0; i < g.n; i++) {
		base_buf_printf(out, "<section data-k id=k%zu>", i);
		element(out, "h2", "", g.v[i].kernel);
		for (size_t k = 0; k < g.v[i].items.n; k++)
			item_put(out, f, &f->items.v[g.v[i].items.v[k]]);
		base_buf_puts(out, "</section>");
		base_vec_free(&g.v[i].items);
	}
	base_vec_free(&g);
	kernels_put(out, f);
	if (f->notes.n)
		base_buf_puts(out, "<h2>Notes</h2>");
	for (size_t i = 0; i < f->notes.n; i++)
		element(out, "p", "d", f->notes.v[i]);
	if (f->items.n)
		base_buf_printf(out, "<script>%s</script>", rep_page_js);
	base_buf_puts(out, "</html>\n");
}

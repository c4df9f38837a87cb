/*
 * mirror.c - the cached folder of symbolic links from which nvcc is started.
 *
 *	toolkit-<hash>/bin/...		links into the real bin, but ptxas is this executable
 *	toolkit-<hash>/bin/nvcc.profile	the real one, its paths made absolute, our folders first
 *	toolkit-<hash>/nvvm/bin/cicc	this executable
 *	toolkit-<hash>/...		links to everything else
 *
 * nvcc takes the folder of argv[0] as its own and reads nvcc.profile there. Because the profile
 * names the real toolkit, include paths, libraries, dependency files and CMake's toolkit root are
 * the same as without Collider; only cicc and ptxas differ.
 *
 * The folder is built under another name and renamed, so that parallel builds see all of it or
 * nothing; the build that finishes second removes its own copy. The hash covers this executable's
 * path and nvcc's path, size and time, and the profile's: an update of the toolkit gives a new
 * folder.
 */
#include "toolchain/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Raised when the layout above changes. */
#define LAYOUT 1

static uint64_t hash_file(const char *path, uint64_t h)
{
	struct stat st;

	h = base_hash(path, strlen(path) + 1, h);
	if (stat(path, &st) < 0)
		return h;
	int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
	return base_hash(facts, sizeof(facts), h);
}

static char *mirror_name(const struct tool_kit *k, const char *self, struct base_arena *a)
{
	uint64_t h = base_hash(COLLIDER_VERSION, sizeof(COLLIDER_VERSION), BASE_FNV_INIT + LAYOUT);

	h = base_hash(self, strlen(self) + 1, h);
	h = hash_file(k->nvcc, h);
	h = hash_file(base_printf(a, "%s/nvcc.profile", k->bin), h);
	return base_printf(a, "toolkit-%016llx", (unsigned long long)h);
}

/* mkdir -p. */
static int make_dirs(const char *path, struct base_arena *a)
{
	char *copy = base_strdup(a, path);

	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return errno;
		*p = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? errno : 0;
}

/* Removes the folder and the links in it; `depth` levels of real folders at most. */
static void remove_tree(const char *dir, int depth, struct base_arena *a)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		char *path = base_printf(a, "%s/%s", dir, e->d_name);
		if (unlink(path) < 0 && depth > 0)
			remove_tree(path, depth - 1, a);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Links to[name] -> from[name] for all that is in `from`, except the names in `but`. */
static int link_all(const char *from, const char *to, const char *const *but, struct base_arena *a)
{
	DIR *d = opendir(from);
	int err = 0;

	if (!d)
		return errno == ENOENT ? 0 : errno;
	for (struct dirent *e; !err && (e = readdir(d));) {
		bool skip = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
		for (const char *const *b = but; *b; b++)
			skip |= !strcmp(e->d_name, *b);
		if (skip)
			continue;
		if (symlink(base_printf(a, "%s/%s", from, e->d_name),
			    base_printf(a, "%s/%s", to, e->d_name)) < 0)
			err = errno;
	}
	closedir(d);
	return err;
}

/* Is there to[name] for all names in `from`, except those in `but`? */
static bool has_all(const char *from, const char *to, const char *const *but, struct base_arena *a)
{
	DIR *d = opendir(from);
	bool is_whole = true;
	struct stat st;

	if (!d)
		return errno == ENOENT;
	for (struct dirent *e; is_whole && (e = readdir(d));) {
		bool skip = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
		for (const char *const *b = but; *b; b++)
			skip |= !strcmp(e->d_name, *b);
		is_whole = skip || lstat(base_printf(a, "%s/%s", to, e->d_name), &st) == 0;
	}
	closedir(d);
	return is_whole;
}

/* The profile of the mirror: nvcc's own folder is the real one, our programs come first. */
static int make_profile(const struct tool_kit *k, struct base_buf *b, struct base_arena *a)
{
	static const char *const holes[] = {"$(_HERE_)", "$(_THERE_)"};
	char *text;
	size_t size;
	int err = base_read_file(base_printf(a, "%s/nvcc.profile", k->bin), &text, &size);

	if (err)
		return err;
	for (const char *p = text; *p;) {
		size_t hole = 0;
		for (size_t i = 0; i < BASE_COUNTOF(holes); i++) {
			if (!strncmp(p, holes[i], strlen(holes[i])))
				hole = strlen(holes[i]);
		}
		if (hole)
			base_buf_puts(b, k->bin);
		else
			base_buf_put(b, p, 1);
		p += hole ? hole : 1;
	}
	free(text);
	base_buf_puts(b, "\nCICC_PATH = $(_HERE_)/../nvvm/bin\nPATH += $(CICC_PATH):$(_HERE_):\n");
	return 0;
}

static int write_profile(const struct tool_kit *k, const char *dir, struct base_arena *a)
{
	struct base_buf b = {0};
	int err = make_profile(k, &b, a);

	if (!err)
		err = base_write_file(base_printf(a, "%s/bin/nvcc.profile", dir), b.p, b.n);
	base_buf_free(&b);
	return err;
}

static bool has_profile(const struct tool_kit *k, const char *dir, struct base_arena *a)
{
	struct base_buf b = {0};
	char *text = NULL;
	size_t size;
	bool is_it = !make_profile(k, &b, a) &&
		     !base_read_file(base_printf(a, "%s/bin/nvcc.profile", dir), &text, &size) &&
		     size == b.n && !memcmp(text, b.p, size);

	free(text);
	base_buf_free(&b);
	return is_it;
}

static const char *const not_root[] = {"bin", "nvvm", NULL};
static const char *const not_bin[] = {"nvcc.profile", "ptxas", "cicc", NULL};
static const char *const not_nvvm[] = {"bin", NULL};
static const char *const not_nvvm_bin[] = {"cicc", NULL};

static int fill(const struct tool_kit *k, const char *self, const char *dir, struct base_arena *a)
{
	char *bin = base_printf(a, "%s/bin", dir), *nvvm = base_printf(a, "%s/nvvm", dir);
	char *nvvm_bin = base_printf(a, "%s/bin", nvvm);
	int err = 0;

	if (mkdir(bin, 0755) < 0 || mkdir(nvvm, 0755) < 0 || mkdir(nvvm_bin, 0755) < 0)
		return errno;
	err = link_all(k->root, dir, not_root, a);
	if (!err)
		err = link_all(k->bin, bin, not_bin, a);
	if (!err)
		err = link_all(base_printf(a, "%s/nvvm", k->root), nvvm, not_nvvm, a);
	if (!err)
		err = link_all(base_printf(a, "%s/nvvm/bin", k->root), nvvm_bin, not_nvvm_bin, a);
	if (err)
		return err;
	if (symlink(self, base_printf(a, "%s/ptxas", bin)) < 0 ||
	    symlink(self, base_printf(a, "%s/cicc", bin)) < 0 ||
	    symlink(self, base_printf(a, "%s/cicc", nvvm_bin)) < 0)
		return errno;
	return write_profile(k, dir, a);
}

/* Is all there that nvcc needs? (A cleaner of caches may have removed a part, a full disk or a
 * power failure may have cut a file off.) */
static bool is_whole(const struct tool_kit *k, const char *dir, struct base_arena *a)
{
	static const char *const parts[] = {"bin/nvcc", "bin/ptxas", "nvvm/bin/cicc"};

	for (size_t i = 0; i < BASE_COUNTOF(parts); i++) {
		if (access(base_printf(a, "%s/%s", dir, parts[i]), X_OK) < 0)
			return false;
	}
	const char *nvvm = base_printf(a, "%s/nvvm", k->root);
	return has_profile(k, dir, a) && has_all(k->root, dir, not_root, a) &&
	       has_all(k->bin, base_printf(a, "%s/bin", dir), not_bin, a) &&
	       has_all(nvvm, base_printf(a, "%s/nvvm", dir), not_nvvm, a) &&
	       has_all(base_printf(a, "%s/bin", nvvm), base_printf(a, "%s/nvvm/bin", dir),
		       not_nvvm_bin, a);
}

/* The mirror below `base`, made when missing. Returns 0 or an errno value. */
static int get_in(const struct tool_kit *k, const char *base, char **out, struct base_arena *a)
{
	char *self = tool_self(a);
	struct stat st;

	if (!self)
		return ENOENT;
	*out = base_printf(a, "%s/%s", base, mirror_name(k, self, a));
	int err = make_dirs(base, a);
	if (err)
		return err;
	/* A folder that others own or may write could start their programs. */
	if (stat(base, &st) < 0)
		return errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return EPERM;
	if (is_whole(k, *out, a))
		return 0;
	char *tmp = base_printf(a, "%s/.new-XXXXXX", base);
	if (!mkdtemp(tmp))
		return errno;
	err = fill(k, self, tmp, a);
	if (!err && rename(tmp, *out) == 0)
		return 0;
	if (!err && !is_whole(k, *out, a)) {
		/* A damaged mirror is in the way: exchange it for ours. */
		char *old = base_printf(a, "%s.old", tmp);
		if (rename(*out, old) == 0)
			remove_tree(old, 2, a);
		if (rename(tmp, *out) == 0)
			return 0;
	}
	remove_tree(tmp, 2, a);
	return err || is_whole(k, *out, a) ? err : EIO;
}

char *tool_mirror_get(const struct tool_kit *k, struct base_arena *a)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *tmp = getenv("TMPDIR");
	char *first = NULL, *out = NULL;
	int err = ENOENT;

	if (cache && *cache == '/')
		first = base_printf(a, "%s/collider", cache);
	else if (home && *home == '/')
		first = base_printf(a, "%s/.cache/collider", home);
	if (first)
		err = get_in(k, first, &out, a);
	char *second = base_printf(a, "%s/collider-%u", tmp && *tmp == '/' ? tmp : "/tmp",
				   (unsigned)geteuid());
	if (err)
		err = get_in(k, second, &out, a);
	if (err) {
		base_say("no place for the links to the CUDA toolkit: %s: %s", second,
			 strerror(err));
		return NULL;
	}
	return out;
}

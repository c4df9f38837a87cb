/*
 * smt_check.c - Z3's checks, which a timer ends (smt.h): the answer, its model, a state to go back
 * to. What a check that was cut off leaves undone is no error.
 */
#include "prove/solve/smt_impl.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

/* A check that the timer interrupts may have found that there is a model, and not have made it. */
static bool may_lack_model;
/* One that was interrupted, or has done all its work, may leave that to the next call. */
static bool may_be_cut;

bool prove_smt_is_expected(Z3_error_code code)
{
	return (may_lack_model && code == Z3_INVALID_USAGE) || (may_be_cut && code == Z3_EXCEPTION);
}

/*
 * Z3's measure of work doesn't see all of it: some simplifications and cuts take seconds uncounted.
 * A timer of this process's time, the last guard, interrupts those: at GUARD times what the work
 * takes mostly, so that a slow or busy machine changes nothing.
 */
#define GUARD 8
static Z3_context interrupted;
static volatile sig_atomic_t was_interrupted;

static void on_timer(int number)
{
	(void)number;
	was_interrupted = true;
	if (interrupted)
		Z3_interrupt(interrupted);
}

static void set_timer(Z3_context z, unsigned ms)
{
	struct itimerval t = {.it_value = {ms / 1000, (suseconds_t)(ms % 1000) * 1000}};
	struct sigaction sa = {.sa_handler = on_timer, .sa_flags = SA_RESTART};

	interrupted = z;
	if (ms)
		sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &t, NULL);
}

static void limit_work(struct smt *s, unsigned most)
{
	if (s->limit == most)
		return;
	Z3_params p = Z3_mk_params(s->z);

	Z3_params_inc_ref(s->z, p);
	Z3_params_set_uint(s->z, p, Z3_mk_string_symbol(s->z, "rlimit"), most);
	Z3_solver_set_params(s->z, s->solver, p);
	Z3_params_dec_ref(s->z, p);
	s->limit = most;
}

/* Z3's own measure of all that was done in this context. */
static uint64_t work_of(struct smt *s)
{
	Z3_stats all = Z3_solver_get_statistics(s->z, s->solver);
	uint64_t found = 0;

	Z3_stats_inc_ref(s->z, all);
	for (unsigned i = 0; i < Z3_stats_size(s->z, all); i++)
		if (!strcmp(Z3_stats_get_key(s->z, all, i), "rlimit count"))
			found = Z3_stats_is_uint(s->z, all, i)
					? Z3_stats_get_uint_value(s->z, all, i)
					: (uint64_t)Z3_stats_get_double_value(s->z, all, i);
	Z3_stats_dec_ref(s->z, all);
	return found;
}

Z3_lbool prove_smt_solve(struct smt *s)
{
	enum work kind = s->q.use_bits ? WORK_BITS : WORK_INTEGERS;
	uint64_t most = (uint64_t)s->q.work_ms * work_per_ms(kind), left = work_cpu_left();
	uint64_t guard = (uint64_t)GUARD * s->q.work_ms, before;

	limit_work(s, (unsigned)(most < UINT_MAX ? most : UINT_MAX));
	before = work_of(s);
	was_interrupted = false;
	set_timer(s->z, (unsigned)(guard < left ? guard : left + 1));
	may_be_cut = true;
	Z3_lbool x = Z3_solver_check(s->z, s->solver);
	may_be_cut = false;
	set_timer(NULL, 0);
	work_add(kind, was_interrupted ? most : work_of(s) - before);
	return x;
}

bool prove_smt_push(struct smt *s)
{
	may_be_cut = true;
	Z3_solver_push(s->z, s->solver);
	may_be_cut = false;
	if (Z3_get_error_code(s->z) == Z3_OK)
		return true;
	s->nqueries = SMT_QUERIES_PER_CONTEXT; /* the next query has another context */
	return false;
}

Z3_model prove_smt_get_model(struct smt *s)
{
	may_lack_model = true;
	Z3_model zm = Z3_solver_get_model(s->z, s->solver);
	may_lack_model = false;
	return zm;
}

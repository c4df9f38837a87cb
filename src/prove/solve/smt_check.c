/*
 * smt_check.c - Z3's checks, which a timer ends (smt.h): the answer, its model, a state to go back
 * to. What a check that was cut off leaves undone is no error.
 */
#include "prove/solve/smt_impl.h"

#include <signal.h>
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
 * A timer of this process's time interrupts those, so that what else the machine does changes
 * nothing.
 */
static Z3_context interrupted;

static void on_timer(int number)
{
	(void)number;
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

Z3_lbool prove_smt_solve(struct smt *s)
{
	set_timer(s->z, s->q.cpu_ms);
	may_be_cut = true;
	Z3_lbool x = Z3_solver_check(s->z, s->solver);
	may_be_cut = false;
	set_timer(NULL, 0);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: records, read executables, signals and the clock, on one thread. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/ending_signals.h"
#include "agent/goroutine_sweep.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/pipeline.h"
#include "agent/publisher.h"
#include "agent/session.h"
#include "agent/span_sweep.h"
#include "agent/summary.h"
#include "agent/targets.h"
#include "agent/terminal.h"
#include "agent/waits.h"
#include "agent/watchdog.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"

#define TICK_NS		 100000000ull  /* records wait so long, or for a quarter of the buffer */
#define SWEEP_NS	 1000000000ull /* clean up, say why nothing is tagged */
#define STOP_GRACE_NS	 5000000000ull /* for a COMMAND that was told to stop */
#define SAME_SIGNAL_NS	 500000000ull  /* timeout(1) sends two at once: they count as one */
#define FIRST_WINDOW_NS	 300000000ull  /* at least: something is to be seen within a second */
#define RECORDS_LAST_MAX 256	       /* rounds of reading what is left at the end */

struct loop {
	struct session *s;
	int epoll_fd, signal_fd, timer_fd, span_timer_fd;
	uint64_t start_ns, now_ns, end_ns, window_end_ns, sweep_ns, stopping_ns;
	uint64_t windows, unseen;
	struct goroutine_sweep goroutine_sweep;
	struct live live;
	bool table; /* shown while it runs; where there is no terminal, a line a window instead */
	bool on_terminal;
	bool stop;
};

static int watch(struct loop *l, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_descriptors(struct loop *l)
{
	struct itimerspec tick = {.it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS};
	sigset_t signals;
	int error;

	ending_signals_get(&signals);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->span_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->signal_fd < 0 || l->timer_fd < 0 || l->span_timer_fd < 0 ||
	    timerfd_settime(l->timer_fd, 0, &tick, NULL))
		return -errno;
	error = watch(l, l->signal_fd);
	if (!error)
		error = watch(l, l->timer_fd);
	if (!error)
		error = watch(l, l->span_timer_fd);
	if (!error)
		error = watch(l, loader_get_fd(l->s->loader));
	return error ? error : watch(l, capture_get_fd(l->s->capture));
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

int loop_open(struct session *s, struct loop **out)
{
	struct loop *l = calloc(1, sizeof(*l));
	int error;

	*out = l;
	if (!l)
		return -ENOMEM;
	*l = (struct loop){
		.s = s, .epoll_fd = -1, .signal_fd = -1, .timer_fd = -1, .span_timer_fd = -1};
	error = open_descriptors(l);
	if (!error)
		return 0;
	loop_close(l);
	*out = NULL;
	return error;
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	close_if_open(l->span_timer_fd);
	close_if_open(l->timer_fd);
	close_if_open(l->signal_fd);
	close_if_open(l->epoll_fd);
	free(l);
}

/* First signal: stop and write. Second: leave at once. */
static void on_signal(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		bool again = l->stopping_ns;

		if (again && l->now_ns < l->stopping_ns + SAME_SIGNAL_NS)
			continue;
		/* The terminal sends Ctrl-C to the COMMAND itself. */
		if (l->s->command && info.ssi_code <= 0)
			command_signal(l->s->command, info.ssi_signo);
		if (again || !l->s->command)
			l->stop = true;
		if (again) {
			l->s->failed = true;
			continue;
		}
		l->stopping_ns = l->now_ns;
		l->end_ns = l->now_ns + STOP_GRACE_NS;
	}
}

/*
 * In each profile a process has but one identity: what is known when a window ends, and at the end
 * in what is written of the whole run.
 */
static void take_service(struct loop *l, const struct loaded *loaded)
{
	struct target *target;
	struct identity was;

	if (loaded->identity.count)
		live_clear(&l->live); /* it may be worth a line */
	target = targets_take_service(l->s->targets, loaded, &was);
	if (!target)
		return;
	pipeline_rename(l->s->pipeline, &was, &target->identity);
	publisher_rename(l->s->publisher, &was, &target->identity);
}

static void take_loaded(struct loop *l)
{
	struct loaded loaded;

	while (loader_take(l->s->loader, &loaded)) {
		struct target *target;

		if (loaded.is_service) {
			take_service(l, &loaded);
			continue;
		}
		live_clear(&l->live);
		target = targets_adopt(l->s->targets, &loaded);
		if (target)
			pipeline_release(l->s->pipeline, target);
		else if (targets_find(l->s->targets, loaded.pid, 0))
			continue; /* read once more */
		else if (loaded.error == -ESRCH)
			pipeline_lose(l->s->pipeline, loaded.pid);
		else
			pipeline_discard(l->s->pipeline, loaded.pid);
	}
}

/*
 * The first window is short, the second one's length is a matter of chance, so that many agents
 * that were started together do not send together.
 */
static uint64_t next_window_ns(struct loop *l)
{
	uint64_t window_ns = publisher_get_window_ns(l->s->publisher);

	switch (l->windows++) {
	case 0:
		return FIRST_WINDOW_NS + FIRST_WINDOW_NS * (random() % 100) / 100;
	case 1:
		return window_ns * (20 + random() % 80) / 100;
	default:
		return window_ns;
	}
}

static void end_window(struct loop *l)
{
	struct profile *ended = pipeline_take(l->s->pipeline);

	if (ended)
		publisher_add(l->s->publisher, ended);
	l->window_end_ns = l->now_ns + next_window_ns(l);
	if (!l->table)
		return;
	if (l->on_terminal && publisher_get_total(l->s->publisher))
		live_draw(&l->live, publisher_get_total(l->s->publisher));
	else if (!l->on_terminal && l->windows > 2) /* the first is too short to say anything */
		summary_log_progress(l->s, (l->now_ns - l->start_ns) / 1e9);
}

static void check_ends(struct loop *l)
{
	int status;

	if (l->end_ns && l->now_ns >= l->end_ns)
		l->stop = true;
	if (l->s->command && command_has_ended(l->s->command, &status)) {
		l->stop = true;
		live_clear(&l->live);
		if (WIFSIGNALED(status))
			log_info(l->s->log, "the command was ended by signal %d", WTERMSIG(status));
		else if (WEXITSTATUS(status))
			log_info(l->s->log, "the command exited with status %d",
				 WEXITSTATUS(status));
	}
	if (l->s->options->pid_count && !targets_count(l->s->targets)) {
		live_clear(&l->live);
		if (targets_refused(l->s->targets) < l->s->options->pid_count)
			log_info(l->s->log, "all profiled processes have ended");
		l->stop = true;
	}
}

/* An exec or exit found no room in the ring buffer: which one, only a look at all can tell. */
static void make_up_for_unseen(struct loop *l)
{
	struct target_counters counters;

	capture_get_counters(l->s->capture, &counters);
	if (counters.lost[LOSS_PROCESS_UNSEEN] == l->unseen)
		return;
	l->unseen = counters.lost[LOSS_PROCESS_UNSEEN];
	targets_verify(l->s->targets);
}

static bool has_expired(int timer_fd)
{
	uint64_t expired;

	return read(timer_fd, &expired, sizeof(expired)) == sizeof(expired);
}

/* At each tick, and sooner where that would be too late. */
static void sweep_spans(struct loop *l)
{
	struct itimerspec next = {0};
	uint64_t ns = span_sweep_run(l->s->sweep, l->s->capture, l->s->targets, l->s->pipeline);

	if (ns < SPAN_SWEEP_NS)
		next.it_value.tv_nsec = (long)ns;
	timerfd_settime(l->span_timer_fd, 0, &next, NULL);
}

static void on_tick(struct loop *l)
{
	if (l->now_ns >= l->sweep_ns) {
		capture_sweep(l->s->capture);
		make_up_for_unseen(l);
		targets_retry(l->s->targets);
		goroutine_sweep_run(&l->goroutine_sweep, l->s->capture, l->s->targets);
		targets_guard(l->s->targets, l->now_ns);
		targets_explain(l->s->targets, l->now_ns);
		l->sweep_ns = l->now_ns + SWEEP_NS;
	}
	targets_complete_census(l->s->targets);
	targets_ask_services(l->s->targets, l->now_ns);
	waits_take(l->s->waits);
	if (l->now_ns >= l->window_end_ns)
		end_window(l);
	check_ends(l);
}

static void on_timers(struct loop *l)
{
	bool tick = has_expired(l->timer_fd), sweep = has_expired(l->span_timer_fd);

	if (tick || sweep)
		sweep_spans(l);
	if (tick)
		on_tick(l);
}

static int step(struct loop *l)
{
	struct epoll_event events[8];
	int count = epoll_wait(l->epoll_fd, events, 8, -1), error = 0;

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	l->now_ns = clock_monotonic_ns();
	watchdog_feed(l->s->watchdog, l->end_ns);
	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == l->signal_fd)
			on_signal(l);
		else if (events[i].data.fd == loader_get_fd(l->s->loader))
			take_loaded(l);
	}
	error = capture_poll(l->s->capture);
	on_timers(l);
	return error < 0 ? error : 0;
}

/* What the kernel side still holds, after the clocks were stopped. */
static void drain(struct loop *l)
{
	for (int i = 0; i < RECORDS_LAST_MAX && capture_poll(l->s->capture) > 0; i++)
		watchdog_feed(l->s->watchdog, l->end_ns);
	span_sweep_run(l->s->sweep, l->s->capture, l->s->targets, l->s->pipeline);
	waits_finish(l->s->waits);
	pipeline_lose_all(l->s->pipeline);
	l->table = false;
	live_clear(&l->live);
	end_window(l);
}

int loop_run(struct loop *l)
{
	struct session *s = l->s;
	int error = 0;

	l->table = options_is_local(s->options);
	l->on_terminal = live_is_possible(s->options);
	l->start_ns = l->now_ns = clock_monotonic_ns();
	if (s->options->duration_ns)
		l->end_ns = l->now_ns + s->options->duration_ns;
	l->window_end_ns = l->now_ns + next_window_ns(l);
	while (!l->stop && !error)
		error = step(l);
	capture_stop(s->capture);
	drain(l);
	targets_end(s->targets);
	if (targets_refused(s->targets))
		s->failed = true;
	if (error)
		log_error(s->log, "event loop: %s", strerror(-error));
	return error;
}

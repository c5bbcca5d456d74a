/* SPDX-License-Identifier: Apache-2.0 */
/* What each look at a goroutine stands for, by the state it is in. See watched.h. */
#include "waiting/watched.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/handle_index.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "waiting/looks.h"
#include "waiting/thread_share.h"

#define FEW	 64	      /* goroutines in a turn: fewer are not shared out */
#define SHORT_NS 100000000ull /* looks at spans younger than that stand for others, too */
#define ATTEMPTS 3	      /* to find one that moves in one place */

struct watched {
	uint32_t generation;
	struct process *process;
	const struct gobinary_info *info;
	uint64_t bias;
	bool outside; /* goroutines outside spans count, too */
	struct roster *roster;
	struct stands *stands;
	struct thread_shares *shares;
	/* Goroutines have their turns in so many passes, by their addresses. */
	unsigned share, turn;
	uint64_t turn_ns[WATCHED_SHARE_MAX]; /* monotonic, of the last look in each; 0 none */
	/* Of the pass at hand: */
	struct watched_pass pass;
	uint64_t now_ns, now_wall_ns;
	uint64_t gap_ns;      /* since the turn's last look */
	uint64_t duration_ns; /* that the look at hand stands for */
};

int watched_open(uint32_t generation, pid_t pid, const struct gobinary_info *info, uint64_t bias,
		 bool outside, uint64_t since_ns, struct watched **out)
{
	struct watched *w = calloc(1, sizeof(*w));
	int error = w ? 0 : -ENOMEM;

	*out = NULL;
	if (error)
		return error;
	w->generation = generation;
	w->info = info;
	w->bias = bias;
	w->outside = outside;
	w->share = 1;
	w->turn_ns[0] = since_ns;
	error = process_open(pid, &w->process);
	if (!error)
		error = roster_open(outside, &w->roster);
	if (!error)
		error = stands_open(&w->stands);
	if (!error)
		error = thread_shares_open(w->process, &w->shares);
	if (error)
		watched_close(w);
	else
		*out = w;
	return error;
}

void watched_close(struct watched *w)
{
	if (!w)
		return;
	thread_shares_close(w->shares);
	stands_close(w->stands);
	roster_close(w->roster);
	process_close(w->process);
	free(w);
}

static bool has_turn(void *context, uint64_t g)
{
	const struct watched *w = context;

	return w->share == 1 || handle_hash(&g, sizeof(g)) % w->share == w->turn;
}

/* New turns begin where those were looked at last that they are made of. */
static void change_share(struct watched *w, unsigned share)
{
	uint64_t before_ns[WATCHED_SHARE_MAX];
	unsigned parts = share < w->share ? w->share / share : 1;

	memcpy(before_ns, w->turn_ns, sizeof(before_ns));
	for (unsigned i = 0; i < share; i++) {
		w->turn_ns[i] = 0;
		for (unsigned part = 0; part < parts && before_ns[0]; part++)
			w->turn_ns[i] += before_ns[(i + part * share) % w->share] / parts;
	}
	w->share = share;
	w->turn = 0;
}

static void put_span(const struct watched *w, const struct look *look, struct sample_record *record)
{
	struct sample_span *to = &record->span;
	const struct span_memory *span = &look->span;

	if (!look_has_span(look))
		return;
	to->address = look->told.address;
	to->level = look->level;
	to->source = look->source;
	memcpy(to->span_id, &look->told.span_id, sizeof(to->span_id));
	if (look->span_is == LOOK_UNREADABLE) {
		record->flags |= SAMPLE_SPAN_UNREADABLE;
		return;
	}
	record->flags |= SAMPLE_SPAN;
	memcpy(to->trace_id, span->trace_id, sizeof(to->trace_id));
	to->trace_flags = span->trace_flags;
	to->name_address = span->name_address;
	to->name_size = span->name_size > 0xffff ? 0xffff : (uint32_t)span->name_size;
	if (to->name_size) {
		size_t size = to->name_size < sizeof(to->name) ? to->name_size : sizeof(to->name);

		if (!process_read_memory(w->process, to->name_address, to->name, size))
			to->name_copied = (uint8_t)size;
	}
}

/* NULL: no memory, or it has moved while more of it was read. */
static struct waiting_record *make_record(struct watched *w, const struct look *look,
					  enum waiting_state state, uint64_t duration_ns)
{
	struct waiting_record *r = calloc(1, sizeof(*r) + 8 * PARKED_WORDS_MAX), *smaller;

	if (!r)
		return NULL;
	r->duration_ns = duration_ns;
	r->state = state;
	r->reason = state == WAITING_PARKED ? look->g.wait_reason : 0;
	r->sample.header.type = RECORD_SAMPLE;
	r->sample.header.size_bytes = sizeof(r->sample);
	r->sample.flags = SAMPLE_WAITING;
	r->sample.time_ns = w->now_ns;
	r->sample.pid = (uint32_t)process_get_pid(w->process);
	r->sample.generation = w->generation;
	r->sample.goid = look->g.goid;
	r->sample.g = look->g.g;
	put_span(w, look, &r->sample);
	if (look->top.count)
		parked_stack_fill(w->process, w->info, w->bias, &look->g, &look->top, &r->sample);
	if (look->top.count && !look_is_still(w->pass.looks, look)) {
		free(r);
		return NULL;
	}
	smaller = realloc(r, waiting_record_bytes(r));
	return smaller ? smaller : r;
}

static void fill_key(const struct look *look, enum waiting_state state, struct stand_key *key)
{
	*key = (struct stand_key){
		.goid = look->g.goid,
		.state = state,
		.reason = state == WAITING_PARKED ? look->g.wait_reason : 0,
	};
	if (look_has_span(look)) {
		key->span_address = look->told.address;
		key->span_id = look->told.span_id;
	}
	if (!look->top.count)
		return;
	key->sp = look->g.sp;
	key->pc = look->g.pc;
	key->top_hash = handle_hash(look->top.words, look->top.count * sizeof(*look->top.words));
}

/* It stands in one place until it is seen in another. False: it moved meanwhile. */
static bool stand(struct watched *w, const struct look *look, enum waiting_state state,
		  uint64_t thread)
{
	struct waiting_record *record;
	struct stand_key key;

	fill_key(look, state, &key);
	if (stands_go_on(w->stands, look->g.g, &key, w->duration_ns, w->pass.out))
		return true;
	record = make_record(w, look, state, w->duration_ns);
	if (!record)
		return false;
	if (state == WAITING_SYSCALL && thread)
		thread_shares_get_channel(w->shares, thread, record->channel,
					  sizeof(record->channel));
	stands_begin(w->stands, look->g.g, &key, record, w->pass.out);
	return true;
}

/* A part of its time, which is told at once. */
static void stand_for(struct watched *w, const struct look *look, enum waiting_state state,
		      double part)
{
	uint64_t duration_ns = (uint64_t)(part * (double)w->duration_ns);
	struct waiting_record *record;

	if (!duration_ns)
		return;
	record = make_record(w, look, state, duration_ns);
	if (record)
		record_list_add(w->pass.out, record);
}

/* On a thread: in a system call, in C or running. What that is on a CPU is the sampler's. */
static bool stand_on_thread(struct watched *w, const struct look *look)
{
	bool runs = look->g.status == GOROUTINE_RUNNING;
	struct thread_share share = {.blocked = !runs};
	uint64_t thread = 0;

	/* A thread of which nothing can be known does what its goroutine seems to do. */
	if (w->info->runtime.m_thread && look->g.m &&
	    !process_read_memory(w->process, look->g.m + w->info->runtime.m_thread, &thread,
				 sizeof(thread)) &&
	    thread_shares_look(w->shares, thread, &share))
		share = (struct thread_share){.blocked = !runs};
	if (share.blocked)
		return stand(w, look, runs ? WAITING_NO_CPU : WAITING_SYSCALL, thread);
	stand_for(w, look, WAITING_NO_CPU, share.queued);
	stand_for(w, look, WAITING_THROTTLED, share.throttled);
	return true;
}

/* What a look at it stands for: no more time than its span, when that is known, has been there. */
static uint64_t duration_of(const struct watched *w, const struct look *look)
{
	uint64_t start_ns, age_ns;

	if (look->span_is != LOOK_OPEN)
		return w->gap_ns;
	start_ns = go_time_wall_ns(look->span.start);
	age_ns = w->now_wall_ns > start_ns ? w->now_wall_ns - start_ns : 0;
	age_ns = age_ns > SHORT_NS ? age_ns : SHORT_NS;
	return w->gap_ns < age_ns ? w->gap_ns : age_ns;
}

/* False: it moved meanwhile. */
static bool settle(struct watched *w, const struct look *look)
{
	if (!look_counts(w->pass.looks, look))
		return true;
	if (look->moved && look_has_stack(look))
		return false;
	w->duration_ns = duration_of(w, look);
	if (look_has_stack(look) && !look->top.count) {
		w->pass.stats->unreadable++;
		return true;
	}
	switch (look->g.status) {
	case GOROUTINE_WAITING:
	case GOROUTINE_LEAKED:
		return stand(w, look, WAITING_PARKED, 0);
	case GOROUTINE_RUNNABLE:
		return stand(w, look, WAITING_RUNNABLE, 0);
	default:
		return stand_on_thread(w, look);
	}
}

static void count(struct watched *w, const struct look *look)
{
	w->pass.stats->unsampled += look->span_is == LOOK_UNSAMPLED;
	if (!look_counts(w->pass.looks, look))
		return;
	w->pass.stats->looks++;
	w->pass.stats->unreadable += look->span_is == LOOK_UNREADABLE;
}

/* Those that move are looked at again, at once: else who moves often would count too little. */
static int look_at_batch(struct watched *w)
{
	struct looks *looks = w->pass.looks;
	int error = 0;

	for (int attempt = 0; looks->count && attempt < ATTEMPTS && !error; attempt++) {
		size_t moved = 0;

		error = looks_read(looks, w->pass.list->spans);
		for (size_t i = 0; i < looks->count && !error; i++) {
			if (!attempt)
				count(w, &looks->all[i]);
			if (!settle(w, &looks->all[i]))
				looks_again(looks, i, moved++);
		}
		looks->count = moved;
	}
	w->pass.stats->moved += error ? 0 : looks->count;
	looks_begin(looks, w->process, w->info, w->outside);
	return error;
}

/* Some dozen goroutines are looked at faster than they are shared out. */
static unsigned share_of(size_t goroutines, unsigned share)
{
	while (share > 1 && goroutines < (size_t)share * FEW)
		share /= 2;
	return share;
}

int watched_look(struct watched *w, const struct watched_pass *pass)
{
	const struct wanted *told;
	size_t told_count = wanted_list_find(pass->list, w->generation, &told);
	struct roster_entry entry;
	unsigned share;
	int error = 0;

	roster_begin(w->roster, w->process, w->info, w->bias, told, told_count);
	share = share_of(roster_count(w->roster), pass->share);
	if (share != w->share)
		change_share(w, share);
	w->now_ns = clock_monotonic_ns();
	w->now_wall_ns = clock_wall_ns();
	w->gap_ns = w->turn_ns[w->turn] ? w->now_ns - w->turn_ns[w->turn] : 0;
	w->turn_ns[w->turn] = w->now_ns;
	w->pass = *pass;
	looks_begin(pass->looks, w->process, w->info, w->outside);
	while (!error && roster_next(w->roster, &entry)) {
		if (!has_turn(w, entry.g) || looks_add(pass->looks, &entry))
			continue;
		error = look_at_batch(w);
		looks_add(pass->looks, &entry);
	}
	if (!error)
		error = look_at_batch(w);
	if (!error)
		stands_end_pass(w->stands, has_turn, w, w->now_ns, pass->out);
	thread_shares_sweep(w->shares);
	w->turn = (w->turn + 1) % w->share;
	return error;
}

unsigned watched_turns(const struct watched *w)
{
	return w->share;
}

void watched_flush(struct watched *w, struct record_list *out)
{
	stands_flush(w->stands, out);
}

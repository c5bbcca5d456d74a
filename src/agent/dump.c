/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the process, its open spans and their stacks, and prints span by span. */
#include "agent/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/binary_store.h"
#include "agent/dump_stacks.h"
#include "agent/loader.h"
#include "agent/open_spans.h"
#include "agent/options.h"
#include "agent/terminal.h"
#include "agent/wait_candidates.h"
#include "agent/wait_state.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/location.h"
#include "base/log.h"
#include "base/string_table.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "report/dump.h"
#include "report/names.h"
#include "symbolize/symbolize.h"

#define CACHE_BYTES	 (4 << 20)
#define LOCATIONS_MAX	 (1 << 18)
#define TEXT_BYTES_MAX	 (16 << 20)			/* of one span */
#define GOROUTINES_SHOWN 64				/* of one span */
#define NAME_SIZE	 (3 * SPAN_MEMORY_NAME_MAX + 1) /* cleaned: U+FFFD takes 3 bytes */
#define IMAGE		 1

struct dump {
	struct block_cache *cache;
	struct binary_store *store;
	struct symbolizer *symbolizer;
	struct loaded loaded;
	uint64_t bias;
	struct open_spans spans;
	struct dump_stacks stacks;
	struct wait_candidates *candidates;
	struct dump_options look;
	struct buffer text;
	bool any_candidates;
};

/* The text of one goroutine, and what it lends. */
struct goroutine_text {
	char state[WAIT_STATE_SIZE];
	struct dump_candidate candidates[WAIT_CANDIDATES_MAX];
	char names[WAIT_CANDIDATES_MAX][NAME_SIZE];
	const struct frame *own;
};

static const char *explain(int error)
{
	switch (error) {
	case -ESRCH:
	case -ENOENT:
		return "no such process";
	case -EACCES:
	case -EPERM:
		return "its memory may not be read: run as root (sudo) or with CAP_SYS_PTRACE";
	case -ECANCELED:
		return "its environment says SPANPROF=off";
	case -ENOEXEC:
	case -EINVAL:
	case -ENXIO:
		return "it is not a Go program";
	case -EFAULT:
		return "its memory is not as its executable says: has it just executed another "
		       "one?";
	case -ENOTSUP:
		return "where its Go runtime lists goroutines was not found";
	}
	return strerror(-error);
}

static const char *refusal(const struct loaded *loaded)
{
	if (loaded->error)
		return explain(loaded->error);
	if (!loaded->binary->go)
		return "it is not a Go program";
	if (!gobinary_get_info(loaded->binary->go)->has_sdk)
		return "it has no spans: it does not link the OpenTelemetry SDK "
		       "(go.opentelemetry.io/otel/sdk)";
	return NULL;
}

static int open_symbols(struct dump *d)
{
	const struct symbolizer_config config = {.cache = d->cache, .locations_max = LOCATIONS_MAX};
	int error = symbolizer_open(&config, &d->symbolizer);

	return error ? error
		     : symbolizer_add_image(d->symbolizer, IMAGE, d->loaded.process,
					    d->loaded.binary->go, d->bias);
}

/* As its traces name it, where there is a span to lead there. */
static void read_service(struct dump *d)
{
	const struct go_resource_layout *at = &gobinary_get_info(d->loaded.binary->go)->resource;
	struct span_resource resource;
	struct identity service;

	/* Else what the loader found is all there is. */
	if (d->spans.holder_count &&
	    !span_resource_find(d->loaded.process, at, d->bias, d->spans.holders[0].span.address,
				&resource) &&
	    !span_resource_read(d->loaded.process, at, &resource, &service))
		identity_set_service(&d->loaded.identity, &service);
}

/* From the process that was loaded to all that is printed. */
static int read_spans(struct dump *d)
{
	struct gobinary *go = d->loaded.binary->go;
	struct stack_spans_process process = {.process = d->loaded.process, .binary = go};
	int error = process_get_load_bias(d->loaded.process,
					  d->loaded.binary->first_segment_address, &d->bias);

	gobinary_set_cache(go, d->cache);
	process.bias = d->bias;
	if (!error)
		error = open_spans_read(&process, &d->spans);
	if (!error)
		read_service(d);
	if (!error)
		error = open_symbols(d);
	if (!error)
		error = dump_stacks_read(&d->spans, go, d->symbolizer, IMAGE, &d->stacks);
	if (!error)
		error = wait_candidates_open(d->stacks.all, d->spans.goroutine_count,
					     &d->candidates);
	return error;
}

static void clean_name(const struct dump *d, const struct open_holder *holder, char to[NAME_SIZE])
{
	if (holder->name_size)
		string_clean(to, NAME_SIZE, d->spans.names + holder->name, holder->name_size);
	else
		snprintf(to, NAME_SIZE, "(name unreadable)");
}

static void name_state(const struct dump *d, const struct goroutine_state *g,
		       char to[WAIT_STATE_SIZE])
{
	struct waiting_record record = {.state = WAITING_PARKED, .reason = g->wait_reason};

	if (g->status == GOROUTINE_RUNNABLE)
		record.state = WAITING_RUNNABLE;
	if (g->status == GOROUTINE_SYSCALL)
		record.state = WAITING_SYSCALL;
	wait_state_name(d->loaded.binary->go, &record, to);
}

static void add_candidates(struct dump *d, uint32_t goroutine, struct goroutine_text *text,
			   struct dump_goroutine *out)
{
	struct wait_candidate found[WAIT_CANDIDATES_MAX];
	size_t count = wait_candidates_find(d->candidates, goroutine, found);

	out->candidate_count = count < WAIT_CANDIDATES_MAX ? count : WAIT_CANDIDATES_MAX;
	out->candidates_more = count - out->candidate_count;
	out->candidates = text->candidates;
	out->for_lock = wait_reason_kind(d->stacks.all[goroutine].reason) == WAIT_FOR_LOCK;
	for (size_t i = 0; i < out->candidate_count; i++) {
		const struct open_goroutine *g = &d->spans.goroutines[found[i].index];
		const struct open_holder *holder = &d->spans.holders[g->works_for];
		struct dump_candidate *c = &text->candidates[i];

		clean_name(d, holder, text->names[i]);
		*c = (struct dump_candidate){
			.span_name = text->names[i],
			.goid = g->state.goid,
			.at = found[i].at,
		};
		memcpy(c->span_id, holder->span.span_id, sizeof(c->span_id));
		d->any_candidates = true;
	}
}

/* Where in the service's own code it stands; else whoever called into the runtime. */
static const struct frame *find_own(const struct standing *stack)
{
	for (size_t i = 0; i < stack->frame_count; i++)
		if (names_is_own(stack->frames[i]->function, stack->frames[i]->file))
			return stack->frames[i];
	return standing_user(stack);
}

/* Of a goroutine that works for another span, an inner one say, only where it is. */
static void describe(struct dump *d, const struct open_holder *holder, struct goroutine_text *text,
		     struct dump_goroutine *out)
{
	const struct open_goroutine *g = &d->spans.goroutines[holder->goroutine];
	const struct standing *stack = &d->stacks.all[holder->goroutine];

	name_state(d, &g->state, text->state);
	*out = (struct dump_goroutine){
		.goid = g->state.goid,
		.state = text->state,
		.by_context = holder->by_context,
		.frames = stack->frames,
		.frame_count = stack->frame_count,
		.deeper = g->deeper,
	};
	if (holder->is_work) {
		add_candidates(d, holder->goroutine, text, out);
		return;
	}
	text->own = find_own(stack);
	out->other_span_id = d->spans.holders[g->works_for].span.span_id;
	out->frames = &text->own;
	out->frame_count = text->own != NULL;
	out->deeper = 0;
}

static int flush_text(struct dump *d)
{
	int error = d->text.failed ? -ENOMEM : 0;

	errno = EIO;
	if (!error && fwrite(d->text.data, 1, d->text.size, stdout) != d->text.size)
		error = -errno;
	d->text.size = 0;
	return error;
}

static int print_span(struct dump *d, size_t number, const struct open_holder *holders,
		      size_t count)
{
	static const size_t shown_max = GOROUTINES_SHOWN;
	size_t shown = count < shown_max ? count : shown_max;
	struct goroutine_text *texts = calloc(shown, sizeof(*texts));
	struct dump_goroutine *goroutines = calloc(shown, sizeof(*goroutines));
	uint64_t start_ns = go_time_wall_ns(holders->span.start);
	char name[NAME_SIZE];
	struct dump_span span = {
		.name = name,
		.age_ns = start_ns < d->spans.now_ns ? d->spans.now_ns - start_ns : 0,
		.goroutines = goroutines,
		.goroutine_count = shown,
		.goroutines_more = count - shown,
	};
	int error = texts && goroutines ? 0 : -ENOMEM;

	memcpy(span.trace_id, holders->span.trace_id, sizeof(span.trace_id));
	memcpy(span.span_id, holders->span.span_id, sizeof(span.span_id));
	clean_name(d, holders, name);
	for (size_t i = 0; i < shown && !error; i++)
		describe(d, &holders[i], &texts[i], &goroutines[i]);
	if (!error)
		dump_print_span(&d->look, number, &span, &d->text);
	free(goroutines);
	free(texts);
	return error ? error : flush_text(d);
}

static int print(struct dump *d)
{
	const struct open_spans *s = &d->spans;
	const struct dump_head head = {
		.service = identity_get(&d->loaded.identity, "service.name"),
		.pid = d->loaded.pid,
		.spans = s->span_count,
		.goroutines = s->looked_at,
		.left_out = s->left_out,
		.ran = s->ran,
		.ran_goids = s->ran_goids,
		.ran_goid_count = s->ran < OPEN_SPANS_RAN_MAX ? s->ran : OPEN_SPANS_RAN_MAX,
	};
	int error;

	d->look.color = terminal_has_color(STDOUT_FILENO);
	d->look.columns = terminal_columns(STDOUT_FILENO);
	dump_print_head(&d->look, &head, &d->text);
	error = flush_text(d);
	for (size_t i = 0, number = 0, count; i < s->holder_count && !error; i += count) {
		count = open_spans_holders(s, i);
		error = print_span(d, ++number, &s->holders[i], count);
	}
	if (!error && d->any_candidates) {
		dump_print_note(&d->look, &d->text);
		error = flush_text(d);
	}
	return error || !fflush(stdout) ? error : -errno;
}

static int open_stores(struct dump *d)
{
	int error = block_cache_open(CACHE_BYTES, &d->cache);

	return error ? error : binary_store_open(1, &d->store);
}

static void close_all(struct dump *d)
{
	wait_candidates_close(d->candidates);
	dump_stacks_close(&d->stacks);
	symbolizer_close(d->symbolizer);
	open_spans_close(&d->spans);
	if (d->loaded.binary && d->loaded.binary->go)
		gobinary_set_cache(d->loaded.binary->go, NULL);
	binary_store_put(d->store, d->loaded.binary);
	process_close(d->loaded.process);
	binary_store_close(d->store);
	block_cache_close(d->cache);
	buffer_close(&d->text);
}

static int dump_process(struct dump *d, pid_t pid, const struct log *log)
{
	uint64_t began_ns = clock_monotonic_ns();
	const char *why;
	int error = open_stores(d);

	if (!error)
		loader_load(d->store, d->cache, pid, &d->loaded);
	why = error ? strerror(-error) : refusal(&d->loaded);
	if (!why) {
		error = read_spans(d);
		why = error ? explain(error) : NULL;
	}
	if (why) {
		log_error(log, "pid %d: %s", (int)pid, why);
		return EXIT_FAILED;
	}
	log_debug(log, "pid %d: read in %.1f ms", (int)pid,
		  (double)(clock_monotonic_ns() - began_ns) / 1e6);
	if (gobinary_get_info(d->loaded.binary->go)->span.source == GO_OFFSETS_NEWEST)
		log_warn(log,
			 "pid %d: unknown SDK version: spans are read as in the newest known one",
			 (int)pid);
	error = print(d);
	if (error)
		log_error(log, "the spans could not be printed: %s", strerror(-error));
	return error ? EXIT_FAILED : EXIT_DONE;
}

int dump_run(const struct options *options, const struct log *log)
{
	struct dump d = {0};
	int exit_code;

	buffer_open(&d.text, TEXT_BYTES_MAX);
	exit_code = dump_process(&d, options->pids[0], log);
	close_all(&d);
	return exit_code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From a span that was seen to who its service is: the loader's look, and what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/mman.h>

#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/pipeline.h"
#include "agent/targets_private.h"
#include "base/log.h"
#include "base/string_table.h"
#include "process/span_memory.h"
#include "profile/profile.h"
#include "resource_program.h"

#define PATIENCE_MS 20000
#define SECOND_NS   1000000000ull
#define GENERATION  7

static struct parked *program;

struct scene {
	struct options options;
	struct log log;
	struct binary_store *store;
	struct loader *loader;
	struct binary binary;
	struct targets targets;
	struct entry entry;
};

static void set_text(struct identity *id, const char *key, const char *value)
{
	struct identity_attribute *a = &id->attributes[id->count++];

	strcpy(a->key, key);
	strcpy(a->value, value);
}

static int set_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct entry *e = &s->entry;

	s->options.pid_count = 1;
	s->log.fd = memfd_create("log", MFD_CLOEXEC);
	assert_int_equal(binary_store_open(4, &s->store), 0);
	assert_int_equal(loader_open(s->store, &s->loader), 0);
	s->targets.config = (struct targets_config){
		.options = &s->options, .log = &s->log, .loader = s->loader};
	s->binary.go = program->binary;
	e->target.pid = program->pid;
	e->target.generation = GENERATION;
	e->target.binary = &s->binary;
	e->target.process = program->process;
	set_text(&e->target.identity, "service.name", "program");
	set_text(&e->target.identity, "service.namespace", "old");
	set_text(&e->target.identity, "host.name", "box");
	HASH_ADD_INT(s->targets.entries, target.pid, e);
	*state = s;
	return 0;
}

static int clear_scene(void **state)
{
	struct scene *s = *state;

	HASH_CLEAR(hh, s->targets.entries);
	assert_true(loader_close(s->loader));
	binary_store_close(s->store);
	close(s->log.fd);
	free(s);
	return 0;
}

static void see(struct scene *s, const char *span)
{
	target_see_span(&s->entry.target, resource_program_span(program, span));
}

static bool is_asked(const struct scene *s)
{
	return s->entry.target.service.asked;
}

/* The answer of a look that is under way. */
static struct loaded wait_for(struct scene *s)
{
	struct pollfd ready = {.fd = loader_get_fd(s->loader), .events = POLLIN};
	struct loaded loaded;

	assert_true(is_asked(s));
	while (!loader_take(s->loader, &loaded))
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	assert_true(loaded.is_service);
	assert_null(loaded.process);
	assert_null(loaded.binary);
	return loaded;
}

/* A look at that time, which must be made; whether the target is another service since. */
static bool look(struct scene *s, uint64_t now_ns, struct identity *was)
{
	struct target *target;
	struct loaded loaded;

	targets_ask_services(&s->targets, now_ns);
	loaded = wait_for(s);
	target = targets_take_service(&s->targets, &loaded, was);
	assert_true(!target || target == &s->entry.target);
	assert_false(is_asked(s));
	return target;
}

static void assert_service(const struct scene *s, const char *key, const char *value)
{
	assert_string_equal(identity_get(&s->entry.target.identity, key), value);
}

static size_t read_log(const struct scene *s, char *text, size_t size)
{
	ssize_t bytes = pread(s->log.fd, text, size - 1, 0);

	text[bytes > 0 ? bytes : 0] = '\0';
	return strlen(text);
}

static void test_first_span(void **state)
{
	struct scene *s = *state;
	char text[512], wanted[128];
	struct identity was;

	assert_false(look(s, SECOND_NS, &was)); /* no span yet, no provider for all */
	target_see_span(&s->entry.target, 0);
	targets_ask_services(&s->targets, SECOND_NS + 99000000);
	assert_false(is_asked(s));
	see(s, "usual");
	assert_true(look(s, SECOND_NS + 100000000, &was));
	assert_string_equal(identity_get(&was, "service.name"), "program");
	assert_service(s, "service.name", "shop");
	assert_service(s, "service.version", "1.2.3");
	assert_service(s, "service.namespace", "");
	assert_service(s, "host.name", "box");
	read_log(s, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "pid %d: service shop, by its traces\n", program->pid);
	assert_non_null(strstr(text, wanted));
}

/* Once it is known a look now and then tells whether it is all there is. */
static void test_later_spans(void **state)
{
	struct scene *s = *state;
	struct identity was;
	char text[512];

	see(s, "usual");
	assert_true(look(s, SECOND_NS, &was));
	see(s, "again");
	targets_ask_services(&s->targets, 10 * SECOND_NS);
	assert_false(is_asked(s));
	assert_false(look(s, 12 * SECOND_NS, &was));
	assert_false(s->entry.target.service.several);
	see(s, "crowd");
	assert_false(look(s, 23 * SECOND_NS, &was));
	assert_true(s->entry.target.service.several);
	assert_service(s, "service.name", "shop");
	read_log(s, text, sizeof(text));
	assert_non_null(strstr(text, "several tracer providers: all its samples count as service "
				     "shop, those of last, too"));
	see(s, "all");
	targets_ask_services(&s->targets, 1000 * SECOND_NS);
	assert_false(is_asked(s));
}

/* What is no resource is tried again with another span, less and less often. */
static void test_tried_again(void **state)
{
	struct scene *s = *state;
	struct identity was;
	uint64_t now_ns = 5 * SECOND_NS;

	for (uint64_t pause_ns = SECOND_NS / 10; pause_ns < SECOND_NS; pause_ns *= 2) {
		see(s, pause_ns % 3 ? "no-resource" : "slice");
		assert_false(look(s, now_ns, &was));
		targets_ask_services(&s->targets, now_ns + pause_ns - 1);
		assert_false(is_asked(s));
		now_ns += pause_ns;
	}
	assert_service(s, "service.name", "program");
	see(s, "all");
	assert_true(look(s, now_ns, &was));
	assert_service(s, "deployment.environment", "prod");
}

/* Nothing that traces say is no name; what else was said elsewhere is none of theirs. */
static void test_empty_resource(void **state)
{
	struct scene *s = *state;
	struct identity was;

	see(s, "empty");
	assert_true(look(s, 1, &was));
	assert_service(s, "service.name", "program");
	assert_service(s, "service.namespace", "");
	assert_string_equal(identity_get(&was, "service.namespace"), "old");
}

/* An exec since: the answer is of an image that is no more. */
static void test_other_image(void **state)
{
	struct scene *s = *state;
	struct loaded loaded;
	struct identity was;

	see(s, "usual");
	targets_ask_services(&s->targets, 1);
	loaded = wait_for(s);
	s->entry.target.generation++;
	assert_null(targets_take_service(&s->targets, &loaded, &was));
	assert_service(s, "service.name", "program");
}

/* Closed while many looks are yet to be made: nothing of them leaks. */
static void test_closed_early(void **state)
{
	struct scene *s = *state;
	const struct service_query query = {.layout = program->info->resource};

	for (int i = 0; i < 500; i++)
		assert_int_equal(loader_request_service(s->loader, program->pid, 1, &query), 0);
	assert_true(loader_close(s->loader));
	s->loader = NULL;
}

/* Within a window there is but the one; the next one begins with it. */
static void test_window(void **state)
{
	struct scene *s = *state;
	const struct pipeline_config config = {.period_ns = 10000000, .keep_ended_spans = true};
	struct span_memory span = {.address = resource_program_span(program, "usual"),
				   .trace_id = {1},
				   .span_id = {2},
				   .name_address = program->info->text_start,
				   .name_size = 8};
	struct pipeline *pipeline;
	struct profile *windows[2];
	struct profile_view v;
	struct identity was;

	span.start.wall = 1ull << 63 | (clock_wall_ns() / SECOND_NS + 2682288000ull) << 30;
	assert_int_equal(pipeline_open(&config, &pipeline), 0);
	pipeline_see_open(pipeline, &s->entry.target, &span);
	assert_int_equal(s->entry.target.service.span, span.address);
	assert_true(look(s, 1, &was));
	pipeline_rename(pipeline, &was, &s->entry.target.identity);
	pipeline_see_open(pipeline, &s->entry.target, &span);
	windows[0] = pipeline_take(pipeline);
	pipeline_see_open(pipeline, &s->entry.target, &span);
	windows[1] = pipeline_take(pipeline);
	for (size_t i = 0; i < 2; i++) {
		profile_get_view(windows[i], &v);
		assert_int_equal(v.resource_count, 2);
		assert_int_equal(v.resources[1].attribute_count, 3);
		assert_string_equal(string_table_get(profile_get_strings(windows[i]),
						     profile_get_service(windows[i], 1)),
				    "shop");
		profile_close(windows[i]);
	}
	pipeline_close(pipeline);
}

static int set_up(void **state)
{
	program = resource_program_run("-");
	return 0;
}

static int tear_down(void **state)
{
	parked_end(program);
	return 0;
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_scene, clear_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(test_first_span),   IN_SCENE(test_later_spans),
		IN_SCENE(test_tried_again),  IN_SCENE(test_empty_resource),
		IN_SCENE(test_other_image),  IN_SCENE(test_window),
		IN_SCENE(test_closed_early),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What show does with files: those it cannot use, in one line; others written, added up, sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/options.h"
#include "agent/show.h"
#include "base/bytes.h"
#include "base/log.h"
#include "format/format.h"
#include "loopback_server.h"
#include "pprof_file.h"
#include "profile_total.h"
#include "sample_profile.h"

static char path[] = "/tmp/test_show_XXXXXX";
static int file = -1;

static int open_file(void **state)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	file = mkstemp(path);
	return file < 0;
}

static int remove_file(void **state)
{
	close(file);
	return unlink(path);
}

static void assert_show_says(const char *why)
{
	struct options options = {.files = {path}, .file_count = 1};
	char said[512], wanted[512];
	struct log log;
	ssize_t size;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	log = (struct log){.fd = fds[1]};
	assert_int_equal(show_run(&options, &log), EXIT_FAILED);
	size = read(fds[0], said, sizeof(said) - 1);
	assert_true(size > 0);
	said[size] = '\0';
	snprintf(wanted, sizeof(wanted), "spanprof: error: %s: %s\n", path, why);
	assert_string_equal(said, wanted);
	close(fds[0]);
	close(fds[1]);
}

/* A file that is one dictionary of empty mappings, two bytes each. */
static void write_mappings(size_t count)
{
	size_t size = 2 * count;
	uint8_t *data = calloc(1, size + 4);

	assert_non_null(data);
	data[0] = 0x12;
	data[1] = 0x80 | (size & 0x7f);
	data[2] = 0x80 | (size >> 7 & 0x7f);
	data[3] = (uint8_t)(size >> 14);
	for (size_t i = 0; i < count; i++)
		data[4 + 2 * i] = 0x0a;
	assert_int_equal(write(file, data, size + 4), size + 4);
	free(data);
}

static void an_empty_file(void **state)
{
	assert_show_says("no profile of CPU samples in it");
}

static void a_file_over_the_limit(void **state)
{
	assert_int_equal(ftruncate(file, (off_t)FORMAT_OTLP_FILE_BYTES_MAX + 1), 0);
	assert_show_says("larger than 128 MiB");
}

static void a_few_empty_messages(void **state)
{
	write_mappings(500);
	assert_show_says("no profile of CPU samples in it");
}

static void too_many_empty_messages(void **state)
{
	write_mappings(200000);
	assert_show_says("too large once unpacked, or out of memory");
}

static void no_regular_file(void **state)
{
	char *kept = strdup(path);

	strcpy(path, "/tmp");
	assert_show_says("not a regular file");
	strcpy(path, kept);
	free(kept);
}

static void a_pprof_file_of_another_kind(void **state)
{
	struct pprof_file *f = new_untyped_pprof();
	struct buffer b;

	pprof_add_type(f, "inuse_space", "bytes", 1);
	b = pack_pprof(f);
	assert_int_equal(write(file, b.data, b.size), b.size);
	buffer_close(&b);
	assert_show_says("no profile of CPU time or off_cpu time, but of inuse_space/bytes");
}

/* A folder with the same profile as a.otlp and b.pb.gz, whose names say the contrary. */
struct folder {
	char name[32], otlp[48], pprof[48], out[48];
	struct options options;
	char said[2048];
};

static void write_bytes(const char *name, const struct buffer *b)
{
	FILE *to = fopen(name, "wb");

	assert_non_null(to);
	assert_int_equal(fwrite(b->data, 1, b->size, to), b->size);
	assert_int_equal(fclose(to), 0);
}

static int open_folder(void **state)
{
	static const struct format_otlp_options as_file = {.span_names = true};
	struct folder *f = calloc(1, sizeof(*f));
	struct profile *p = sample_profile();
	struct buffer b;

	strcpy(f->name, "/tmp/test_show_XXXXXX");
	assert_non_null(mkdtemp(f->name));
	snprintf(f->otlp, sizeof(f->otlp), "%s/a.pb.gz", f->name);
	snprintf(f->pprof, sizeof(f->pprof), "%s/b.otlp", f->name);
	snprintf(f->out, sizeof(f->out), "%s/c.otlp", f->name);
	buffer_open(&b, 1 << 20);
	assert_int_equal(format_otlp(p, &as_file, &b), 0);
	write_bytes(f->otlp, &b);
	b.size = 0;
	assert_int_equal(format_pprof(p, &b), 0);
	write_bytes(f->pprof, &b);
	buffer_close(&b);
	profile_close(p);
	f->options = (struct options){.files = {f->pprof}, .file_count = 1};
	*state = f;
	return 0;
}

static int close_folder(void **state)
{
	struct folder *f = *state;

	unlink(f->otlp);
	unlink(f->pprof);
	unlink(f->out);
	rmdir(f->name);
	free(f);
	return 0;
}

static int run_show(struct folder *f)
{
	struct log log;
	ssize_t size;
	int fds[2], status;

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	log = (struct log){.fd = fds[1]};
	status = show_run(&f->options, &log);
	size = read(fds[0], f->said, sizeof(f->said) - 1);
	f->said[size < 0 ? 0 : size] = '\0';
	close(fds[0]);
	close(fds[1]);
	return status;
}

static uint64_t count_written(struct folder *f)
{
	static uint8_t data[1 << 20];
	FILE *from = fopen(f->out, "rb");
	struct profile *p = NULL;
	uint64_t count;
	char why[256];

	assert_non_null(from);
	assert_int_equal(
		format_otlp_read(data, fread(data, 1, sizeof(data), from), &p, why, sizeof(why)),
		0);
	fclose(from);
	count = total(p);
	profile_close(p);
	return count;
}

static void both_kinds_add_up(void **state)
{
	struct folder *f = *state;

	f->options.files[1] = f->otlp;
	f->options.file_count = 2;
	f->options.outputs[0] = f->out;
	f->options.output_count = 1;
	assert_int_equal(run_show(f), EXIT_DONE);
	assert_int_equal(count_written(f), 2 * 82);
}

/* Sends what is selected to a receiver that answers so; how many requests that were. */
static size_t deliver(struct folder *f, const struct loopback_reply *reply, int status)
{
	struct loopback_server server;
	char url[64];
	size_t count;

	assert_int_equal(loopback_open(&server, reply, 1), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
	f->options.otlp_endpoint = url;
	assert_int_equal(run_show(f), status);
	count = loopback_count(&server);
	loopback_close(&server);
	return count;
}

static void sends_where_it_is_told(void **state)
{
	static const struct loopback_reply ok = LOOPBACK_OK;
	struct folder *f = *state;

	assert_int_equal(deliver(f, &ok, EXIT_DONE), 1);
	assert_non_null(strstr(f->said, "delivered 82 samples in 1 request\n"));
	f->options.span_name = "GET /cpu-heavy";
	assert_int_equal(deliver(f, &ok, EXIT_DONE), 1);
	assert_non_null(strstr(f->said, "delivered 50 samples in 1 request\n"));
	f->options.files[0] = f->otlp;
	assert_int_equal(deliver(f, &ok, EXIT_DONE), 1);
	assert_non_null(strstr(f->said, "delivered 50 samples in 1 request\n"));
}

static void says_what_was_not_delivered(void **state)
{
	static const struct loopback_reply refused =
		LOOPBACK_REPLY("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	struct folder *f = *state;

	assert_int_equal(deliver(f, &refused, EXIT_FAILED), 1);
	assert_non_null(strstr(f->said, "error: 82 of 82 samples were not delivered: HTTP 400"));
	f->options.otlp_endpoint = "http://";
	assert_int_equal(run_show(f), EXIT_USAGE);
}

/* Who profiles by default sends by default; who looks at a file does not. */
static void an_endpoint_in_the_environment_is_not_meant(void **state)
{
	static const struct loopback_reply ok = LOOPBACK_OK;
	struct loopback_server server;
	struct folder *f = *state;
	char url[64];

	assert_int_equal(loopback_open(&server, &ok, 1), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url, 1);
	f->options.outputs[0] = f->out;
	f->options.output_count = 1;
	assert_int_equal(run_show(f), EXIT_DONE);
	unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	assert_int_equal(loopback_count(&server), 0);
	loopback_close(&server);
	assert_int_equal(count_written(f), 82);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_file, open_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_over_the_limit, open_file, remove_file),
		cmocka_unit_test_setup_teardown(a_few_empty_messages, open_file, remove_file),
		cmocka_unit_test_setup_teardown(too_many_empty_messages, open_file, remove_file),
		cmocka_unit_test_setup_teardown(no_regular_file, open_file, remove_file),
		cmocka_unit_test_setup_teardown(a_pprof_file_of_another_kind, open_file,
						remove_file),
		cmocka_unit_test_setup_teardown(both_kinds_add_up, open_folder, close_folder),
		cmocka_unit_test_setup_teardown(sends_where_it_is_told, open_folder, close_folder),
		cmocka_unit_test_setup_teardown(says_what_was_not_delivered, open_folder,
						close_folder),
		cmocka_unit_test_setup_teardown(an_endpoint_in_the_environment_is_not_meant,
						open_folder, close_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

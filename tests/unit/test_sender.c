/* SPDX-License-Identifier: Apache-2.0 */
/* The sender against a real HTTP server on the loopback, which answers well, badly or not at all.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "export/sender.h"
#include "loopback_server.h"

#define MS 1000000ull

/* One server, one sender and what it logs. */
struct scene {
	struct loopback_server server;
	struct log log;
	struct sender *sender;
	struct sender_stats stats;
	char said[8192];
};

static struct scene scene;

static void open_sender(const char *url, size_t queue_bytes, uint64_t flush_ms)
{
	struct sender_config config = {&scene.log, url, queue_bytes, flush_ms};
	char why[256] = "";

	scene.log.fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(scene.log.fd >= 0);
	assert_int_equal(sender_open(&config, &scene.sender, why, sizeof(why)), 0);
	assert_string_equal(why, "");
}

static void start(const struct loopback_reply *replies, size_t count, uint64_t flush_ms)
{
	char url[64];

	assert_int_equal(loopback_open(&scene.server, replies, count), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", scene.server.port);
	open_sender(url, 1 << 20, flush_ms);
}

#define START(flush_ms, ...)                                                                       \
	static const struct loopback_reply replies[] = {__VA_ARGS__};                              \
	start(replies, sizeof(replies) / sizeof(replies[0]), flush_ms)

static void close_sender(void)
{
	ssize_t size;

	sender_close(scene.sender, &scene.stats);
	scene.sender = NULL;
	size = pread(scene.log.fd, scene.said, sizeof(scene.said) - 1, 0);
	assert_true(size >= 0);
	scene.said[size] = '\0';
	close(scene.log.fd);
}

static void finish(void)
{
	close_sender();
	loopback_stop(&scene.server);
}

static int clean_up(void **state)
{
	loopback_close(&scene.server);
	memset(&scene, 0, sizeof(scene));
	unsetenv("OTEL_EXPORTER_OTLP_COMPRESSION");
	unsetenv("OTEL_EXPORTER_OTLP_HEADERS");
	unsetenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	unsetenv("http_proxy");
	return 0;
}

/* A request of `size` bytes of one letter. */
static int push(char letter, size_t size, uint64_t samples)
{
	struct buffer request;
	char *text = malloc(size);
	int err;

	memset(text, letter, size);
	buffer_open(&request, size);
	buffer_add(&request, text, size);
	err = sender_send(scene.sender, &request, samples);
	assert_int_equal(request.size, 0);
	buffer_close(&request);
	free(text);
	return err;
}

static size_t times(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

static const char *head(size_t i)
{
	return scene.server.requests[i].head;
}

static void check_stats(uint64_t ok, uint64_t sent, uint64_t dropped)
{
	assert_int_equal(scene.stats.requests_ok, ok);
	assert_int_equal(scene.stats.samples_sent, sent);
	assert_int_equal(scene.stats.samples_dropped, dropped);
}

static void delivers_compressed(void **state)
{
	char plain[4096];
	z_stream stream = {0};
	size_t i;

	START(2000, LOOPBACK_OK);
	assert_string_equal(strstr(sender_get_url(scene.sender), "/v1"), "/v1development/profiles");
	assert_int_equal(push('a', 3000, 7), 0);
	finish();
	check_stats(1, 7, 0);
	assert_int_equal(scene.server.request_count, 1);
	assert_true(scene.server.requests[0].body_size < 100);
	assert_memory_equal(head(0), "POST /v1development/profiles HTTP/1.1\r\n", 39);
	assert_int_equal(times(head(0), "\r\nContent-Type: application/x-protobuf\r\n"), 1);
	assert_int_equal(times(head(0), "\r\nContent-Encoding: gzip\r\n"), 1);
	assert_int_equal(times(head(0), "\r\nOTLP-Profiles-Development-Version: 1\r\n"), 1);
	assert_int_equal(times(head(0), "\r\nUser-Agent: spanprof/" SPANPROF_VERSION "\r\n"), 1);
	assert_int_equal(times(head(0), "\r\nExpect:"), 0);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = (Bytef *)scene.server.requests[0].body;
	stream.avail_in = (uInt)scene.server.requests[0].body_size;
	stream.next_out = (Bytef *)plain;
	stream.avail_out = sizeof(plain);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, 3000);
	inflateEnd(&stream);
	for (i = 0; i < 3000; i++)
		assert_int_equal(plain[i], 'a');
	assert_string_equal(scene.said, "");
	assert_string_equal(scene.stats.last_error, "");
}

static void honours_environment(void **state)
{
	char url[64];
	static const struct loopback_reply replies[] = {LOOPBACK_OK};

	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=a%20b,user-agent=me", 1);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	assert_int_equal(loopback_open(&scene.server, replies, 1), 0);
	snprintf(url, sizeof(url), "http://u:p@127.0.0.1:%u/x", scene.server.port);
	open_sender(url, 0, 2000);
	assert_null(strstr(sender_get_url(scene.sender), "u:p"));
	assert_int_equal(push('b', 10, 1), 0);
	finish();
	check_stats(1, 1, 0);
	assert_memory_equal(head(0), "POST /x/v1development/profiles HTTP/1.1\r\n", 41);
	assert_int_equal(times(head(0), "Content-Encoding"), 0);
	assert_int_equal(times(head(0), "\r\nX-Key: a b\r\n"), 1);
	assert_int_equal(times(head(0), "\r\nuser-agent: me\r\n"), 1);
	assert_int_equal(times(head(0), "spanprof/"), 0);
	assert_int_equal(times(head(0), "\r\nAuthorization: Basic dTpw\r\n"), 1);
	assert_int_equal(scene.server.requests[0].body_size, 10);
	assert_memory_equal(scene.server.requests[0].body, "bbbbbbbbbb", 10);
}

static void retries_as_asked(void **state)
{
	START(5000,
	      LOOPBACK_REPLY("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
	      LOOPBACK_OK);
	assert_int_equal(push('c', 100, 3), 0);
	assert_true(loopback_has(&scene.server, 2));
	finish();
	check_stats(1, 3, 0);
	assert_int_equal(scene.server.request_count, 2);
	assert_true(scene.server.requests[1].time_ns - scene.server.requests[0].time_ns >=
		    1000 * MS);
	assert_int_equal(times(scene.said, "HTTP 503: will try again\n"), 1);
	assert_int_equal(times(scene.said, "works again"), 1);
	assert_string_equal(scene.stats.last_error, "HTTP 503");
}

static void drops_what_is_refused(void **state)
{
	START(2000,
	      LOOPBACK_REPLY("HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\n"
			     "Content-Length: 8\r\n\r\nno \x1b[2J!"),
	      LOOPBACK_OK);
	assert_int_equal(push('d', 100, 3), 0);
	assert_int_equal(push('e', 100, 4), 0);
	finish();
	check_stats(1, 4, 3);
	assert_int_equal(scene.server.request_count, 2);
	assert_string_equal(scene.stats.last_error, "HTTP 400: no \xef\xbf\xbd[2J!");
	assert_int_equal(times(scene.said, "HTTP 400: no \xef\xbf\xbd[2J!: request dropped\n"), 1);
}

static void follows_no_redirect(void **state)
{
	START(2000, LOOPBACK_REPLY("HTTP/1.1 307 Away\r\nLocation: /other\r\n"
				   "Content-Length: 0\r\n\r\n"));
	assert_int_equal(push('f', 100, 3), 0);
	finish();
	check_stats(0, 0, 3);
	assert_int_equal(scene.server.request_count, 1);
	assert_string_equal(scene.stats.last_error, "HTTP 307 (redirects are not followed)");
}

/* What a gRPC server greets with: an empty HTTP/2 SETTINGS frame. */
static void knows_a_grpc_port(void **state)
{
	START(2000, {"\0\0\0\x04\0\0\0\0\0", 9, true});
	assert_int_equal(push('g', 100, 3), 0);
	assert_int_equal(push('h', 100, 4), 0);
	finish();
	check_stats(0, 0, 7);
	assert_string_equal(scene.stats.last_error, "the answer is not HTTP");
	assert_int_equal(times(scene.said, "then set OTEL_EXPORTER_OTLP_PROTOCOL=grpc; "), 1);
	assert_int_equal(times(scene.said, "the answer is not HTTP"), 1);
}

static void tells_partial_success(void **state)
{
	START(2000, LOOPBACK_REPLY("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
				   "Content-Length: 11\r\n\r\n"
				   "\x0a\x09\x08\xac\x02\x12\x04too\x1b"));
	assert_int_equal(push('i', 100, 3), 0);
	assert_int_equal(push('j', 100, 3), 0);
	finish();
	check_stats(2, 6, 0);
	assert_int_equal(scene.server.request_count, 2);
	assert_int_equal(scene.stats.profiles_rejected, 600);
	assert_string_equal(scene.stats.last_error, "too\xef\xbf\xbd");
	assert_int_equal(times(scene.said, "the receiver rejected 300 profiles: too\xef\xbf\xbd\n"),
			 1);
}

static void survives_refused_connections(void **state)
{
	uint64_t before;
	char url[64];
	static const struct loopback_reply replies[] = {LOOPBACK_OK};

	/* A port that was free a moment ago. */
	assert_int_equal(loopback_open(&scene.server, replies, 1), 0);
	loopback_stop(&scene.server);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", scene.server.port);
	open_sender(url, 0, 5000);
	assert_int_equal(push('k', 100, 3), 0);
	assert_int_equal(push('l', 100, 4), 0);
	usleep(300000);
	before = clock_monotonic_ns();
	close_sender();
	assert_true(clock_monotonic_ns() - before < 1000 * MS);
	check_stats(0, 0, 7);
	assert_non_null(strstr(scene.stats.last_error, "onnect"));
	assert_int_equal(times(scene.said, "\n"), 1);
	assert_int_equal(times(scene.said, "will try again"), 1);
}

static void leaves_a_stalled_server(void **state)
{
	uint64_t before, took;

	START(300, {NULL, 0, false});
	assert_int_equal(push('m', 100, 3), 0);
	assert_true(loopback_has(&scene.server, 1));
	before = clock_monotonic_ns();
	close_sender();
	took = clock_monotonic_ns() - before;
	loopback_stop(&scene.server);
	assert_true(took >= 280 * MS && took < 1300 * MS);
	check_stats(0, 0, 3);
	assert_string_equal(scene.stats.last_error, "no answer before the end");
}

static void times_out(void **state)
{
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100", 1);
	START(0, {NULL, 0, false});
	assert_int_equal(push('n', 100, 3), 0);
	usleep(500000);
	finish();
	check_stats(0, 0, 3);
	assert_non_null(strstr(scene.stats.last_error, "timed out"));
}

static void counts_what_is_dropped(void **state)
{
	static const struct loopback_reply replies[] = {{NULL, 0, false}};
	char url[64];

	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none", 1);
	assert_int_equal(loopback_open(&scene.server, replies, 1), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", scene.server.port);
	open_sender(url, 1000, 0);
	assert_int_equal(push('o', 1001, 1), -EFBIG);
	assert_int_equal(push('o', 400, 10), 0);
	assert_true(loopback_has(&scene.server, 1)); /* on its way: not to be dropped */
	assert_int_equal(push('p', 300, 100), 0);
	assert_int_equal(push('q', 300, 1000), 0);
	assert_int_equal(push('r', 500, 10000), 0);
	assert_int_equal(push('s', 700, 100000), -EFBIG);
	finish();
	check_stats(0, 0, 111111);
	assert_string_equal(scene.stats.last_error, "the queue is full");
}

static void *push_many(void *context)
{
	for (int i = 0; i < 50; i++)
		push('t', 1000, 1);
	return NULL;
}

static void takes_from_many_threads(void **state)
{
	pthread_t threads[2];

	START(5000, LOOPBACK_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, push_many, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	finish();
	check_stats(100, 100, 0);
	assert_int_equal(scene.server.request_count, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(delivers_compressed, clean_up),
		cmocka_unit_test_teardown(honours_environment, clean_up),
		cmocka_unit_test_teardown(retries_as_asked, clean_up),
		cmocka_unit_test_teardown(drops_what_is_refused, clean_up),
		cmocka_unit_test_teardown(follows_no_redirect, clean_up),
		cmocka_unit_test_teardown(knows_a_grpc_port, clean_up),
		cmocka_unit_test_teardown(tells_partial_success, clean_up),
		cmocka_unit_test_teardown(survives_refused_connections, clean_up),
		cmocka_unit_test_teardown(leaves_a_stalled_server, clean_up),
		cmocka_unit_test_teardown(times_out, clean_up),
		cmocka_unit_test_teardown(counts_what_is_dropped, clean_up),
		cmocka_unit_test_teardown(takes_from_many_threads, clean_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

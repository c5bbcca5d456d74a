/* SPDX-License-Identifier: Apache-2.0 */
/* Which OTEL_EXPORTER_OTLP_* variable wins, and what each of them may say. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export/sender_settings.h"

#define SHORT(name) "OTEL_EXPORTER_OTLP_" name
#define LONG(name)  "OTEL_EXPORTER_OTLP_PROFILES_" name

/* Name, value, name, value, NULL. */
static const char *find(void *context, const char *name)
{
	const char *const *pair;

	for (pair = context; *pair; pair += 2) {
		if (!strcmp(pair[0], name))
			return pair[1];
	}
	return NULL;
}

static struct sender_settings settings;
static char why[256];

static int read_all(const char *flag, const char *const *environment)
{
	return sender_settings_read(flag, find, (void *)environment, &settings, why, sizeof(why));
}

#define READ(flag, ...) read_all(flag, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static int close_settings(void **state)
{
	sender_settings_close(&settings);
	return 0;
}

static void without_endpoint(void **state)
{
	/* The variables of a service are no reason to complain. */
	assert_int_equal(READ(NULL, SHORT("PROTOCOL"), "grpc", SHORT("TIMEOUT"), "x"), -ENOENT);
	assert_int_equal(READ(NULL, SHORT("ENDPOINT"), ""), -ENOENT);
	assert_string_equal(why, "");
}

static void flag_alone(void **state)
{
	assert_int_equal(READ("http://collector:4318"), 0);
	assert_string_equal(settings.url, "http://collector:4318/v1development/profiles");
	assert_string_equal(settings.shown_url, settings.url);
	assert_true(settings.gzip);
	assert_false(settings.tls);
	assert_false(settings.grpc);
	assert_false(settings.odd_port);
	assert_int_equal(settings.timeout_ms, 10000);
	assert_int_equal(settings.header_count, 0);
	assert_null(settings.user);
	assert_null(settings.password);
}

static void base_paths(void **state)
{
	static const char *const cases[][2] = {
		{"http://h", "http://h/v1development/profiles"},
		{"http://h/", "http://h/v1development/profiles"},
		{"HTTPS://h/otlp/", "https://h/otlp/v1development/profiles"},
		{"http://h/v1development/profiles", "http://h/v1development/profiles"},
		{"http://h/a/v1development/profiles/", "http://h/a/v1development/profiles"},
		{"http://h/a?key=1#x", "http://h/a/v1development/profiles?key=1"},
		{"http://[::1]:4318", "http://[::1]:4318/v1development/profiles"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(READ(cases[i][0]), 0);
		assert_string_equal(settings.url, cases[i][1]);
		sender_settings_close(&settings);
	}
}

static void which_endpoint_wins(void **state)
{
	assert_int_equal(READ(NULL, SHORT("ENDPOINT"), "https://base:1"), 0);
	assert_string_equal(settings.url, "https://base:1/v1development/profiles");
	assert_true(settings.tls);
	sender_settings_close(&settings);
	/* The signal's own endpoint is used as it is. */
	assert_int_equal(
		READ(NULL, SHORT("ENDPOINT"), "http://base:1", LONG("ENDPOINT"), "http://own:2/in"),
		0);
	assert_string_equal(settings.url, "http://own:2/in");
	sender_settings_close(&settings);
	assert_int_equal(READ("http://flag:3", SHORT("ENDPOINT"), "http://base:1", LONG("ENDPOINT"),
			      "http://own:2/in"),
			 0);
	assert_string_equal(settings.url, "http://flag:3/v1development/profiles");
}

static void credentials_are_apart(void **state)
{
	assert_int_equal(READ("http://me:p%40ss@h:1/?token=secret"), 0);
	assert_string_equal(settings.url, "http://h:1/v1development/profiles?token=secret");
	assert_string_equal(settings.shown_url, "http://h:1/v1development/profiles");
	assert_string_equal(settings.user, "me");
	assert_string_equal(settings.password, "p@ss");
}

static void bad_endpoints(void **state)
{
	assert_int_equal(READ("localhost:4318"), -EINVAL);
	assert_string_equal(why, "--otlp-endpoint: 'localhost:4318' has no scheme: write "
				 "http://localhost:4318");
	assert_int_equal(READ(NULL, SHORT("ENDPOINT"), "grpc://me:secret@h:4317"), -EINVAL);
	assert_string_equal(why,
			    "OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://h:4317': scheme must be http "
			    "or https");
	assert_int_equal(READ("me:secret/?@h:4318"), -EINVAL);
	assert_null(strstr(why, "secret"));
	assert_int_equal(READ("http://u:se\x1b[31mcret@h"), -EINVAL);
	assert_string_equal(why, "--otlp-endpoint: 'http://h' has a space or control character");
	assert_int_equal(READ("http://"), -EINVAL);
	assert_non_null(strstr(why, "--otlp-endpoint: 'http://'"));
	assert_int_equal(READ("http://h:99999"), -EINVAL);
	assert_non_null(strstr(why, "--otlp-endpoint: 'http://h:99999': "));
	assert_int_equal(READ(""), -EINVAL);
	assert_null(settings.url);
}

static void port_of_the_other_protocol(void **state)
{
	assert_int_equal(READ("http://h:4317"), 0);
	assert_true(settings.odd_port);
}

static void protocols(void **state)
{
	assert_int_equal(READ("http://h", SHORT("PROTOCOL"), "http/protobuf"), 0);
	sender_settings_close(&settings);
	assert_int_equal(READ("http://h", SHORT("PROTOCOL"), "http/json"), -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_PROTOCOL: http/json is not supported: use "
				 "http/protobuf or grpc");
	assert_int_equal(
		READ("http://h", SHORT("PROTOCOL"), "grpc", LONG("PROTOCOL"), "http/protobuf"), 0);
	assert_false(settings.grpc);
	sender_settings_close(&settings);
	assert_int_equal(READ("http://h", LONG("PROTOCOL"), "car\nrier"), -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL: unknown protocol "
				 "'car\xef\xbf\xbdrier': use http/protobuf or grpc");
}

static void compression(void **state)
{
	assert_int_equal(READ("http://h", SHORT("COMPRESSION"), "none"), 0);
	assert_false(settings.gzip);
	sender_settings_close(&settings);
	assert_int_equal(
		READ("http://h", SHORT("COMPRESSION"), "none", LONG("COMPRESSION"), "gzip"), 0);
	assert_true(settings.gzip);
	sender_settings_close(&settings);
	assert_int_equal(READ("http://h", SHORT("COMPRESSION"), "zstd"), -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_COMPRESSION: unknown compression 'zstd': use "
				 "gzip or none");
}

static void timeouts(void **state)
{
	static const char *const bad[] = {"-1", "10s", " 5", "1e3", "99999999999999999999"};
	size_t i;

	assert_int_equal(READ("http://h", SHORT("TIMEOUT"), "2500"), 0);
	assert_int_equal(settings.timeout_ms, 2500);
	sender_settings_close(&settings);
	assert_int_equal(READ("http://h", LONG("TIMEOUT"), "0"), 0);
	assert_int_equal(settings.timeout_ms, SENDER_TIMEOUT_MS_MAX);
	sender_settings_close(&settings);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(READ("http://h", SHORT("TIMEOUT"), bad[i]), -EINVAL);
		assert_non_null(strstr(why, "is no number of milliseconds"));
	}
}

static void headers(void **state)
{
	assert_int_equal(READ("http://h", SHORT("HEADERS"),
			      " api-key = a%20b%3d ,,X-Scope-OrgID=7,empty=,auth=Basic a=="),
			 0);
	assert_int_equal(settings.header_count, 4);
	assert_string_equal(settings.headers[0], "api-key: a b=");
	assert_string_equal(settings.headers[1], "X-Scope-OrgID: 7");
	assert_string_equal(settings.headers[2], "empty;");
	assert_string_equal(settings.headers[3], "auth: Basic a==");
	sender_settings_close(&settings);
	/* The signal's own headers replace the others. */
	assert_int_equal(READ("http://h", SHORT("HEADERS"), "a=1,b=2", LONG("HEADERS"), "c=3"), 0);
	assert_int_equal(settings.header_count, 1);
	assert_string_equal(settings.headers[0], "c: 3");
}

static void bad_headers(void **state)
{
	static const char *const bad[][2] = {
		{"tokensecret", "expected name=value,name2=value2"},
		{"a b=secret", "'a b' is no header name"},
		{"=secret", "'' is no header name"},
		{"k=secret%0d%0aHost: x", "value of k is not properly percent-encoded"},
		{"k=secret%4", "value of k is not properly percent-encoded"},
		{"k=secret%zz", "value of k is not properly percent-encoded"},
		{"Content-Type=secret", "header Content-Type is set by spanprof itself"},
	};
	char many[SENDER_HEADERS_MAX * 4 + 8] = "", *at = many;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(READ("http://h", SHORT("HEADERS"), bad[i][0]), -EINVAL);
		assert_non_null(strstr(why, bad[i][1]));
		assert_null(strstr(why, "secret"));
	}
	for (i = 0; i <= SENDER_HEADERS_MAX; i++)
		at = stpcpy(at, "a=1,");
	assert_int_equal(READ("http://h", SHORT("HEADERS"), many), -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_HEADERS: more than 64 headers");
}

static void certificates(void **state)
{
	assert_int_equal(READ("https://h", SHORT("CERTIFICATE"), "/ca", SHORT("CLIENT_KEY"), "/key",
			      LONG("CLIENT_CERTIFICATE"), "/crt"),
			 0);
	assert_string_equal(settings.ca_file, "/ca");
	assert_string_equal(settings.client_key_file, "/key");
	assert_string_equal(settings.client_certificate_file, "/crt");
	sender_settings_close(&settings);
	assert_int_equal(READ("https://h", SHORT("CLIENT_KEY"), "/key"), -EINVAL);
	assert_non_null(strstr(why, "must be given together"));
	assert_int_equal(READ("https://h", SHORT("INSECURE"), "maybe"), -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_INSECURE: 'maybe' is neither true nor false");
}

static void grpc_endpoints(void **state)
{
#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	static const struct {
		const char *endpoint, *insecure, *url, *shown;
		bool tls, path_ignored;
	} cases[] = {
		{"http://h:4317", "false", "http://h:4317" METHOD, "http://h:4317 over gRPC", false,
		 false},
		{"https://h:4317/", "true", "https://h:4317" METHOD, "https://h:4317 over gRPC",
		 true, false},
		{"h:4317", "true", "http://h:4317" METHOD, "http://h:4317 over gRPC", false, false},
		{"h:4317", "false", "https://h:4317" METHOD, "https://h:4317 over gRPC", true,
		 false},
		{"h:4317", NULL, "https://h:4317" METHOD, "https://h:4317 over gRPC", true, false},
		{"[::1]:4317", "True", "http://[::1]:4317" METHOD, "http://[::1]:4317 over gRPC",
		 false, false},
		{"http://h:4317/otlp/", NULL, "http://h:4317" METHOD, "http://h:4317 over gRPC",
		 false, true},
		{"http://h:4317?token=secret#x", NULL, "http://h:4317" METHOD,
		 "http://h:4317 over gRPC", false, true},
		{"http://h:4317" METHOD, NULL, "http://h:4317" METHOD, "http://h:4317 over gRPC",
		 false, false},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(READ(NULL, SHORT("PROTOCOL"), "grpc", LONG("ENDPOINT"),
				      cases[i].endpoint, SHORT("INSECURE"),
				      cases[i].insecure ? cases[i].insecure : ""),
				 0);
		assert_true(settings.grpc);
		assert_string_equal(settings.url, cases[i].url);
		assert_string_equal(settings.shown_url, cases[i].shown);
		assert_int_equal(settings.tls, cases[i].tls);
		assert_int_equal(settings.path_ignored, cases[i].path_ignored);
		assert_false(settings.odd_port);
		sender_settings_close(&settings);
	}
	/* The flag, too. */
	assert_int_equal(READ("u:p@h:4318", LONG("PROTOCOL"), "GRPC"), 0);
	assert_string_equal(settings.url, "https://h:4318" METHOD);
	assert_string_equal(settings.user, "u");
	assert_string_equal(settings.password, "p");
	assert_true(settings.odd_port);
}

static void bad_grpc_endpoints(void **state)
{
	assert_int_equal(READ("dns:///h:4317", SHORT("PROTOCOL"), "grpc"), -EINVAL);
	assert_string_equal(why, "--otlp-endpoint: 'dns:///h:4317': scheme must be http or https");
	assert_int_equal(READ("unix:/run/otlp", SHORT("PROTOCOL"), "grpc"), -EINVAL);
	assert_string_equal(why,
			    "--otlp-endpoint: 'unix:/run/otlp' is neither host:port nor a URL");
	assert_int_equal(READ("me:secret@h:99999", SHORT("PROTOCOL"), "grpc"), -EINVAL);
	assert_non_null(strstr(why, "--otlp-endpoint: 'h:99999': "));
	assert_int_equal(READ("", SHORT("PROTOCOL"), "grpc"), -EINVAL);
	assert_true(why[0] != '\0');
	assert_int_equal(READ("h:4317", SHORT("PROTOCOL"), "grpc", SHORT("INSECURE"), "1"),
			 -EINVAL);
	assert_string_equal(why, "OTEL_EXPORTER_OTLP_INSECURE: '1' is neither true nor false");
}

static void grpc_metadata(void **state)
{
	static const char *const bad[][2] = {
		{"a!b=secret", "'a!b' is no header name"},
		{"k=secret%09", "value of k is not properly percent-encoded"},
		{"k=secret%c3%a9", "value of k is not properly percent-encoded"},
		{"GRPC-Timeout=secret", "header GRPC-Timeout is set by spanprof itself"},
		{"TE=secret", "header TE is set by spanprof itself"},
	};
	size_t i;

	assert_int_equal(READ("h:1", SHORT("PROTOCOL"), "grpc", SHORT("HEADERS"),
			      "X-Scope-OrgID=Team%207,User-Agent=me,E="),
			 0);
	assert_int_equal(settings.header_count, 3);
	assert_string_equal(settings.headers[0], "x-scope-orgid: Team 7");
	assert_string_equal(settings.headers[1], "user-agent: me");
	assert_string_equal(settings.headers[2], "e;");
	sender_settings_close(&settings);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
			READ("h:1", SHORT("PROTOCOL"), "grpc", SHORT("HEADERS"), bad[i][0]),
			-EINVAL);
		assert_non_null(strstr(why, bad[i][1]));
		assert_null(strstr(why, "secret"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(without_endpoint, close_settings),
		cmocka_unit_test_teardown(flag_alone, close_settings),
		cmocka_unit_test_teardown(base_paths, close_settings),
		cmocka_unit_test_teardown(which_endpoint_wins, close_settings),
		cmocka_unit_test_teardown(credentials_are_apart, close_settings),
		cmocka_unit_test_teardown(bad_endpoints, close_settings),
		cmocka_unit_test_teardown(port_of_the_other_protocol, close_settings),
		cmocka_unit_test_teardown(protocols, close_settings),
		cmocka_unit_test_teardown(compression, close_settings),
		cmocka_unit_test_teardown(timeouts, close_settings),
		cmocka_unit_test_teardown(headers, close_settings),
		cmocka_unit_test_teardown(bad_headers, close_settings),
		cmocka_unit_test_teardown(certificates, close_settings),
		cmocka_unit_test_teardown(grpc_endpoints, close_settings),
		cmocka_unit_test_teardown(bad_grpc_endpoints, close_settings),
		cmocka_unit_test_teardown(grpc_metadata, close_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what it means, and that each refusal is one line that names its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "agent/options.h"

#define ARGUMENTS_MAX 700

struct line {
	char text[16384];
	char *argv[ARGUMENTS_MAX];
	int argc;
};

/* Words parted by single spaces; "" stands as it is. */
static void split(struct line *l, const char *words)
{
	char *at = l->text;

	snprintf(l->text, sizeof(l->text), "spanprof %s", words);
	for (l->argc = 0; at; l->argc++) {
		char *space = strchr(at, ' ');

		assert_true(l->argc < ARGUMENTS_MAX - 1);
		l->argv[l->argc] = at;
		if (space)
			*space++ = '\0';
		at = space && *space ? space : NULL;
	}
	l->argv[l->argc] = NULL;
}

static int parse(const char *words, struct options *o, char *why, size_t size)
{
	static struct line l; /* options lend its strings */

	split(&l, words);
	memset(o, 0xa5, sizeof(*o));
	memset(why, 0, size);
	return options_parse(l.argc, l.argv, o, why, size);
}

static struct options accepted(const char *words)
{
	struct options o;
	char why[512];

	assert_int_equal(parse(words, &o, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	return o;
}

static void refused(const char *words, const char *expected)
{
	struct options o;
	char why[512];

	assert_int_equal(parse(words, &o, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, expected);
	assert_null(strchr(why, '\n'));
}

static void test_defaults(void **state)
{
	struct options o = accepted("");

	assert_int_equal(o.action, ACTION_PROFILE);
	assert_false(options_is_local(&o));
	assert_int_equal(o.frequency_hz, 19);
	assert_int_equal(o.window_s, 10);
	assert_int_equal(o.duration_ns, 0);
	assert_true(o.kernel_stacks);
	assert_true(o.probes);
	assert_false(o.verbose);
	assert_int_equal(o.pid_count, 0);
	assert_int_equal(o.output_count, 0);
	assert_null(o.command);
	assert_null(o.otlp_endpoint);

	/* One process: often. Asked for: as asked. */
	assert_int_equal(accepted("-p 1").frequency_hz, 99);
	assert_int_equal(accepted("--exe */shop").frequency_hz, 99);
	assert_int_equal(accepted("-- true").frequency_hz, 99);
	assert_int_equal(accepted("--include */shop").frequency_hz, 19);
	assert_int_equal(accepted("-F 49").frequency_hz, 49);
	assert_int_equal(accepted("-p 1 -F 999").frequency_hz, 999);
	assert_int_equal(accepted("-p 1").wait_hz, 99);
	assert_int_equal(accepted("--exe x").wait_hz, 99);
	assert_int_equal(accepted("-- true").wait_hz, 99);
	assert_int_equal(accepted("").wait_hz, 5);
	assert_int_equal(accepted("--wait off -p 1").wait_hz, 0);
	assert_int_equal(accepted("--wait 99").wait_hz, 99);
	assert_int_equal(accepted("--wait 99 --wait off").wait_hz, 0);
	assert_false(accepted("-p 1").all);
	assert_true(accepted("-p 1 --all").all);
	assert_false(accepted("-p 1").wait_all);
	assert_true(accepted("-p 1 --wait-all").wait_all);
	assert_true(accepted("--wait-all --wait 20").wait_all);
}

static void test_profile(void **state)
{
	struct options o = accepted("-p 17,4194304 --pid=18 -d 2.5 --window 60 -o a.pb.gz -o - "
				    "--output=b.otlp --otlp-endpoint http://h:4318 --probes off "
				    "--kernel-stacks off --verbose");

	assert_int_equal(o.pid_count, 3);
	assert_int_equal(o.pids[0], 17);
	assert_int_equal(o.pids[1], 4194304);
	assert_int_equal(o.pids[2], 18);
	assert_true(options_is_local(&o));
	assert_int_equal(o.duration_ns, 2500000000);
	assert_int_equal(o.window_s, 60);
	assert_int_equal(o.output_count, 3);
	assert_string_equal(o.outputs[0], "a.pb.gz");
	assert_string_equal(o.outputs[1], "-");
	assert_string_equal(o.outputs[2], "b.otlp");
	assert_string_equal(o.otlp_endpoint, "http://h:4318");
	assert_false(o.probes);
	assert_false(o.kernel_stacks);
	assert_true(o.verbose);

	o = accepted("--exe a* --exe b* --exclude c* --exclude d*");
	assert_int_equal(o.exe_glob_count, 2);
	assert_string_equal(o.exe_globs[1], "b*");
	assert_int_equal(o.exclude_glob_count, 2);
	assert_string_equal(o.exclude_globs[0], "c*");
	assert_true(o.exe_selector);

	/* One process, however often it is named. */
	assert_int_equal(accepted("-p 7,7 -p 7,8").pid_count, 2);
}

static void test_command(void **state)
{
	struct options o = accepted("-d 3 -- ./shop -p 9 --help -- x");

	assert_int_equal(o.duration_ns, 3000000000);
	assert_int_equal(o.pid_count, 0);
	assert_non_null(o.command);
	assert_string_equal(o.command[0], "./shop");
	assert_string_equal(o.command[1], "-p");
	assert_string_equal(o.command[2], "9");
	assert_string_equal(o.command[3], "--help");
	assert_string_equal(o.command[4], "--");
	assert_string_equal(o.command[5], "x");
	assert_null(o.command[6]);
	assert_true(options_is_local(&o));

	refused("--", "-- is not followed by a command");
	refused("-d 1 --", "-- is not followed by a command");
	refused("shop", "unexpected argument shop (a command to run goes behind --)");
	refused("-p 1 2", "unexpected argument 2 (-p takes pids with commas: -p 1,2)");
	refused("-o a.otlp show b.otlp", "options of show stand behind it: spanprof show FILE... "
					 "[OPTION...]");
	refused("-p 1 dump", "options of dump stand behind it: spanprof dump -p PID");
	refused("shop -- x", "unexpected argument shop (a command to run goes behind --)");
	refused("-p 1 shop --bogus", "unexpected argument shop (a command to run goes behind --)");
}

static void test_dump(void **state)
{
	struct options o = accepted("dump -p 4194304");

	assert_int_equal(o.action, ACTION_DUMP);
	assert_int_equal(o.pid_count, 1);
	assert_int_equal(o.pids[0], 4194304);
	assert_false(o.verbose);
	o = accepted("dump --verbose --pid=7 -p7");
	assert_int_equal(o.pid_count, 1);
	assert_int_equal(o.pids[0], 7);
	assert_true(o.verbose);

	refused("dump", "dump: name the process (-p PID)");
	refused("dump 7", "dump: unexpected argument 7 (spanprof dump -p PID)");
	refused("dump -p 7 8", "dump: unexpected argument 8 (spanprof dump -p PID)");
	refused("dump -p 7,8", "dump: exactly one process (-p PID)");
	refused("dump -p 7 -p 8", "dump: exactly one process (-p PID)");
	refused("dump -p x", "--pid: not a process ID: x");
	refused("dump -p 0", "--pid: not a process ID: 0");
	refused("dump -p 4194305", "--pid: not a process ID: 4194305");
	refused("dump -p 99999999999999999999", "--pid: not a process ID: 99999999999999999999");
	refused("dump -p -7", "--pid: not a process ID: -7");
	refused("dump -p 7x", "--pid: not a process ID: 7x");
	refused("dump -p", "unknown or incomplete option -p (see --help)");
	refused("dump -p 7 -d 1", "unknown or incomplete option -d (see --help)");
	refused("dump -p 7 -- x", "dump: unexpected argument x (spanprof dump -p PID)");
}

static void test_show(void **state)
{
	struct options o = accepted("show a.otlp --trace 0123456789abcdef0123456789ABCDEF --span "
				    "0123456789abcdef --span-name GET --service shop -o x.folded "
				    "b.otlp --verbose --otlp-endpoint http://h -- -c");

	assert_int_equal(o.action, ACTION_SHOW);
	assert_int_equal(o.file_count, 3);
	assert_string_equal(o.files[0], "a.otlp");
	assert_string_equal(o.files[1], "b.otlp");
	assert_string_equal(o.files[2], "-c");
	assert_string_equal(o.trace_id, "0123456789abcdef0123456789ABCDEF");
	assert_string_equal(o.span_id, "0123456789abcdef");
	assert_string_equal(o.span_name, "GET");
	assert_string_equal(o.service, "shop");
	assert_string_equal(o.outputs[0], "x.folded");
	assert_string_equal(o.otlp_endpoint, "http://h");
	assert_true(o.verbose);

	refused("show", "show: name at least one FILE");
	refused("show --verbose", "show: name at least one FILE");
	refused("show --pid 1 a", "unknown or incomplete option --pid (see --help)");
	refused("show a --trace", "unknown or incomplete option --trace (see --help)");
	refused("show --span 0123456789abcde a", "--span: 16 hex digits, not 0123456789abcde");
	refused("show --span 0123456789abcdeg a", "--span: 16 hex digits, not 0123456789abcdeg");
	refused("show --span 0123456789abcdef0 a", "--span: 16 hex digits, not 0123456789abcdef0");
	refused("show --trace 0123456789abcdef a", "--trace: 32 hex digits, not 0123456789abcdef");
	refused("show a -o x", "-o x: show writes .pb.gz, .folded or .otlp");
	refused("show a -o x.jsonl", "-o x.jsonl: show writes .pb.gz, .folded or .otlp");
}

static void test_selectors(void **state)
{
	const char *why = "--pid, --exe and a COMMAND exclude each other";

	refused("-p 1 --exe x", why);
	refused("-p 1 -- x", why);
	refused("--exe x -- x", why);
	refused("-p 1 --exe x -- x", why);
}

static void test_numbers(void **state)
{
	refused("-p 0", "--pid: not a process ID: 0");
	refused("-p -1", "--pid: not a process ID: -1");
	refused("-p 1x", "--pid: not a process ID: 1x");
	refused("-p 1,", "--pid: not a process ID: ");
	refused("-p 1,,2", "--pid: not a process ID: ,2");
	refused("-p 4194305", "--pid: not a process ID: 4194305");
	refused("-p 99999999999999999999", "--pid: not a process ID: 99999999999999999999");
	refused("--pid=", "--pid: not a process ID: ");
	refused("-F 0", "--frequency: a number from 1 to 4000, not 0");
	refused("-F 4001", "--frequency: a number from 1 to 4000, not 4001");
	refused("-F fast", "--frequency: a number from 1 to 4000, not fast");
	refused("-F 9z", "--frequency: a number from 1 to 4000, not 9z");
	refused("-d 0", "--duration: a number from 0.1 to 31536000, not 0");
	refused("-d nan", "--duration: a number from 0.1 to 31536000, not nan");
	refused("-d inf", "--duration: a number from 0.1 to 31536000, not inf");
	refused("-d -3", "--duration: a number from 0.1 to 31536000, not -3");
	refused("--window 301", "--window: a number from 1 to 300, not 301");
	refused("-F 1.9", "--frequency: a whole number, not 1.9");
	refused("--window 1.9", "--window: a whole number, not 1.9");
	assert_int_equal(accepted("-F 1e3").frequency_hz, 1000);
	refused("--probes maybe", "--probes: on or off, not maybe");
	refused("--wait 1001", "--wait: a number from 1 to 1000, not 1001");
	refused("--wait-all --wait off", "--wait-all wants looks: not with --wait off");
	refused("--wait on", "--wait: a number from 1 to 1000, not on");
	refused("--kernel-stacks 1", "--kernel-stacks: on or off, not 1");
	refused("-o report.doc",
		"-o report.doc: the name must end in .pb.gz, .folded, .otlp or .jsonl");
	refused("-p 1 --include x",
		"--include and --exclude choose among processes: not with --pid");
	refused("--exe a --include b", "--exe already says which executables: not with --include");
	refused("-o a.jsonl -o b.jsonl", "-o b.jsonl: only one .jsonl file can be written");
	refused("-o .otlp", "-o .otlp: the name must end in .pb.gz, .folded, .otlp or .jsonl");
}

/* Nothing is made of a number that was refused: converting one out of range is undefined. */
static void test_refused_numbers(void **state)
{
	struct options o;
	char why[512];

	assert_int_equal(parse("-d 1e300", &o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.duration_ns, 0);
	assert_int_equal(parse("-F -5", &o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.frequency_hz, 0);
	assert_int_equal(parse("--window 1e300", &o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.window_s, 10);
}

static void test_unknown(void **state)
{
	refused("--bogus", "unknown or incomplete option --bogus (see --help)");
	refused("-p 1 -d", "unknown or incomplete option -d (see --help)");
	refused("-p 1 -x 3", "unknown or incomplete option -x (see --help)");
	refused("-F 9 --verbose=3 -d 1", "unknown or incomplete option --verbose=3 (see --help)");
	refused("-p", "unknown or incomplete option -p (see --help)");
	refused("--otlp-endpoint", "unknown or incomplete option --otlp-endpoint (see --help)");
	/* What was wrong first is told. */
	refused("-F 0 --bogus", "--frequency: a number from 1 to 4000, not 0");
}

/* So many of an option that can be given several times; one more is refused. */
static void assert_cap(const char *words, const char *one, size_t max, const char *why)
{
	static char line[16000];
	size_t used = (size_t)snprintf(line, sizeof(line), "%s", words);

	for (size_t i = 0; i < max; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, one, (int)i + 1);
	accepted(line);
	snprintf(line + used, sizeof(line) - used, one, (int)max + 1);
	refused(line, why);
}

static void test_caps(void **state)
{
	assert_cap("", "-o %d.otlp ", OPTIONS_OUTPUTS_MAX, "-o: given more than 16 times");
	assert_cap("", "--exclude %d ", OPTIONS_GLOBS_MAX, "--exclude: given more than 32 times");
	assert_cap("", "--include %d ", OPTIONS_GLOBS_MAX, "--include: given more than 32 times");
	assert_cap("", "-p %d ", OPTIONS_PIDS_MAX, "--pid: at most 256 processes");
	assert_cap("show ", "%d ", OPTIONS_FILES_MAX, "FILE: given more than 256 times");
}

/* What a run writes to stdout. */
static void printed(const char *words, char *text, size_t size)
{
	FILE *file = tmpfile();
	struct options o;
	int saved;

	assert_non_null(file);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	o = accepted(words);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(o.action, ACTION_DONE);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void test_help(void **state)
{
	static const char *const options[] = {
		"--pid",       "--exe",		  "--include", "--exclude",	  "--duration",
		"--frequency", "--output",	  "--window",  "--kernel-stacks", "--probes",
		"--verbose",   "--otlp-endpoint", "--wait",    "spanprof dump",
	};
	char text[8192];

	printed("--version", text, sizeof(text));
	assert_string_equal(text, "spanprof " SPANPROF_VERSION "\n");
	printed("-p x -V", text, sizeof(text)); /* whatever else is wrong */
	assert_string_equal(text, "spanprof " SPANPROF_VERSION "\n");
	printed("--help", text, sizeof(text));
	assert_memory_equal(text, "Usage: spanprof ", strlen("Usage: spanprof "));
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		assert_non_null(strstr(text, options[i]));
	printed("show --help", text, sizeof(text));
	assert_memory_equal(text, "Usage: spanprof show ", strlen("Usage: spanprof show "));
	assert_non_null(strstr(text, "--span-name"));
	assert_null(strstr(text, "--pid"));
	printed("dump --help", text, sizeof(text));
	assert_memory_equal(text, "Usage: spanprof dump ", strlen("Usage: spanprof dump "));
	assert_non_null(strstr(text, "--pid"));
	assert_null(strstr(text, "--wait"));
	printed("dump -V", text, sizeof(text));
	assert_string_equal(text, "spanprof " SPANPROF_VERSION "\n");
}

/* A short buffer is not overrun, and ends. */
static void test_short_answer(void **state)
{
	struct options o;
	char why[16];

	memset(why, 'x', sizeof(why));
	assert_int_equal(parse("--frequency 0", &o, why, 8), -EINVAL);
	assert_string_equal(why, "--frequ");
	assert_int_equal(why[8], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),     cmocka_unit_test(test_profile),
		cmocka_unit_test(test_command),	     cmocka_unit_test(test_show),
		cmocka_unit_test(test_dump),	     cmocka_unit_test(test_selectors),
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_caps),	     cmocka_unit_test(test_help),
		cmocka_unit_test(test_short_answer), cmocka_unit_test(test_refused_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

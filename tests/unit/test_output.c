/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: there whole or not at all, for nobody else to read, and nothing left beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/output.h"
#include "base/bytes.h"
#include "format/format.h"
#include "sample_profile.h"

struct fixture {
	char directory[32];
	struct profile *profile;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->directory, "/tmp/test_output_XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	f->profile = sample_profile();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(rmdir(f->directory), 0); /* the tests have emptied it */
	profile_close(f->profile);
	free(f);
	return 0;
}

static size_t files_in(const struct fixture *f)
{
	DIR *directory = opendir(f->directory);
	size_t count = 0;

	assert_non_null(directory);
	for (struct dirent *e; (e = readdir(directory));)
		count += e->d_name[0] != '.';
	closedir(directory);
	return count;
}

static const char *path_of(const struct fixture *f, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	return path;
}

static size_t read_all(int fd, char *to, size_t size)
{
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, to + used, size - used)) > 0)
		used += (size_t)got;
	close(fd);
	return used;
}

static void write_text(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_names(void **state)
{
	static const char *const known[] = {"a.pb.gz", "b/c.folded", "-", "d.otlp", "e.jsonl"};
	static const char *const unknown[] = {"",	 "a",  ".otlp", "a.gz",	 "a.html",
					      "a.otlp.", "a/", "--",	"a.OTLP"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_true(output_is_known(known[i]));
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_false(output_is_known(unknown[i]));
	assert_true(output_is_sample_log("x.jsonl"));
	assert_false(output_is_sample_log("x.folded"));
	assert_false(output_is_sample_log("-"));
	assert_string_equal(output_known_names(), ".pb.gz, .folded, .otlp or .jsonl");
}

static int encode_otlp(const struct profile *p, struct buffer *out)
{
	struct format_otlp_options options = {.span_names = true,
					      .agent_version = SPANPROF_VERSION};

	return format_otlp(p, &options, out);
}

/* Bytes in which two encodings differ. */
static size_t differences(const char *a, const uint8_t *b, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += (uint8_t)a[i] != b[i];
	return count;
}

/* The bytes are the encoder's, and the mode is 0600 whatever the umask. */
static void test_formats(void **state)
{
	struct fixture *f = *state;
	const struct {
		const char *name;
		int (*encode)(const struct profile *p, struct buffer *out);
		size_t random; /* bytes of profile IDs, two services' */
	} formats[] = {{"x.pb.gz", format_pprof, 0},
		       {"x.folded", format_folded, 0},
		       {"x.otlp", encode_otlp, 2 * 16}};
	static char read_back[1 << 16];
	mode_t mask = umask(0);

	for (size_t i = 0; i < 3; i++) {
		const char *path = path_of(f, formats[i].name);
		struct buffer expected;
		char why[256] = "";
		struct stat st;

		assert_int_equal(output_write(path, f->profile, why, sizeof(why)), 0);
		assert_string_equal(why, "");
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		assert_int_equal(st.st_uid, geteuid());
		buffer_open(&expected, 1 << 20);
		assert_int_equal(formats[i].encode(f->profile, &expected), 0);
		assert_true(expected.size > 100);
		assert_int_equal(st.st_size, expected.size);
		read_all(open(path, O_RDONLY), read_back, sizeof(read_back));
		assert_true(differences(read_back, expected.data, expected.size) <=
			    formats[i].random);
		buffer_close(&expected);
		assert_int_equal(files_in(f), 1);
		unlink(path);
	}
	umask(mask);
}

/* Who had the old file open still has it; the new one is another file. */
static void test_replaces(void **state)
{
	struct fixture *f = *state;
	const char *path = path_of(f, "x.folded");
	char why[256], text[64];
	struct stat st;
	int old;

	write_text(path, "old", 0644);
	old = open(path, O_RDONLY);
	assert_int_equal(output_write(path, f->profile, why, sizeof(why)), 0);
	assert_int_equal(read_all(old, text, sizeof(text)), 3);
	assert_memory_equal(text, "old", 3);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(st.st_size > 100);
	assert_int_equal(files_in(f), 1);
	unlink(path);
}

/* The disk is full (here: a limit of file size): the old file stays as it was. */
static void test_fails_half_way(void **state)
{
	struct fixture *f = *state;
	const struct rlimit small = {.rlim_cur = 64, .rlim_max = RLIM_INFINITY};
	const char *path = path_of(f, "x.folded");
	char why[PATH_MAX + 64], expected[PATH_MAX + 64], text[64];
	struct rlimit before;
	int error;

	write_text(path, "old", 0644);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	error = output_write(path, f->profile, why, sizeof(why));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(error, -EFBIG);
	snprintf(expected, sizeof(expected), "cannot write %s: File too large", path);
	assert_string_equal(why, expected);
	assert_int_equal(read_all(open(path, O_RDONLY), text, sizeof(text)), 3);
	assert_int_equal(files_in(f), 1);
	unlink(path);
}

static void assert_refused(struct fixture *f, const char *path, int error, const char *reason)
{
	char why[PATH_MAX + 64], expected[PATH_MAX + 64];

	snprintf(expected, sizeof(expected), "cannot write %s: %s", path, reason);
	assert_int_equal(output_write(path, f->profile, why, sizeof(why)), error);
	assert_string_equal(why, expected);
	assert_null(strchr(why, '\n'));
}

static void test_unwritable(void **state)
{
	struct fixture *f = *state;
	char file[64], long_path[PATH_MAX + 16];
	const char *path;
	char why[256];

	path = path_of(f, "none/x.folded");
	assert_refused(f, path, -ENOENT, "No such file or directory");
	assert_int_equal(output_check(path, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "cannot write "));

	snprintf(file, sizeof(file), "%s/file", f->directory);
	write_text(file, "", 0600);
	path = path_of(f, "file/x.folded");
	assert_refused(f, path, -ENOTDIR, "Not a directory");
	assert_int_equal(output_check(path, why, sizeof(why)), -ENOTDIR);
	unlink(file);

	assert_refused(f, path_of(f, "x.html"), -EINVAL, "Invalid argument");

	/* A folder of that name: found out when the file is put in place, and cleaned up. */
	path = path_of(f, "x.folded");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused(f, path, -EISDIR, "Is a directory");
	assert_int_equal(files_in(f), 1);
	rmdir(path);

	memset(long_path, 'x', sizeof(long_path));
	strcpy(long_path + PATH_MAX - 10, ".folded");
	assert_int_equal(output_check(long_path, why, sizeof(why)), -ENAMETOOLONG);
}

static void test_check_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	const char *path = path_of(f, "x.otlp");
	char why[256] = "", text[8];

	assert_int_equal(output_check(path, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	assert_int_equal(files_in(f), 0);
	write_text(path, "old", 0600);
	assert_int_equal(output_check(path, why, sizeof(why)), 0);
	assert_int_equal(read_all(open(path, O_RDONLY), text, sizeof(text)), 3);
	assert_int_equal(files_in(f), 1);
	unlink(path);
	assert_int_equal(output_check("-", why, sizeof(why)), 0);
}

static void test_owner(void **state)
{
	static const struct {
		const char *uid, *gid;
		bool given;
	} users[] = {
		{"1234", "4321", true},
		{"0", "0", true},
		{"1234", NULL, false},
		{NULL, "4321", false},
		{"-1", "4321", false},
		{"12x", "4321", false},
		{"", "", false},
		{"4294967295", "4321", false},
		{"99999999999", "1", false},
		{" 1", "1", false},
		{"18446744073709551617", "1", false},
	};
	struct fixture *f = *state;
	const char *path = path_of(f, "x.folded");

	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
		/* Only root can give a file away; whoever else runs this keeps it. */
		bool given = users[i].given && !geteuid();
		struct stat st;
		char why[256];

		unsetenv("SUDO_UID");
		unsetenv("SUDO_GID");
		if (users[i].uid)
			setenv("SUDO_UID", users[i].uid, 1);
		if (users[i].gid)
			setenv("SUDO_GID", users[i].gid, 1);
		assert_int_equal(output_write(path, f->profile, why, sizeof(why)), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, given ? strtoul(users[i].uid, NULL, 10) : geteuid());
		assert_int_equal(st.st_gid, given ? strtoul(users[i].gid, NULL, 10) : getegid());
		assert_int_equal(st.st_mode & 0777, 0600);
		unlink(path);
	}
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void test_stdout(void **state)
{
	struct fixture *f = *state;
	static char text[1 << 16];
	struct buffer expected;
	int ends[2], saved, error;
	char why[256];

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(ends[1], STDOUT_FILENO);
	error = output_write("-", f->profile, why, sizeof(why));
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	assert_int_equal(error, 0);
	buffer_open(&expected, 1 << 20);
	assert_int_equal(format_folded(f->profile, &expected), 0);
	assert_int_equal(read_all(ends[0], text, sizeof(text)), expected.size);
	assert_memory_equal(text, expected.data, expected.size);
	buffer_close(&expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_formats),
		cmocka_unit_test(test_replaces),   cmocka_unit_test(test_fails_half_way),
		cmocka_unit_test(test_unwritable), cmocka_unit_test(test_check_leaves_nothing),
		cmocka_unit_test(test_owner),	   cmocka_unit_test(test_stdout),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

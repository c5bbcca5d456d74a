/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words why this kernel or these capabilities do not suffice. */
#include "capture/preflight.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define DESCRIPTORS_LEAST 64 /* maps, programs, probes, a clock a CPU, files */
#define BTF_FILE	  "/sys/kernel/btf/vmlinux"

struct needed_capability {
	unsigned number;
	const char *name;
	const char *purpose;
};

/* Attaching uprobes is refused without SYS_ADMIN on every kernel below 6.12 that was tried. */
static const struct needed_capability needed[] = {
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "load BPF programs and attach probes"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read the memory of the profiled process"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "read executables of other users"},
};

static bool have_capability(const struct __user_cap_data_struct *data, unsigned number)
{
	return data[number / 32].effective & (1u << (number % 32));
}

static int check_capabilities(char *why, size_t why_size)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};
	size_t used = 0;

	if (syscall(SYS_capget, &header, data))
		return 0; /* cannot know: let the kernel decide */
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (have_capability(data, needed[i].number))
			continue;
		used += snprintf(why + used, used < why_size ? why_size - used : 0, "%s%s (to %s)",
				 used ? ", " : "missing ", needed[i].name, needed[i].purpose);
	}
	if (!used)
		return 0;
	snprintf(why + used, used < why_size ? why_size - used : 0,
		 ": run as root (sudo), or grant the container these capabilities");
	return -EPERM;
}

static int check_kernel(char *why, size_t why_size)
{
	unsigned major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return 0;
	if (major > 5 || (major == 5 && minor >= 10))
		return 0;
	snprintf(why, why_size, "kernel %u.%u is too old: Linux 5.10 or newer is needed", major,
		 minor);
	return -ENOTSUP;
}

static int check_btf(char *why, size_t why_size)
{
	if (!access(BTF_FILE, R_OK))
		return 0;
	snprintf(why, why_size,
		 "kernel type information " BTF_FILE
		 " cannot be read: a kernel with CONFIG_DEBUG_INFO_BTF=y is needed");
	return -ENOTSUP;
}

/* With too few, libbpf takes one that it cannot open for something that the kernel cannot do. */
static int check_descriptors(char *why, size_t why_size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= DESCRIPTORS_LEAST)
		return 0;
	snprintf(why, why_size,
		 "too many open files: raise the limit (ulimit -n) to %d, better to 1024",
		 DESCRIPTORS_LEAST);
	return -EMFILE;
}

int preflight_check(char *why, size_t why_size)
{
	int error = check_descriptors(why, why_size);

	if (!error)
		error = check_kernel(why, why_size);

	if (!error)
		error = check_capabilities(why, why_size);
	if (!error)
		error = check_btf(why, why_size);
	return error;
}

/* Lockdown in confidentiality mode refuses reading kernel memory from BPF. */
static bool locked_down(void)
{
	char text[128] = "";
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strstr(text, "[confidentiality]");
}

int preflight_explain(int error, const char *what, char *why, size_t why_size)
{
	if (error == -EPERM && locked_down())
		snprintf(why, why_size,
			 "%s: refused by kernel lockdown (confidentiality): boot with "
			 "lockdown=integrity or none",
			 what);
	else if (error == -EPERM || error == -EACCES)
		snprintf(why, why_size,
			 "%s: %s: CAP_SYS_ADMIN, or a seccomp profile that allows bpf() and "
			 "perf_event_open(), is needed",
			 what, strerror(-error));
	else if (error == -EMFILE)
		snprintf(why, why_size, "%s: too many open files: raise the limit (ulimit -n)",
			 what);
	else if (error == -ENOMEM)
		snprintf(
			why, why_size,
			"%s: out of memory: raise the memory limit (cgroup memory.max) of spanprof",
			what);
	else
		snprintf(why, why_size, "%s: %s", what, strerror(-error));
	return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about Go's names: `path/of/package.Function`, `path/of/package.(*Type).Method`. */
#include "report/names.h"

#include <string.h>

/* Top folders of the standard library (go1.26 list std). A module path's first part has a dot. */
static const char *const standard[] = {
	"archive",  "bufio",   "bytes",	  "cmp",      "compress", "container", "context", "crypto",
	"database", "debug",   "embed",	  "encoding", "errors",	  "expvar",    "flag",	  "fmt",
	"go",	    "hash",    "html",	  "image",    "index",	  "internal",  "io",	  "iter",
	"log",	    "maps",    "math",	  "mime",     "net",	  "os",	       "path",	  "plugin",
	"reflect",  "regexp",  "runtime", "slices",   "sort",	  "strconv",   "strings", "structs",
	"sync",	    "syscall", "testing", "text",     "time",	  "unicode",   "unique",  "unsafe",
	"vendor",   "weak",
};

static const char *const runtime_packages[] = {
	"runtime",	"runtime/internal", "internal/runtime", "internal/bytealg",
	"internal/cpu", "syscall",	    "internal/abi",	"internal/poll",
};

/* Bytes before receiver and type arguments, which may hold slashes and dots of their own. */
static size_t plain_size(const char *function)
{
	return strcspn(function, "([");
}

static size_t package_size(const char *function)
{
	size_t size = plain_size(function);
	const char *slash = memrchr(function, '/', size);
	const char *dot = memchr(slash ? slash : function, '.',
				 size - (size_t)((slash ? slash : function) - function));

	return dot ? (size_t)(dot - function) : size;
}

const char *names_short(const char *function)
{
	const char *slash = memrchr(function, '/', plain_size(function));

	return slash ? slash + 1 : function;
}

/* `package` is `name` or lies below it. */
static bool is_under(const char *package, size_t size, const char *name)
{
	size_t length = strlen(name);

	return size >= length && !memcmp(package, name, length) &&
	       (size == length || package[length] == '/');
}

bool names_is_runtime(const char *function)
{
	size_t i, size = package_size(function);

	for (i = 0; i < sizeof(runtime_packages) / sizeof(runtime_packages[0]); i++) {
		if (is_under(function, size, runtime_packages[i]))
			return true;
	}
	/* Assembly helpers such as memeqbody and the linker's symbols have no package. */
	return size && !function[size] && !strchr(function, '.');
}

bool names_is_own(const char *function, const char *file)
{
	size_t i, size = package_size(function);

	if (!*function || !function[size])
		return false;
	for (i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
		if (is_under(function, size, standard[i]))
			return false;
	}
	/* A module's folder ends in @version, in the module cache as under -trimpath. */
	return !strstr(file, "@v") && !strstr(file, "/vendor/");
}

const char *names_file_tail(const char *file, size_t parts)
{
	const char *at = file + strlen(file);

	while (at > file) {
		if (at[-1] == '/' && !--parts)
			break;
		at--;
	}
	return at;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The functions gobinary needs by name; see go_functions.h. */
#include "gobinary/go_functions.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gobinary/pclntab.h"
#include "gobinary/rtypes.h"

/* Those of SDK and API lack their package, or its beginning. */
static const char *const names[FUNCTION_COUNT] = {
	[FUNCTION_RUNTIME_TRACE] = ".(*recordingSpan).runtimeTrace",
	[FUNCTION_NEW_RECORDING] = ".(*tracer).newRecordingSpan",
	[FUNCTION_TRACER_START] = ".(*tracer).Start",
	[FUNCTION_SET_PROVIDER] = "internal/global.SetTracerProvider",
	[FUNCTION_WITH_VALUE] = "context.WithValue",
	[FUNCTION_NEWPROC_CLOSURE] = "runtime.newproc.func1",
	[FUNCTION_RUNQPUT] = "runtime.runqput",
	[FUNCTION_ALLGADD] = "runtime.allgadd",
	[FUNCTION_WAIT_REASON] = "runtime.waitReason.String",
	[FUNCTION_STACKCHECK] = "runtime.stackcheck",
	[FUNCTION_LOAD_G] = "runtime.load_g",
	[FUNCTION_CROSSCALL2] = "crosscall2",
	[FUNCTION_SYSTEMSTACK] = "runtime.systemstack",
	[FUNCTION_MCALL] = "runtime.mcall",
	[FUNCTION_MORESTACK] = "runtime.morestack",
	[FUNCTION_ASMCGOCALL] = "runtime.asmcgocall",
	[FUNCTION_CGOCALLBACK] = "runtime.cgocallback",
	[FUNCTION_SIGTRAMP] = "runtime.sigtramp",
	[FUNCTION_CGO_SIGTRAMP] = "runtime.cgoSigtramp",
	[FUNCTION_SIGRETURN] = "runtime.sigreturn__sigaction",
	[FUNCTION_SIGRETURN_OLD] = "runtime.sigreturn",
	[FUNCTION_ASYNC_PREEMPT] = "runtime.asyncPreempt",
	[FUNCTION_SIGPANIC] = "runtime.sigpanic",
	[FUNCTION_GOEXIT] = "runtime.goexit",
	[FUNCTION_MSTART] = "runtime.mstart",
	[FUNCTION_RT0_GO] = "runtime.rt0_go",
};
#define SDK_FUNCTIONS 4
#define SDK_PACKAGE   "sdk/trace" /* behind what API and SDK have in common */
#define SDK_NAME_SIZE (RTYPE_PACKAGE_BYTES + 64)

struct collect {
	struct go_function_range *found;
	uint32_t flags[FUNCTION_COUNT];
};

/*
 * An assembly function and its ABI wrapper carry one name in pclntab: the assembly one is meant,
 * else the first that is no wrapper.
 */
static void take(void *context, size_t index, const struct go_function *f)
{
	struct collect *c = context;
	struct go_function_range *at = &c->found[index];
	uint32_t old = c->flags[index];
	bool better = !at->start || (f->flags & GO_ASSEMBLY && !(old & GO_ASSEMBLY)) ||
		      (old & GO_WRAPPER && !(f->flags & GO_WRAPPER));

	if (!better || f->end <= f->entry)
		return;
	*at = (struct go_function_range){f->entry, f->end};
	c->flags[index] = f->flags;
}

/* What the name of one of the API's packages begins with: vendor prefix included, as the SDK's. */
static int common_length(const char *sdk_package)
{
	size_t length = strlen(sdk_package), last = sizeof(SDK_PACKAGE) - 1;

	return (int)(length > last ? length - last : 0);
}

int go_functions_find(struct pclntab *table, const char *sdk_package,
		      struct go_function_range found[FUNCTION_COUNT])
{
	struct collect c = {.found = found};
	const char *wanted[FUNCTION_COUNT];
	char sdk_names[SDK_FUNCTIONS][SDK_NAME_SIZE];

	memset(found, 0, FUNCTION_COUNT * sizeof(*found));
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		wanted[i] = names[i];
		if (i >= SDK_FUNCTIONS)
			continue;
		if (i == FUNCTION_SET_PROVIDER)
			snprintf(sdk_names[i], SDK_NAME_SIZE, "%.*s%s", common_length(sdk_package),
				 sdk_package, names[i]);
		else
			snprintf(sdk_names[i], SDK_NAME_SIZE, "%s%s", sdk_package, names[i]);
		wanted[i] = sdk_names[i];
	}
	return pclntab_find_names(table, wanted, FUNCTION_COUNT, take, &c);
}

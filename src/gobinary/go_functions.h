/* SPDX-License-Identifier: Apache-2.0 */
/* The functions gobinary needs by name, found in one walk over pclntab. */
#ifndef GOBINARY_GO_FUNCTIONS_H
#define GOBINARY_GO_FUNCTIONS_H

#include <stdint.h>

struct pclntab;

enum go_function_id {
	FUNCTION_RUNTIME_TRACE, /* (*recordingSpan).runtimeTrace */
	FUNCTION_NEW_RECORDING, /* (*tracer).newRecordingSpan */
	FUNCTION_TRACER_START,	/* (*tracer).Start */
	FUNCTION_SET_PROVIDER,	/* global.SetTracerProvider, of the API */
	FUNCTION_WITH_VALUE,
	FUNCTION_NEWPROC_CLOSURE,
	FUNCTION_RUNQPUT,
	FUNCTION_ALLGADD,     /* appends to runtime.allgs */
	FUNCTION_WAIT_REASON, /* names a reason for which a goroutine waits */
	FUNCTION_STACKCHECK,  /* reads g from thread-local storage on x86-64 */
	FUNCTION_LOAD_G,      /* the same on arm64 */
	FUNCTION_CROSSCALL2,  /* C → Go: linked with runtime/cgo and its replacements only */
	FUNCTION_SYSTEMSTACK,
	FUNCTION_MCALL,
	FUNCTION_MORESTACK,
	FUNCTION_ASMCGOCALL,
	FUNCTION_CGOCALLBACK,
	FUNCTION_SIGTRAMP,
	FUNCTION_CGO_SIGTRAMP,
	FUNCTION_SIGRETURN, /* from Go 1.18; before, FUNCTION_SIGRETURN_OLD */
	FUNCTION_SIGRETURN_OLD,
	FUNCTION_ASYNC_PREEMPT,
	FUNCTION_SIGPANIC,
	FUNCTION_GOEXIT,
	FUNCTION_MSTART,
	FUNCTION_RT0_GO,
	FUNCTION_COUNT,
};

struct go_function_range { /* both 0: not in this executable */
	uint64_t start, end;
};

/* `sdk_package` is the import path of the SDK's trace package, vendor prefix included. */
int go_functions_find(struct pclntab *table, const char *sdk_package,
		      struct go_function_range found[FUNCTION_COUNT]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One line each, with the remedy where there is one. */
#include "agent/target_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/attach.h"
#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/targets.h"
#include "base/log.h"
#include "gobinary/gobinary.h"
#include "process/discovery.h"
#include "process/process.h"

const char *target_refusal(const struct options *o, const struct target *target,
			   const struct loaded *loaded)
{
	struct discovery_filter filter = {
		.include = o->exe_globs,
		.include_count = o->exe_glob_count,
		.exclude = o->exclude_globs,
		.exclude_count = o->exclude_glob_count,
	};

	if (loaded->error == -ECANCELED)
		return "its environment says SPANPROF=off";
	if (loaded->error == -ESRCH || loaded->error == -ENOENT)
		return "no such process";
	if (loaded->error == -ENOEXEC || loaded->error == -EINVAL)
		return "its executable is not an ELF file this build can read";
	if (loaded->error == -ENXIO)
		return "it has no executable (a kernel thread?)";
	if (loaded->error == -EACCES || loaded->error == -EPERM)
		return "it may not be read (permission denied): a security module or a user "
		       "namespace "
		       "forbids it";
	if (loaded->error)
		return strerror(-loaded->error);
	if (!loaded->binary->go && !o->all)
		return "it is not a Go program (--all profiles others, too)";
	if (!target->named &&
	    !discovery_is_selected(&filter, process_get_executable(loaded->process)))
		return "not selected";
	return NULL;
}

void target_announce(const struct log *log, const struct target *target, bool again)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	bool is_go = target->binary->go;
	char words[512];

	if (!is_go && !target->named) {
		log_debug(log, "attached to %s (pid %d): not a Go program",
			  process_get_executable(target->process), target->pid);
		return;
	}
	if (target->binary->announced && (again || !target->named)) {
		log_debug(log, "attached to %s (pid %d)", process_get_executable(target->process),
			  target->pid);
		return;
	}
	target->binary->announced = true;
	if (is_go)
		attach_describe_words(info, words, sizeof(words));
	else
		snprintf(words, sizeof(words), "not a Go program");
	log_info(log, "attached to %s (pid %d, service %s): %s",
		 process_get_executable(target->process), target->pid,
		 identity_get(&target->identity, "service.name"), words);
	if (info->has_sdk && info->span.source == GO_OFFSETS_NEWEST)
		log_warn(log,
			 "pid %d: unknown SDK version: spans are read as in the newest known one",
			 target->pid);
	if (is_go && !info->tls_known)
		log_warn(log,
			 "pid %d: where this program keeps its goroutine was not found: "
			 "samples are not tagged",
			 target->pid);
}

void target_explain(const struct log *log, const struct options *o, const struct target *target)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);

	if (!target->binary->go)
		return;
	if (!o->probes)
		log_info(log, "pid %d: samples are not tagged: --probes off", target->pid);
	else if (!info->has_sdk)
		log_info(log,
			 "pid %d: samples are not tagged: the program does not link the "
			 "OpenTelemetry SDK (go.opentelemetry.io/otel/sdk)",
			 target->pid);
	else if (!attach_has_start(info))
		log_warn(log,
			 "pid %d: samples are not tagged: no known span start in this SDK version",
			 target->pid);
	else
		log_info(log,
			 "pid %d: no span has started yet: no traffic, no TracerProvider set "
			 "(otel.SetTracerProvider), or nothing sampled",
			 target->pid);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of all stages, as log lines. */
#include "agent/summary.h"

#include <sys/resource.h>

#include "agent/pipeline.h"
#include "agent/session.h"
#include "base/log.h"
#include "capture/capture.h"
#include "symbolize/symbolize.h"

static const char *const loss_sentences[] = {
#define SENTENCE(id, label, sentence) sentence,
	SPANPROF_LOSS_REASONS(SENTENCE)
#undef SENTENCE
};

static const char *const event_labels[] = {
#define LABEL(id, label) label,
	SPANPROF_EVENTS(LABEL)
#undef LABEL
};

static void log_usage(const struct session *s, const struct capture_stats *capture,
		      uint64_t samples)
{
	struct rusage usage;
	double cpu_ms;

	if (getrusage(RUSAGE_SELF, &usage))
		return;
	cpu_ms = usage.ru_utime.tv_sec * 1e3 + usage.ru_utime.tv_usec / 1e3 +
		 usage.ru_stime.tv_sec * 1e3 + usage.ru_stime.tv_usec / 1e3;
	log_debug(s->log, "used %.0f ms CPU (%.0f us a sample), %ld KiB peak, maps %llu KiB",
		  cpu_ms, samples ? cpu_ms * 1e3 / samples : 0.0, usage.ru_maxrss,
		  (unsigned long long)capture->map_bytes >> 10);
}

void summary_log(const struct session *s)
{
	struct symbolizer_stats symbolizer;
	struct pipeline_stats pipeline;
	struct capture_stats capture;

	capture_get_stats(s->capture, &capture);
	pipeline_get_stats(s->pipeline, &pipeline);
	symbolizer_get_stats(s->symbolizer, &symbolizer);
	for (int i = 0; i < LOSS_REASON_COUNT; i++)
		if (capture.counters.lost[i])
			log_warn(s->log, "%s: %llu times", loss_sentences[i],
				 (unsigned long long)capture.counters.lost[i]);
	if (pipeline.without_image)
		log_warn(s->log,
			 "samples of processes whose executable was not read in time, for "
			 "instance because they ended: %llu",
			 (unsigned long long)pipeline.without_image);
	if (symbolizer.kernel_names_hidden)
		log_warn(s->log, "kernel functions have no names: /proc/kallsyms is hidden "
				 "(kernel.kptr_restrict)");
	for (int i = 0; i < EVENT_COUNT; i++)
		log_debug(s->log, "%s: %llu", event_labels[i],
			  (unsigned long long)capture.counters.events[i]);
	log_debug(s->log, "stacks %llu, repaired frames %llu, truncated %llu",
		  (unsigned long long)pipeline.unwind.stacks,
		  (unsigned long long)pipeline.unwind.repaired,
		  (unsigned long long)pipeline.unwind.truncated);
	log_usage(s, &capture, pipeline.samples);
}

void summary_log_progress(const struct session *s, double seconds)
{
	struct target_counters counters;
	uint64_t samples, inside;

	capture_get_counters(s->capture, &counters);
	samples = counters.events[EVENT_SAMPLES];
	inside = counters.events[EVENT_SAMPLES_IN_SPAN] + counters.events[EVENT_SAMPLES_INHERITED];
	log_info(s->log, "%.0f s: %llu samples, %.1f %% inside spans, %llu spans started", seconds,
		 (unsigned long long)samples, samples ? 100.0 * inside / samples : 0.0,
		 (unsigned long long)counters.events[EVENT_SPANS_STARTED]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of all stages, as log lines. */
#include "agent/summary.h"

#include <sys/resource.h>

#include "agent/pipeline.h"
#include "agent/session.h"
#include "agent/span_sweep.h"
#include "agent/targets.h"
#include "agent/waits.h"
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

static const char *const source_words[SPAN_SOURCE_COUNT] = {
	[SPAN_OWN] = "own spans",
	[SPAN_INHERITED] = "their creator's span",
	[SPAN_OLDER] = "spans found at the attach",
	[SPAN_ON_STACK] = "spans on the stack",
	[SPAN_LABELS] = "pprof labels",
	[SPAN_CONTEXT_MAP] = "the map of another tool",
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

/* What was seen of goroutines on no CPU, and what of them was not. */
static void log_waits(const struct session *s, const struct pipeline_stats *pipeline)
{
	struct waiting_stats waits;

	if (!s->waits)
		return;
	waits_get_stats(s->waits, &waits);
	if (waits.lost_ns)
		log_warn(s->log,
			 "%.1f s that goroutines waited are not in the profile: the agent was too "
			 "slow",
			 (double)waits.lost_ns / 1e9);
	log_debug(
		s->log,
		"waits: %llu passes, of late %.1f a second over one in %u goroutines, %llu looks, "
		"%llu moved meanwhile, %llu unreadable, %llu records, %.1f s without a span, %.0f "
		"ms CPU",
		(unsigned long long)waits.passes, waits.frequency_hz, waits.share,
		(unsigned long long)waits.looks, (unsigned long long)waits.moved,
		(unsigned long long)waits.unreadable, (unsigned long long)pipeline->waits,
		(double)pipeline->waits_unsettled_ns / 1e9, (double)waits.cpu_ns / 1e6);
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
	if (pipeline.unsampled)
		log_info(s->log,
			 "%llu samples (%.1f %%) are of spans that the tracer sampled out: they "
			 "have no tag",
			 (unsigned long long)pipeline.unsampled,
			 100.0 * (double)pipeline.unsampled / (double)pipeline.samples);
	if (pipeline.span_unsettled)
		log_warn(s->log, "samples of spans whose memory could not be read: %llu",
			 (unsigned long long)pipeline.span_unsettled);
	targets_sum_up(s->targets);
	if (symbolizer.kernel_names_hidden)
		log_warn(s->log, "kernel functions have no names: /proc/kallsyms is hidden "
				 "(kernel.kptr_restrict)");
	for (int i = 0; i < EVENT_COUNT; i++)
		log_debug(s->log, "%s: %llu", event_labels[i],
			  (unsigned long long)capture.counters.events[i]);
	for (int i = 0; i < SPAN_SOURCE_COUNT; i++)
		log_debug(s->log, "samples tagged by %s: %llu", source_words[i],
			  (unsigned long long)pipeline.by_source[i]);
	log_debug(s->log,
		  "spans read after their end: %llu of %llu started, %llu still open, %llu without "
		  "a name that is sure",
		  (unsigned long long)pipeline.spans_ended,
		  (unsigned long long)capture.counters.events[EVENT_SPANS_STARTED],
		  (unsigned long long)span_sweep_count_open(s->sweep),
		  (unsigned long long)pipeline.names_unsure);
	log_debug(s->log, "stacks %llu, repaired frames %llu, truncated %llu",
		  (unsigned long long)pipeline.unwind.stacks,
		  (unsigned long long)pipeline.unwind.repaired,
		  (unsigned long long)pipeline.unwind.truncated);
	log_waits(s, &pipeline);
	log_usage(s, &capture, pipeline.samples);
}

void summary_log_progress(const struct session *s, double seconds)
{
	struct target_counters counters;
	struct pipeline_stats stats;
	uint64_t inside = 0;

	capture_get_counters(s->capture, &counters);
	pipeline_get_stats(s->pipeline, &stats);
	for (int i = 0; i < SPAN_SOURCE_COUNT; i++)
		inside += stats.by_source[i];
	log_info(s->log, "%.0f s: %llu samples, %.1f %% inside spans, %llu spans started", seconds,
		 (unsigned long long)stats.samples,
		 stats.samples ? 100.0 * inside / stats.samples : 0.0,
		 (unsigned long long)counters.events[EVENT_SPANS_STARTED]);
}

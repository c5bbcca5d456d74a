/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side knows of processes and their goroutines; see capture.h. */
#include "capture/capture_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdatomic.h>

#include "capture/calibrate.h"
#include "capture/goroutine_store.h"

int capture_set_process(struct capture *c, pid_t pid, const struct target_process *target)
{
	__u32 key = pid;
	int error = bpf_map__update_elem(c->bpf->maps.processes, &key, sizeof(key), target,
					 sizeof(*target), BPF_ANY);

	if (!error && target->generation)
		error = goroutine_store_add(c->store, target->generation);
	return error;
}

int capture_prepare_image(struct capture *c, const struct target_image *image,
			  const struct target_process *target)
{
	int error = bpf_map__update_elem(c->bpf->maps.images, image, sizeof(*image), target,
					 sizeof(*target), BPF_ANY);

	return error ? error : goroutine_store_add(c->store, target->generation);
}

static bool find_process(struct capture *c, pid_t pid, struct target_process *known)
{
	__u32 key = pid;

	return !bpf_map__lookup_elem(c->bpf->maps.processes, &key, sizeof(key), known,
				     sizeof(*known), 0);
}

int capture_add_older(struct capture *c, uint32_t generation, uint64_t g, uint64_t goid,
		      const struct capture_older_span *spans, size_t count)
{
	atomic_fetch_add(&c->store_changes, 1);
	return goroutine_store_add_older(c->store, generation, g, goid, spans, count);
}

int capture_push_older(struct capture *c, uint32_t generation, uint64_t g, uint64_t goid,
		       const struct capture_older_span *span)
{
	atomic_fetch_add(&c->store_changes, 1);
	return goroutine_store_push_older(c->store, generation, g, goid, span);
}

uint32_t capture_get_generation(struct capture *c, pid_t pid)
{
	struct target_process known;

	return find_process(c, pid, &known) ? known.generation : 0;
}

bool capture_get_counts(struct capture *c, pid_t pid, uint32_t generation,
			struct capture_process_counts *counts)
{
	struct target_process known;

	if (!find_process(c, pid, &known) || known.generation != generation)
		return false;
	*counts = (struct capture_process_counts){known.spans_started, known.spans_unsampled,
						  known.go_statements};
	return true;
}

bool capture_get_probe_costs(const struct capture *c, struct capture_probe_costs *costs)
{
	return calibration_get(c->calibration, costs);
}

int capture_each_goroutine(struct capture *c,
			   void (*each)(void *context,
					const struct capture_stored_goroutine *goroutine),
			   void *context)
{
	return goroutine_store_each(c->store, each, context);
}

uint64_t capture_get_store_version(struct capture *c)
{
	struct target_counters sum;

	capture_get_counters(c, &sum);
	return sum.events[EVENT_SPANS_STARTED] + sum.events[EVENT_SPANS_UNSAMPLED] +
	       sum.events[EVENT_GO_STATEMENTS] + atomic_load(&c->store_changes);
}

void capture_forget_goroutine(struct capture *c, const struct capture_stored_goroutine *goroutine)
{
	goroutine_store_remove(c->store, goroutine);
}

int capture_each_span(struct capture *c,
		      void (*each)(void *context, const struct capture_stored_span *span),
		      void *context)
{
	return goroutine_store_each_span(c->store, each, context);
}

void capture_forget_goroutines(struct capture *c, uint32_t generation)
{
	atomic_fetch_add(&c->store_changes, 1);
	goroutine_store_clear(c->store, generation);
}

void capture_forget_process(struct capture *c, pid_t pid, uint32_t generation)
{
	struct target_process known;
	__u32 key = pid;

	if (find_process(c, pid, &known) && known.generation == generation)
		bpf_map__delete_elem(c->bpf->maps.processes, &key, sizeof(key), 0);
	goroutine_store_forget(c->store, generation);
}

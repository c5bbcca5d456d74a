/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests give way to which, and that the bytes of those that wait are known. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "export/sender_queue.h"

static struct sender_request *request(size_t size, uint64_t samples)
{
	struct sender_request *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->body = malloc(size);
	r->size = size;
	r->samples = samples;
	return r;
}

static void drops_the_oldest(void **state)
{
	struct sender_request *on_its_way = request(400, 10), *newest = request(500, 10000);
	struct sender_queue q = {.bytes_max = 1000};
	struct sender_dropped dropped = {0};

	assert_int_equal(sender_queue_add(&q, request(1001, 1), &dropped), -EFBIG);
	assert_int_equal(dropped.requests, 1);
	assert_int_equal(dropped.samples, 1);
	assert_int_equal(sender_queue_add(&q, on_its_way, &dropped), 0);
	on_its_way->busy = true;
	assert_int_equal(sender_queue_add(&q, request(300, 100), &dropped), 0);
	assert_int_equal(sender_queue_add(&q, request(300, 1000), &dropped), 0);
	assert_int_equal(dropped.samples, 1); /* just full */
	assert_int_equal(sender_queue_add(&q, newest, &dropped), 0);
	assert_int_equal(dropped.requests, 3);
	assert_int_equal(dropped.samples, 1101);
	assert_ptr_equal(q.oldest, on_its_way);
	assert_ptr_equal(on_its_way->next, newest);
	assert_ptr_equal(q.newest, newest);
	assert_int_equal(q.bytes, 900);
	/* No room beside the one that may not be dropped. */
	assert_int_equal(sender_queue_add(&q, request(700, 100000), &dropped), -EFBIG);
	assert_ptr_equal(q.oldest, on_its_way);
	sender_queue_clear(&q, &dropped);
	assert_null(q.oldest);
	assert_null(q.newest);
	assert_int_equal(q.bytes, 0);
	assert_int_equal(dropped.requests, 6);
	assert_int_equal(dropped.samples, 111111);
}

/* Compression makes room. */
static void knows_the_packed_size(void **state)
{
	struct sender_request *first = request(600, 1), *second = request(400, 2);
	struct sender_queue q = {.bytes_max = 1000};
	struct sender_dropped dropped = {0};

	assert_int_equal(sender_queue_add(&q, first, &dropped), 0);
	assert_int_equal(sender_queue_add(&q, second, &dropped), 0);
	assert_ptr_equal(sender_queue_unpacked(&q), first);
	sender_queue_resize(&q, first, malloc(100), 100);
	first->packed = true;
	assert_ptr_equal(sender_queue_unpacked(&q), second);
	assert_int_equal(q.bytes, 500);
	assert_int_equal(sender_queue_add(&q, request(500, 4), &dropped), 0);
	assert_int_equal(dropped.requests, 0);
	sender_queue_remove_oldest(&q);
	assert_ptr_equal(q.oldest, second);
	assert_int_equal(q.bytes, 900);
	sender_queue_clear(&q, &dropped);
	assert_int_equal(dropped.samples, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drops_the_oldest),
		cmocka_unit_test(knows_the_packed_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

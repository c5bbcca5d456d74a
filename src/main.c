/* SPDX-License-Identifier: Apache-2.0 */
/* spanprof's entry: parse, dispatch, exit code. */
#include <stdio.h>

int main(void)
{
	return fprintf(stderr, "spanprof: not built yet\n") < 0;
}

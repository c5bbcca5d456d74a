/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the reports of a made-up profile, to look at them: report_sample [columns] [live|color].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "report/report.h"
#include "shop_profile.h"

int main(int argc, char **argv)
{
	struct report_options options = {.spans_max = 6, .lines_max = 4};
	struct buffer out;
	struct shop shop;
	int err, live = 0;

	options.columns = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	for (int i = 2; i < argc; i++) {
		live |= !strcmp(argv[i], "live");
		options.color |= !strcmp(argv[i], "color");
	}
	buffer_open(&out, 1 << 20);
	shop_open(&shop);
	shop_fill(&shop);
	err = live ? report_live(shop.profile, &options, 6, &out)
		   : report_terminal(shop.profile, &options, &out);
	fwrite(out.data, 1, out.size, stdout);
	shop_close(&shop);
	buffer_close(&out);
	return err ? 1 : 0;
}

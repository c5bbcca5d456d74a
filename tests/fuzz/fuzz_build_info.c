/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes build information: the first byte says PIE or not, the rest is the data segment. */
#include "go_file.h"
#include "gobinary/build_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_info info;
	struct go_file f;

	if (!size)
		return 0;
	if (!go_file_open_segment(&f, data[0], data + 1, size - 1) &&
	    !build_info_read(f.image, &info) &&
	    (strnlen(info.go_version, sizeof(info.go_version)) == sizeof(info.go_version) ||
	     strnlen(info.main_path, sizeof(info.main_path)) == sizeof(info.main_path) ||
	     strnlen(info.sdk_version, sizeof(info.sdk_version)) == sizeof(info.sdk_version)))
		__builtin_trap();
	go_file_close(&f);
	return 0;
}

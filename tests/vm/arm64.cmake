# SPDX-License-Identifier: Apache-2.0
# CMake toolchain for arm64 by Debian's cross compiler; SPANPROF_SYSROOT is sysroot.sh's folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SPANPROF_SYSROOT)
set(CMAKE_SYSROOT ${SPANPROF_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${SPANPROF_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SPANPROF_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
	${SPANPROF_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SPANPROF_SYSROOT}/usr/share/pkgconfig)
# The BPF programs see the target's kernel headers, not this machine's.
set(SPANPROF_BPF_INCLUDES
	${SPANPROF_SYSROOT}/usr/include/aarch64-linux-gnu ${SPANPROF_SYSROOT}/usr/include
	CACHE STRING "folders of <linux/*.h>, <asm/*.h> and <bpf/*.h> for BPF")

"""The kernel's own fence around chart code: which system calls it may make, as a filter for `seccomp`.

Everything that is not listed fails as if the kernel did not know it: no processes, threads or other programs, no
signals to anybody, no sockets, no memory outside the process, no mounts, no tracing, nothing that future kernels add.
"""

import struct
from collections.abc import Mapping, Sequence

# Each call with its number on x86_64 and on aarch64, which lacks some of the older ones.
_ALLOWED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, lseek 8 62, open 2 -, openat 257 56,
close 3 57, fstat 5 80, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48,
faccessat2 439 439, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, mkdir 83 -, mkdirat 258 34, rmdir 84 -,
unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, readlink 89 -, readlinkat 267 78,
truncate 76 45, ftruncate 77 46, fsync 74 82, fdatasync 75 83, fadvise64 221 223, sendfile 40 71,
copy_file_range 326 285, statfs 137 43, fstatfs 138 44, umask 95 166, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -,
pipe2 293 59, select 23 -, pselect6 270 72, poll 7 -, ppoll 271 73,
mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, futex 202 98,
set_robust_list 273 99, rseq 334 293, membarrier 324 283, sched_yield 24 124, sched_getaffinity 204 123, getcpu 309 168,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169, time 201 -,
times 100 153, getrusage 98 165, getrlimit 97 163, getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174,
geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158, uname 63 160, sysinfo 99 179, getrandom 318 278,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128,
exit 60 93, exit_group 231 94
"""
# Three depend on an argument. Limits: of the calling process alone. Devices: only whether a file is a terminal, and
# flags of descriptors. Descriptors: copies and flags, but not those of an open file, which the next chart may share.
_BY_ARGUMENT = (
    ((302, 261), "prlimit64", 16, (0,)),
    ((16, 29), "ioctl", 24, (0x5401, 0x5413, 0x5450, 0x5451)),
    ((72, 25), "fcntl", 24, (0, 1, 2, 3, 1030)),
)
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 38, 0x80000000
_NUMBER, _MACHINE = 0, 4


def filters() -> Mapping[str, bytes]:
    """Return the filter of each kind of machine: instructions as the kernel takes them."""
    return {machine: _filter(at, mark) for at, (machine, mark) in enumerate(_MACHINES.items())}


def _filter(at: int, mark: int) -> bytes:
    columns = [entry.split()[1:] for entry in _ALLOWED.split(",")]
    numbers = [int(column[at]) for column in columns if column[at] != "-"]
    # A program for another kind of machine would know the calls by other numbers.
    head = [_step(_LOAD, _MACHINE), _step(_EQUAL, mark, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, _NUMBER)]
    for counts, _, argument, values in _BY_ARGUMENT:
        head += _by_argument(counts[at], argument, values)
    # From each of them, as many steps to the last as there are others and the refusal behind it.
    tests = [_step(_EQUAL, number, len(numbers) - index, 0) for index, number in enumerate(numbers)]
    return b"".join([*head, *tests, _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)])


def _by_argument(number: int, argument_index: int, values: Sequence[int]) -> list[bytes]:
    """Return steps that allow a call with one of these values in an argument and refuse it with others."""
    tests = [_step(_EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
    body = [_step(_LOAD, argument_index), *tests, _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)

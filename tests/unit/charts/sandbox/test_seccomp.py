"""The filter of system calls does what its table says, on each kind of machine."""

import struct

import pytest

from deep_research.charts.sandbox.seccomp import filters

MARKS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050026, 0x80000000
# Numbers from the kernel's headers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
ALLOWED = {
    "read": (0, 63), "write": (1, 64), "openat": (257, 56), "close": (3, 57), "mmap": (9, 222), "futex": (202, 98),
    "exit_group": (231, 94), "getrandom": (318, 278), "newfstatat": (262, 79), "brk": (12, 214),
}  # fmt: skip
REFUSED = {
    "socket": (41, 198), "socketpair": (53, 199), "clone": (56, 220), "clone3": (435, 435), "execve": (59, 221),
    "execveat": (322, 281), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "ptrace": (101, 117),
    "mount": (165, 40), "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "symlinkat": (266, 36),
    "linkat": (265, 37), "mknodat": (259, 33), "fchmodat": (268, 53), "memfd_create": (319, 279), "bpf": (321, 280),
    "io_uring_setup": (425, 425), "keyctl": (250, 219), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "process_vm_writev": (311, 271), "prctl": (157, 167), "setrlimit": (160, 164), "setuid": (105, 146),
    "flock": (73, 32), "a call of the future": (9_999, 9_999),
}  # fmt: skip
OLD = {"fork": 57, "vfork": 58, "the other numbers of a socket": 0x40000029, "chmod": 90, "symlink": 88}


def decision(machine: str, number: int, arguments: tuple[int, ...] = (), mark: int | None = None) -> int:
    """Return what a filter decides, as the kernel would run it."""
    mark = MARKS[machine] if mark is None else mark
    call = struct.pack("=iIQ6Q", number, mark, 0, *(*arguments, *[0] * (6 - len(arguments))))
    steps = list(struct.iter_unpack("=HBBI", filters()[machine]))
    at, held = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        if code == 0x06:
            return int(value)
        if code == 0x20:
            held = struct.unpack_from("=I", call, value)[0]
        else:
            assert code == 0x15
            at += if_true if held == value else if_false
        at += 1


@pytest.mark.parametrize("column", [0, 1])
def test_what_drawing_needs_is_allowed_and_all_else_refused(column):
    machine = list(MARKS)[column]
    assert {name: decision(machine, numbers[column]) for name, numbers in ALLOWED.items()} == dict.fromkeys(
        ALLOWED, ALLOW
    )
    assert {name: decision(machine, numbers[column]) for name, numbers in REFUSED.items()} == dict.fromkeys(
        REFUSED, REFUSE
    )


def test_calls_that_only_the_older_machine_knows_are_refused_too():
    assert {name: decision("x86_64", number) for name, number in OLD.items()} == dict.fromkeys(OLD, REFUSE)


@pytest.mark.parametrize("machine", MARKS)
def test_calls_by_the_numbers_of_another_machine_end_the_process(machine):
    assert decision(machine, 0, mark=0x40000003) == KILL


@pytest.mark.parametrize(("machine", "limits", "device", "file"), [("x86_64", 302, 16, 72), ("aarch64", 261, 29, 25)])
def test_some_calls_depend_on_what_they_ask(machine, limits, device, file):
    assert decision(machine, limits, (0, 7)) == ALLOW
    assert decision(machine, limits, (1, 7)) == REFUSE
    is_terminal, push_a_key = 0x5401, 0x5412
    assert decision(machine, device, (1, is_terminal)) == ALLOW
    assert decision(machine, device, (1, push_a_key)) == REFUSE
    copy, change_flags, own_signals = 1030, 4, 8
    assert decision(machine, file, (1, copy)) == ALLOW
    assert decision(machine, file, (1, change_flags)) == REFUSE
    assert decision(machine, file, (1, own_signals)) == REFUSE

"""Ways out of a sandbox, each a piece of code that somebody's model might have been talked into writing.

An attempt raises `OSError` or `RuntimeError` where it is blocked. Those that do no harm are also made outside, where
they must get through: that shows that it is the sandbox that blocks them.
"""

import textwrap
from dataclasses import dataclass

# `data` holds what the host put in the way: files, sockets, its own process, a word in its environment.
PRELUDE = """
import ctypes, mmap, os, platform, resource, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # on x86_64 and aarch64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428, 428), "fsopen": (430, 430),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "add_key": (248, 217), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "memfd_create": (319, 279), "init_module": (175, 105), "kexec_load": (246, 104),
    "personality": (135, 92), "clone3": (435, 435), "pidfd_open": (434, 434), "shmget": (29, 194),
    "prlimit64": (302, 261), "seccomp": (317, 277), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "acct": (163, 89), "swapon": (167, 224), "reboot": (169, 142), "sethostname": (170, 161), "setuid": (105, 146),
    "capset": (126, 91), "prctl": (157, 167), "kcmp": (312, 272), "landlock_create_ruleset": (444, 444),
    "mq_open": (240, 180), "clock_settime": (227, 112), "quotactl": (179, 60), "syslog": (103, 116),
}

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def kernel(name, *arguments):
    number = NUMBERS[name][platform.machine() == "aarch64"]
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return checked(libc.syscall(ctypes.c_long(number), *given))

def found(condition):
    if not condition:
        raise OSError("it is not there")

def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as made:
        made.settimeout(3)
        made.connect(address)
        made.send(b"out")
"""


@dataclass(frozen=True)
class Attempt:
    """One way out, and whether it gets through outside, where it does no harm."""

    name: str
    code: str
    works_outside: bool = False

    def program(self) -> str:
        """Return the code: it prints whether it was blocked, and draws."""
        tried = textwrap.indent(textwrap.dedent(self.code).strip(), "    ")
        return (
            f"{PRELUDE}\ntry:\n{tried}\nexcept (OSError, RuntimeError) as error:\n"
            "    print('BLOCKED', type(error).__name__, error)\nelse:\n    print('ESCAPED')\n"
            "plt.figure(figsize=(1, 1))\nplt.plot([1, 2])\n"
        )


def _attempts(works_outside: bool, text: str) -> tuple[Attempt, ...]:
    """Read attempts, each a line with its name and the code below it."""
    parts = [part.partition("\n") for part in text.split("\n# ")[1:]]
    return tuple(Attempt(name.strip(), code, works_outside) for name, _, code in parts)


# These get through outside, for any user.
HARMLESS = _attempts(
    True,
    """
# read a list of users
open("/etc/passwd").read()
# read a file of the user
found("hidden" in open(data["file"]).read())
# read a file of the user by a long way round
found("hidden" in open("/tmp" + "/.." * 40 + data["file"]).read())
# see the files of the host's folder
found(os.listdir(data["folder"]))
# write into the host's folder
open(data["folder"] + "/written", "w").write("out")
# see home folders
found(os.listdir("/home") or os.listdir("/root"))
# see the kernel's view of devices
found(os.listdir("/sys/class"))
# see other processes
found(str(data["pid"]) in os.listdir("/proc"))
# read about itself
found(open("/proc/self/status").read())
# write to shared memory
open("/dev/shm/written-" + str(os.getpid()), "w").write("out"); os.unlink("/dev/shm/written-" + str(os.getpid()))
# read the environment
found(data["name"] in os.environ)
# read the environment behind Python's back
entries = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
words, index = [], 0
while entries[index]:
    words.append(entries[index]); index += 1
found(any(data["name"].encode() in word for word in words))
# connect to a server of this machine
connect(socket.AF_INET, ("127.0.0.1", data["port"]))
# send a datagram
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
    made.sendto(b"out", ("127.0.0.1", data["port"]))
# listen for connections
with socket.socket(socket.AF_INET) as made:
    made.bind(("127.0.0.1", 0)); made.listen()
# connect to a socket file
connect(socket.AF_UNIX, data["socket"])
# connect to a socket without a file
connect(socket.AF_UNIX, b"\\0" + data["abstract"].encode())
# talk to the kernel's network
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
# make a pair of sockets
[made.close() for made in socket.socketpair()]
# start a process
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
# start another program
subprocess.run([sys.executable, "-c", "pass"], check=True)
# start a program without a fork of Python's
os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], {}), 0)
# start a thread
threading.Thread(target=int).start()
# send a signal to the parent
os.kill(os.getppid(), 0)
# send a signal to itself
os.kill(os.getpid(), 0)
# ask to be traced
kernel("ptrace", 0, 0, 0, 0)
# read the memory of itself as if of another
class Piece(ctypes.Structure): _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
taken, kept = ctypes.create_string_buffer(8), ctypes.create_string_buffer(b"12345678")
mine, theirs = Piece(ctypes.addressof(taken), 8), Piece(ctypes.addressof(kept), 8)
kernel("process_vm_readv", os.getpid(), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
# open a handle of another process
os.close(kernel("pidfd_open", os.getppid(), 0))
# change the limits of the parent
kernel("prlimit64", os.getppid(), resource.RLIMIT_NOFILE, 0, ctypes.create_string_buffer(16))
# change the priority of the parent
os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, os.getppid()))
# bind the parent to a processor
os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))
# make a symbolic link to a file outside
os.symlink(data["file"], data["folder"] + "/link"); os.unlink(data["folder"] + "/link")
# make a hard link
os.link(data["file"], data["folder"] + "/hard"); os.unlink(data["folder"] + "/hard")
# make a pipe in the file system
os.mkfifo(data["folder"] + "/pipe"); os.unlink(data["folder"] + "/pipe")
# lock a file of the host
import fcntl
with open(sys.executable, "rb") as file:
    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
# change the rights of a file
path = data["folder"] + "/rights"
open(path, "w").close(); os.chmod(path, 0o4777); os.unlink(path)
# take memory that belongs to no process
os.close(kernel("memfd_create", b"x", 0))
# take memory that outlives the process
kernel("shmget", 0, 4096, 0o1600)
# change how its memory is laid out
kernel("personality", 0xffffffff)
# change what the kernel keeps of it
kernel("prctl", 38, 1, 0, 0, 0)
# see its descriptors
os.listdir("/proc/self/fd")
# write over its own memory by a file
open("/proc/self/mem", "r+b").close()
# follow the root of a process
os.listdir("/proc/self/root")
""",
)

# These need rights, or would do harm: they are made inside only.
HARMFUL = _attempts(
    False,
    """
# read passwords
open("/etc/shadow").read()
# read root's folder
os.listdir("/root")
# write into the root folder
open("/written", "w").write("out")
# write into Python's libraries
open(os.path.join(os.path.dirname(os.__file__), "written.py"), "w")
# write into packages
import numpy
open(os.path.join(os.path.dirname(numpy.__file__), "written.py"), "w")
# replace a package
import numpy
os.rename(os.path.dirname(numpy.__file__), "/tmp/numpy")
# delete a library
os.unlink(os.path.join(os.path.dirname(os.__file__), "json", "__init__.py"))
# write settings of the kernel
open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/x")
# read the environment of the first process
open("/proc/1/environ", "rb").read()
# follow the root of the first process
os.listdir("/proc/1/root/etc")
# read the memory of the machine
open("/dev/mem", "rb").read(1)
# open the terminal
open("/dev/tty", "w")
# make a device
os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0)); open("/tmp/disk", "rb").read(1)
# change the root folder
os.chroot("/tmp")
# get namespaces of its own
kernel("unshare", 0x10000000)
# get a file system of its own
kernel("unshare", 0x00020000)
# enter the namespaces of another
kernel("setns", 0, 0)
# mount
kernel("mount", b"none", b"/tmp", b"tmpfs", 0, 0)
# take a mount away
kernel("umount2", b"/tmp", 2)
# mount by the newer calls
kernel("fsopen", b"tmpfs", 0)
# clone a tree of mounts
kernel("open_tree", -100, b"/", 1)
# swap the root folder
kernel("pivot_root", b"/tmp", b"/tmp")
# open a file by its number
kernel("name_to_handle_at", -100, b"/tmp", ctypes.create_string_buffer(128), ctypes.create_string_buffer(8), 0)
# start a process by the newest call
kernel("clone3", ctypes.create_string_buffer(88), 88)
# work around the filter by a ring of requests
kernel("io_uring_setup", 4, ctypes.create_string_buffer(120))
# load a program into the kernel
kernel("bpf", 0, ctypes.create_string_buffer(128), 128)
# use the kernel's keys
kernel("add_key", b"user", b"x", b"y", 1, -3)
# watch the processor
kernel("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0)
# stop the kernel at a page
kernel("userfaultfd", 1)
# load a module
kernel("init_module", ctypes.create_string_buffer(8), 8, b"")
# start another kernel
kernel("kexec_load", 0, 0, 0, 0)
# stop the machine
kernel("reboot", 0xfee1dead, 672274793, 0)
# set the clock
kernel("clock_settime", 0, ctypes.create_string_buffer(16))
# rename the machine
kernel("sethostname", b"x", 1)
# become root
os.setuid(0)
# become root by the call itself
kernel("setuid", 0)
# take rights
kernel("capset", ctypes.create_string_buffer(8), ctypes.create_string_buffer(24))
# trace the parent
kernel("ptrace", 16, os.getppid(), 0, 0)
# end the parent
os.kill(os.getppid(), signal.SIGKILL)
# stop the parent
os.kill(os.getppid(), signal.SIGSTOP)
# end everybody
os.kill(-1, signal.SIGKILL)
# end the host
os.kill(data["pid"], signal.SIGKILL)
# lift its limits
checked(libc.setrlimit(resource.RLIMIT_AS, (ctypes.c_ulong * 2)(2**64 - 1, 2**64 - 1)))
# connect to the world
connect(socket.AF_INET, ("1.1.1.1", 53))
# look a name up
socket.getaddrinfo("example.com", 80)
# send raw packets
socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
# talk to the host of a virtual machine
connect(40, (2, 1))
# use the numbers of another kind of processor's calls
checked(libc.syscall(ctypes.c_long(0x40000000 | 41), 2, 1, 0))
# start many processes
for _ in range(400):
    if os.fork() == 0:
        time.sleep(60)
# start many threads
for _ in range(400):
    threading.Thread(target=time.sleep, args=(60,)).start()
# write a large file
with open("/tmp/large", "wb") as file:
    for _ in range(10_000):
        file.write(b"0" * 1_000_000)
# write many files
for number in range(100):
    with open(f"/tmp/{number}", "wb") as file:
        file.write(b"0" * 10_000_000)
# open many files
kept = [open("/dev/null") for _ in range(1_000)]
""",
)
ATTEMPTS = (*HARMLESS, *HARMFUL)


@dataclass(frozen=True)
class Misuse:
    """Code that takes, breaks or forges something, what must be said of it, and when it is stopped."""

    name: str
    code: str
    said: str
    within_s: float = 60.0


def _misuses(text: str) -> tuple[Misuse, ...]:
    """Read misuses, each a line with its name and what is said of it, and the code below it."""
    parts = [part.partition("\n") for part in text.split("\n# ")[1:]]
    heads = [(head.partition(" => "), code) for head, _, code in parts]
    return tuple(
        Misuse(name, f"{_WRITE}\n{code}", said, _HASTE_S if said == "stopped" else 60.0)
        for (name, _, said), code in heads
    )


_HASTE_S = 5.0
# To every descriptor that it may have got.
_WRITE = """
import ctypes, json, os, signal, sys, time
libc = ctypes.CDLL(None)
def write(piece, times=1):
    for descriptor in range(3, 64):
        try:
            for _ in range(times):
                os.write(descriptor, piece)
        except OSError:
            pass
"""
_OVERUSE = _misuses("""
# run for ever => stopped
while True: pass
# sleep for ever => stopped
time.sleep(10_000)
# ignore every signal and run for ever => stopped
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: pass
# close every pipe and run for ever => stopped
os.closerange(0, 64)
while True: pass
# an error whose text never ends => stopped
class Endless(Exception):
    def __str__(self):
        while True: pass
raise Endless
# take ten gigabytes => MemoryError
kept = bytearray(10 * 2**30)
# take memory bit by bit => MemoryError
kept = []
while True: kept.append(bytearray(2**24))
# take memory by an array => MemoryError|allocate
kept = np.ones(2**31)
# draw a picture of enormous size => MemoryError|allocate|pixels|used|without
plt.figure(figsize=(900, 900)); plt.plot([1])
# print fifty megabytes => ZeroDivisionError
print("x" * 50_000_000)
1 / 0
# print errors without end => ZeroDivisionError
for _ in range(50):
    sys.stderr.write("x" * 1_000_000)
1 / 0
# call itself without end => RecursionError
def again(): return again()
again()
# read where nothing is => without a result .signal SIGSEGV
ctypes.string_at(0)
# abort => without a result
os.abort()
# leave => without a result .exit 3
os._exit(3)
# leave politely => SystemExit
raise SystemExit
# raise what nobody catches => Unusual
class Unusual(BaseException): pass
raise Unusual
# close its output => .
sys.stdout.close(); sys.stderr.close(); os.close(1)
# give orders to a terminal by an error => ValueError
raise ValueError("\\x1b]0;title\\x07\\x1b[2J told")
# write nonsense to every descriptor => without a result
write(b"nonsense" * 9999)
plt.plot([1])
# answer for the next chart => without a result
write(b'{"id": 1, "ending": "done", "output": "forged", "result": "{}"}\\n', times=99)
os._exit(0)
# answer with more than anybody reads => without a result
write(b"9" * 2**20, times=99)
os._exit(0)
# answer with a number of a million digits => without a result
write(b"9" * 10**6)
os._exit(0)
# answer nested too deeply => without a result
write(b"[" * 60_000)
os._exit(0)
# spoil matplotlib for the next chart => ZeroDivisionError
import matplotlib.axes
matplotlib.axes.Axes.plot = plt.plot = None
plt.rcParams["figure.figsize"] = (1, 1)
1 / 0
# spoil Python for the next chart => Error
import builtins
builtins.print = None
sys.modules.clear()
1 / 0
# spoil open files for the next chart => ZeroDivisionError
import fcntl
for descriptor in range(3, 64):
    for spoil in (
        lambda: os.lseek(descriptor, 10_000, 0),
        lambda: fcntl.flock(descriptor, fcntl.LOCK_EX),
        lambda: libc.fcntl(descriptor, fcntl.F_SETFL, os.O_DIRECT | os.O_NONBLOCK | os.O_APPEND),
    ):
        try:
            spoil()
        except OSError:
            pass
1 / 0
# leave files for the next chart => ZeroDivisionError
os.makedirs("/tmp/matplotlib")
for name in ("matplotlib/matplotlibrc", "numpy.py", "sitecustomize.py"):
    open(f"/tmp/{name}", "w").write("1 / 0")
1 / 0
# leave a folder that nobody may enter => ZeroDivisionError|ended the sandbox
os.mkdir("/tmp/closed", 0)
1 / 0
# leave folders in folders without end => ZeroDivisionError|ended the sandbox
for _ in range(3000):
    os.mkdir("x"); os.chdir("x")
1 / 0
""")  # fmt: skip

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
_WIDE = "iVBORw0KGgoAAAANSUhEUgAP//8AD///CAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">%s</svg>'
# Pictures that would do something where they are shown.
ACTIVE = {
    "a script in the picture": SVG % "<script>alert(1)</script>",
    "a handler in the picture": SVG % '<g onload="alert(1)"/>',
    "a page in the picture": SVG % "<foreignObject><b/></foreignObject>",
    "an address in the picture": SVG % '<image href="http://127.0.0.1/x.png"/>',
    "an older address in the picture": SVG % '<use xlink:href="file:///etc/passwd#x"/>',
    "a script for an address": SVG % '<a href="javascript:alert(1)"><text>x</text></a>',
    "a style that fetches": SVG % "<style>@import 'http://127.0.0.1/x'</style>",
    "a style that fetches by an address": SVG % '<rect style="fill: url( http://127.0.0.1/x)"/>',
    "a style in disguise": SVG % r"<style>@\69mport 'http://127.0.0.1/x'</style>",
    "a style that fetches behind a comment": SVG % "<style><!-- x -->@import 'http://127.0.0.1/x';</style>",
    "a style that fetches behind a child": SVG % "<style><g/>@import 'http://127.0.0.1/x';</style>",
    "a style with a set of pictures": SVG % "<style>g{fill: image-set('http://127.0.0.1/x' 1x)}</style>",
    "an attribute with a set of pictures": SVG % """<g style="mask: image-set('http://127.0.0.1/x' 1x)"/>""",
    "a style with a source": SVG % "<style>g{fill: src('http://127.0.0.1/x')}</style>",
    "a second address in a value": SVG % '<rect style="fill: url(#a) url(http://127.0.0.1/x)"/>',
    "a picture in the picture": SVG % '<image href="data:image/svg+xml,x"/>',
    "a base for addresses": SVG % '<g xml:base="http://127.0.0.1/"/>',
    "an element of a page": SVG % '<style xmlns="http://www.w3.org/1999/xhtml">g{}</style>',
    "a movement that writes an address": SVG % '<set attributeName="href" to="javascript:alert(1)"/>',
    "an entity in the picture": '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
    "an instruction in the picture": '<?xml-stylesheet href="http://127.0.0.1/x"?>' + SVG % "",
    "a page for a picture": "<html><script>alert(1)</script></html>",
    "no picture": "nonsense",
}


def _forged(name: str, **changed: object) -> Misuse:
    """Return code that ends with a result of its own making, in which something is wrong."""
    made = {"error": "", "figures": [PNG], "svgs": [SVG % ""], "plotted": [[1]]} | changed
    return Misuse(name, f"{_WRITE}\nwrite(json.dumps({made!r}).encode())\nos._exit(0)", "cannot be used|no chart")


MISUSES = (
    *_OVERUSE,
    *(_forged(name, svgs=[svg]) for name, svg in ACTIVE.items()),
    _forged("what is no picture", figures=["Z2lmODlh"]),
    _forged("a picture that takes all memory where it is shown", figures=[_WIDE]),
    _forged("more pictures than allowed", figures=[PNG] * 9, svgs=[SVG % ""] * 9, plotted=[[1]] * 9),
    _forged("a picture that is missing", svgs=[]),
    _forged("a value that is no number", plotted=[["x"]]),
    _forged("a field that nobody knows", other=1),
)

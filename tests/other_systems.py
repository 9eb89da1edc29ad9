"""A process that sees of Python what another operating system has: Windows, or macOS.

    python other_systems.py windows CODE [MODULE ...]

runs CODE in it. It uses these modules of the product, or any. Of Windows: modules of POSIX can't be
imported, ``os`` and ``signal`` lack what they lack there, and ``os`` refuses what Windows refuses:
to open or sync a folder, to move or remove what any process has open, to rename to a name that is
taken. ``msvcrt`` has its lock. Paths, line ends, file systems and the libraries in C stay those of
Linux.
"""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
import pkgutil
import shutil
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

# Of ``os``: by "Availability" in Python's documentation.
NOT_ON_MACOS = frozenset({
    "O_DIRECT", "O_LARGEFILE", "O_NOATIME", "O_PATH", "O_RSYNC", "O_TMPFILE", "copy_file_range",
    "eventfd", "fdatasync", "getrandom", "getresgid", "getresuid", "getxattr", "listxattr",
    "memfd_create", "pipe2", "posix_fadvise", "posix_fallocate", "removexattr", "sched_getaffinity",
    "sched_getparam", "sched_getscheduler", "sched_setaffinity", "sched_setscheduler", "setns",
    "setresgid", "setresuid", "setxattr", "splice", "unshare",
})  # fmt: skip
NOT_ON_WINDOWS = NOT_ON_MACOS | {
    "O_ACCMODE", "O_ASYNC", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NDELAY", "O_NOCTTY",
    "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "WEXITSTATUS", "WIFEXITED", "WNOHANG", "chown", "chroot",
    "confstr", "ctermid", "fchdir", "fchmod", "fchown", "fork", "forkpty", "fpathconf", "fstatvfs",
    "fwalk", "getegid", "geteuid", "getgid", "getgrouplist", "getgroups", "getloadavg", "getpgid",
    "getpgrp", "getpriority", "getsid", "getuid", "initgroups", "killpg", "lchown", "lockf",
    "major", "makedev", "minor", "mkfifo", "mknod", "nice", "openpty", "pathconf", "posix_spawn",
    "posix_spawnp", "pread", "preadv", "pwrite", "pwritev", "readv", "register_at_fork",
    "sched_yield", "sendfile", "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpgrp",
    "setpriority", "setregid", "setreuid", "setsid", "setuid", "statvfs", "sync", "sysconf",
    "tcgetpgrp", "tcsetpgrp", "ttyname", "uname", "wait", "wait3", "wait4", "waitid", "writev",
}  # fmt: skip
SIGNALS_NOT_ON_WINDOWS = frozenset(
    name for name in dir(signal) if name.startswith("SIG") and name[3:4].isalpha()
) - {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"} | {
    "alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt",
    "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo",
}  # fmt: skip
MODULES_NOT_ON_WINDOWS = (
    "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty",
)  # fmt: skip


class Without(ModuleType):
    """A module without some of its names; what is set on it takes the place of the real one."""

    def __init__(self, real: ModuleType, missing: frozenset[str]) -> None:
        super().__init__(real.__name__)
        self._real, self._missing = real, missing

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(f"module {self._real.__name__!r} has no attribute {name!r} here")
        return getattr(self._real, name)


def is_open(path: Any) -> bool:
    """Whether any process that we may ask has the file open, or one below it."""
    wanted = os.path.realpath(path)
    for process in filter(str.isdecimal, os.listdir("/proc")):
        try:
            handles = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for handle in handles:
            try:
                place = os.readlink(f"/proc/{process}/fd/{handle}")
            except OSError:
                continue
            if place == wanted or place.startswith(f"{wanted}/"):
                return True
    return False


def refused(path: Any) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))


def windows_os() -> ModuleType:
    fake: Any = Without(os, NOT_ON_WINDOWS)
    fake.supports_fd = fake.supports_dir_fd = fake.supports_follow_symlinks = frozenset()

    def opened(path: Any, flags: int, mode: int = 0o777) -> int:
        if os.path.isdir(path):
            raise refused(path)
        return os.open(path, flags, mode)

    def rename(source: Any, target: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))
        replace(source, target)

    def replace(source: Any, target: Any) -> None:
        if is_open(source) or is_open(target):
            raise refused(target)
        os.replace(source, target)

    def unlink(path: Any) -> None:
        if is_open(path):
            raise refused(path)
        os.unlink(path)

    def chmod(path: Any, mode: int) -> None:
        os.chmod(os.fspath(path), mode)

    def fsync(handle: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(handle)

    def kill(process: int, number: int) -> None:
        raise RuntimeError("it would be ended")

    fake.open, fake.rename, fake.replace, fake.chmod = opened, rename, replace, chmod
    fake.unlink = fake.remove = unlink
    fake.fsync, fake.kill = fsync, kill
    return fake


def windows_msvcrt() -> ModuleType:
    fake: Any = ModuleType("msvcrt")
    fake.LK_NBLCK = 2

    def locking(handle: int, mode: int, size: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused("") from None

    fake.locking = locking
    return fake


def strict_rmtree(path: Any, **options: Any) -> None:
    """What is open below a folder would stay there, and nobody would be told."""
    if is_open(path):
        raise RuntimeError("a folder goes while something in it is open")
    REAL_RMTREE(path, **options)


REAL_RMTREE = shutil.rmtree


def product_modules() -> list[str]:
    import dprelease

    found = pkgutil.walk_packages(dprelease.__path__, "dprelease.", onerror=None)
    return [module.name for module in found if not module.name.endswith("__main__")]


def forget_product() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "dprelease"]:
        del sys.modules[name]


def become(system: str, modules: Sequence[str]) -> None:
    """Let every module of the product be imported anew, and find the other system."""
    for name in modules or product_modules():  # what they import has its own ways for each system
        importlib.import_module(name)
    for name in ("pyarrow.csv", "pyarrow.parquet", "rich.console", "uuid", "tempfile", "numpy.fft"):
        importlib.import_module(name)
    forget_product()
    if system == "macos":
        sys.modules["os"] = Without(os, NOT_ON_MACOS)
        return
    sys.modules["os"] = windows_os()
    sys.modules["signal"] = Without(signal, SIGNALS_NOT_ON_WINDOWS)
    sys.modules["msvcrt"] = windows_msvcrt()
    shutil.rmtree = strict_rmtree
    for name in MODULES_NOT_ON_WINDOWS:
        sys.modules[name] = None  # type: ignore[assignment]


if __name__ == "__main__":
    become(sys.argv[1], sys.argv[3:])
    exec(sys.argv[2], {"__name__": "tried", "product_modules": product_modules})

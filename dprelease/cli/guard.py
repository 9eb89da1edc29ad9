"""The outermost frame: turns whatever escapes a command into a message and an exit code.

An unexpected exception is named by its class alone. Its text and its traceback could hold values
of the data, so neither is shown, and no switch shows them. Most are bugs, and said to be so.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import click

from dprelease.cli.app import app
from dprelease.cli.views.complaints_view import complain
from dprelease.cli.views.console import abandon_stdout, answer_json, prepare_streams, write_remark
from dprelease.errors import REPORT, SYSTEM, Complaint, ExitCode, Failure, name_kind

INTERRUPTED = 130  # 128 + SIGINT, as shells say it
TERMINATED = 143  # 128 + SIGTERM
PIPE_CLOSED = 141  # 128 + SIGPIPE
COMPLETION = "_DPRELEASE_COMPLETE"  # a shell sets it to ask what a word could become


class Terminated(KeyboardInterrupt):
    """A polite request to stop (SIGTERM) ends a command as Ctrl-C does.

    Libraries may turn it into an interruption of their own, so that it was ``requested`` is noted.
    """

    requested = False


class Manner(NamedTuple):
    """How errors are told. Read from the raw arguments: the parser may be what fails."""

    json: bool
    quiet: bool
    charges: bool = False  # whether the command may have charged a budget

    @staticmethod
    def find(arguments: Sequence[str]) -> Manner:
        """Find ``--json`` (or ``--format json``) and ``-q`` among the arguments."""
        options = list(arguments)
        if "--" in options:
            options = options[: options.index("--")]
        formats = [after for option, after in pairwise(options) if option == "--format"]
        return Manner(
            json="--json" in options or "--format=json" in options or "json" in formats,
            quiet="-q" in options or "--quiet" in options,
            charges=options[:1] == ["run"],
        )


def execute(arguments: Sequence[str]) -> int:
    """Run a command line. No exception escapes.

    Args:
        arguments: The command line without the name of the program.

    Returns:
        The exit code of the process.
    """
    prepare_streams()
    _silence_hooks()
    _keep_to_one_thread()
    _heed_termination()
    manner = Manner.find(arguments)
    try:
        return _run(arguments, manner)
    except BrokenPipeError:  # the reader has gone (`| head`): no word of it
        abandon_stdout()
        return PIPE_CLOSED
    except BaseException as error:  # a SystemExit too: Python would print what it holds
        return _tell_internal(error, manner)


def _run(arguments: Sequence[str], manner: Manner) -> int:
    try:
        return _invoke(arguments)
    except Failure as failure:
        return _tell(int(failure.exit_code), failure.complaints, manner)
    except click.UsageError as error:
        return _tell_usage(error, manner)
    except (KeyboardInterrupt, click.Abort):
        hint = "" if manner.charges else "run the command again"
        if Terminated.requested:
            return _tell(TERMINATED, [Complaint("E700", "terminated", hint)], manner)
        return _tell(INTERRUPTED, [Complaint("E700", "interrupted", hint)], manner)


def _tell_internal(error: BaseException, manner: Manner) -> int:
    outside = isinstance(error, OSError | MemoryError | ImportError)
    message = f"internal error ({name_kind(error)}); nothing was released"
    complaint = Complaint("E701", message, SYSTEM if outside else REPORT)
    return _tell(int(ExitCode.INTERNAL), [complaint], manner)


def _invoke(arguments: Sequence[str]) -> int:
    """Parse and run. A command returns its exit code, or None for "done"."""
    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, "dprelease", COMPLETION, instruction)
    if not arguments:
        write_remark(
            app.get_help(click.Context(app, info_name="dprelease", **app.context_settings))
        )
        return int(ExitCode.SPEC)
    try:
        with app.make_context("dprelease", list(arguments)) as context:
            code = app.invoke(context)
    except click.exceptions.Exit as leave:  # --help, --version
        return leave.exit_code
    return int(code or 0)


def _tell(code: int, complaints: Sequence[Complaint], manner: Manner) -> int:
    is_told = False
    if manner.json:
        error = {
            "schema": "dprelease/error/1",
            "exit_code": code,
            "complaints": [complaint.to_dict() for complaint in complaints],
        }
        with contextlib.suppress(Failure):  # where it can't be, standard error tells it
            answer_json(error)
            is_told = True
    if not (is_told and manner.quiet):
        complain(complaints)
    return code


def _tell_usage(error: click.UsageError, manner: Manner) -> int:
    """Report a command line that is wrong, and where to read more."""
    path = error.ctx.command_path if error.ctx is not None else "dprelease"
    message = error.format_message()
    if manner.json:
        _tell(int(ExitCode.SPEC), [Complaint("E000", message)], Manner(json=True, quiet=True))
    if manner.json and manner.quiet:
        return int(ExitCode.SPEC)
    if message.startswith("Usage:"):  # a group without its command: the help is the answer
        write_remark(message)
    else:
        write_remark(f"dprelease: {message}", "error")
        write_remark(f"Try: {path} --help")
    return int(ExitCode.SPEC)


def _heed_termination() -> None:
    """Report SIGTERM as an interruption, unless somebody has set another handler."""
    import signal
    import threading

    def end(_signal: int, _frame: object) -> None:
        Terminated.requested = True
        raise Terminated

    default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if default and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)


def _keep_to_one_thread() -> None:
    """Keep NumPy's linear algebra to one thread."""
    # Its threads spin when they start, which is most of the cost of importing NumPy, and no matrix
    # here is large enough for them. With one, the last digits do not depend on the cores either.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _silence_hooks() -> None:
    """Replace Python's hooks, which print exception texts, by ones that name the class alone."""
    import threading

    def report(kind: type[BaseException] | None) -> None:
        write_remark(f"internal error ({kind.__name__ if kind else 'unknown'})", "error")

    threading.excepthook = lambda unhandled: report(unhandled.exc_type)
    sys.unraisablehook = lambda unhandled: report(unhandled.exc_type)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")

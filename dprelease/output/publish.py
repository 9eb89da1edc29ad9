"""The output directory: files are put in place whole or not at all; only ours are touched."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import DISK_ERRORS, replace_file, sync_directory
from dprelease.model import Release
from dprelease.output.datapackage import GENERATOR, NAME, make_slug, write_marker
from dprelease.output.staging import Content, read_noted_names, remove_leftovers, stage

FOLDER = "figures"  # the one folder in a target: charts as specifications
PREFIX = ".dprelease-"  # of staging directories inside a target
LONGEST_NAME = 255  # bytes, as on nearly all file systems
LONGEST_PATH = 2000  # bytes: half of what Linux takes, for staging directories go below it


def check_target(directory: str, names: Iterable[str] = ()) -> None:
    """Refuse, before anything is charged, an output folder that ``publish`` would refuse later.

    Tries a write in the folder, or in its nearest existing parent, and leaves nothing behind.

    Args:
        directory: The output folder.
        names: Names of the files to be published, as far as known.

    Raises:
        Failure: Exit code 2 if the spec must change, 6 if a disk is full or fails.
    """
    files = list(names)
    complaint = find_bad_name(files) or place_problem(directory)
    if complaint is None:
        complaint = _find_foreign_problem(directory, files)
    if complaint is not None:
        raise _build_failure(complaint, charged=False)


def check_not_anothers(release: Release) -> None:
    """Refuse, before anything is charged, an output folder that belongs to another release.

    That is a folder with its files, which would be removed, or one inside of such a folder.

    Args:
        release: The release to publish. Another one has another name or dataset.

    Raises:
        Failure: Exit code 2.
    """
    target = os.path.realpath(release.output.path)
    ours = release.about.name, release.ledger.dataset
    for folder in (target, *map(str, Path(target).parents)):
        name, dataset = _read_published_name(folder)
        if name is None or (name, dataset) in {ours, (make_slug(ours[0]), None)}:
            continue
        place = "holds" if folder == target else f"lies in {folder}, which contains"
        theirs = "" if dataset in {None, ours[1]} else f' of "{dataset}"'
        own = f' of "{ours[1]}"' if theirs else ""
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E806",
                f'the output {release.output.path} {place} the release "{name}"{theirs}, and this '
                f'is "{release.about.name}"{own}',
                key="output.path",
            ),
        )


def find_bad_name(paths: Iterable[str]) -> Complaint | None:
    """Return a complaint about the first path that is not a plain visible file name.

    A path may lie in the one folder for charts.
    """
    for path in paths:
        name = path.removeprefix(f"{FOLDER}/")
        hidden = name in ("", ".", "..") or name.startswith(".")
        if hidden or any(char in "/\\" or not char.isprintable() for char in name):
            hint = "use letters, digits, - and _ in names of tables"
            return Complaint("E803", f"{name!r} can't be the name of a published file", hint)
        if len(os.fsencode(name)) > LONGEST_NAME:
            hint = "give the table a shorter name: `table` in [[query]]"
            return Complaint("E803", f"the file name {name[:40]!r}... is too long", hint)
    return None


def place_problem(directory: str) -> Complaint | None:
    """Return a complaint if the path is no folder or can't be written."""
    target = os.path.abspath(directory)
    if os.path.islink(target):
        return Complaint("E801", f"the output {target} is a symbolic link")
    if os.path.lexists(target) and not os.path.isdir(target):
        return Complaint("E801", f"the output {target} is a file, not a directory")
    lengths = [len(os.fsencode(part)) for part in (target, *Path(target).parts)]
    if lengths[0] > LONGEST_PATH or max(lengths[1:]) > LONGEST_NAME:
        message = f"the output {target[:80]}... is too long for a path"
        return Complaint("E801", message, "choose a shorter output.path")
    # The folder need not exist yet: its nearest existing parent must allow to make it.
    nearest = target
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest):
        message = f"the output {target} can't be made: {nearest} is not a directory"
        return Complaint("E801", message)
    return _write_problem(target, nearest)


def name_prefix(target: str) -> str:
    """Name the prefix of staging directories that stand beside a target that does not exist yet."""
    return f".{os.path.basename(target)}{PREFIX}"


def list_our_names(directory: str) -> set[str]:
    """List the files in the folder that dprelease published, or had begun to publish."""
    if not os.path.isdir(directory):
        return set()
    names = _list_described_files(os.path.join(directory, NAME)) | read_noted_names(
        directory, PREFIX
    )
    return {name for name in names if not find_bad_name([name])}


def list_foreign_names(
    directory: str, names: Iterable[str], same: Set[str] = frozenset()
) -> list[str]:
    """List the names that exist in the folder and are not ours, or are no plain files.

    ``same`` names files that already hold the content to be written: they are no obstacle.
    """
    folder = os.path.join(directory, FOLDER)
    if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
        return [FOLDER]
    ours = list_our_names(directory) | same
    present = [name for name in names if os.path.lexists(os.path.join(directory, name))]
    return [
        name
        for name in present
        if name not in ours or not is_plain_file(os.path.join(directory, name))
    ]


def is_plain_file(path: str) -> bool:
    """Check for a regular file; links are not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def build_foreign_complaint(directory: str, name: str) -> Complaint:
    """Complain about a file in the way that dprelease did not write."""
    message = f"{os.path.join(directory, name)} already exists, and dprelease did not write it"
    return Complaint("E805", message)


def _list_described_files(descriptor: str) -> set[str]:
    """List the files that a descriptor of ours names, and itself; none for any other file."""
    try:
        content = _read_json(descriptor)
        if content["generator"] != GENERATOR:
            return set()
        paths = [resource["path"] for resource in content["resources"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()  # not one of ours
    return {listed for listed in paths if isinstance(listed, str)} | {NAME}


def _read_published_name(folder: str) -> tuple[str | None, str | None]:
    """Read name and dataset of the release in a folder; None for each that is unknown.

    Without a report it is the slug in the data package, and no dataset.
    """
    try:
        package = _read_json(os.path.join(folder, NAME))
        if package["generator"] != GENERATOR:
            return None, None
        name = str(package["name"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None, None  # no release of ours, or not to be read
    try:
        report = _read_json(os.path.join(folder, "report.json"))
        title, dataset = report["deployment"]["basic"]["name"], report["ledger"]["dataset"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return name, None  # it has no report in that format
    if make_slug(str(title)) != name:
        return name, None  # a stopped run left the report of the release that it was replacing
    return str(title), str(dataset)


def _read_json(path: str) -> Any:
    """Read a JSON file; an empty object where there is no plain file."""
    if not is_plain_file(path):
        return {}
    with open(path, "rb") as source:
        return json.load(source)


def _find_foreign_problem(directory: str, names: list[str]) -> Complaint | None:
    try:
        foreign = list_foreign_names(directory, names)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        return Complaint("E801", f"the output {directory} can't be read: {reason}")
    return build_foreign_complaint(directory, foreign[0]) if foreign else None


def _write_problem(target: str, nearest: str) -> Complaint | None:
    prefix = PREFIX if nearest == target else name_prefix(target)
    try:
        if nearest != target:  # in the target itself, leftovers tell what is ours
            remove_leftovers(nearest, prefix)
        probe = os.path.join(nearest, f"{prefix}{os.getpid()}-{time.time_ns()}")
        os.mkdir(probe, 0o700)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        message = f"the output {target} can't be written: {nearest}: {reason}"
        if problem.errno in DISK_ERRORS:
            hint = "free space on the disk or repair it, or choose another output.path"
            return Complaint("E802", message, hint)
        return Complaint("E801", message, "make it writable, or choose another output.path")
    # Another run may have removed it as a leftover already.
    shutil.rmtree(probe, ignore_errors=True)
    return None


FREE = "the numbers are sealed: running the same release again costs nothing"
NOTHING = "this run has charged nothing"


def publish(
    directory: str,
    files: Mapping[str, Content],
    *,
    replace_other: bool = False,
    charged: bool = True,
) -> dict[str, str]:
    """Make a folder hold the files of a release, durably and without a half-written state.

    A new folder appears at once and whole. In an existing one a ``datapackage.json`` that marks
    the release as under way comes first. Then files are removed that an earlier descriptor of ours
    lists and that are no longer published, and each changed file is replaced whole,
    ``datapackage.json`` last. If the process is killed, the folder holds the old release, the new
    one, or one marked as under way; the next call removes leftovers.

    Args:
        directory: The output folder.
        files: Contents by name.
        replace_other: Replace the release of another name, which a run at the same time may just
            have made.
        charged: False if the run has charged nothing. It decides the exit code.

    Returns:
        SHA-256 of each file (hex), by name.

    Raises:
        Failure: The folder can't be written, or a file that dprelease did not write is in the way:
            such files are never touched. Exit code 5 if charged, after which running again is
            free; else as ``check_target``.
    """
    complaint = find_bad_name(files) or place_problem(directory)
    if complaint is not None:
        raise _build_failure(complaint, charged=charged)
    target = os.path.abspath(directory)
    try:
        if os.path.lexists(target) or not _create_directory(target, files):
            if not replace_other:
                _check_name(target, files, charged=charged)
            _update(target, files, charged=charged)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else "the place keeps changing"
        message = f"the output {target} can't be written: {reason}"
        complaint = Complaint("E802", message, "free space or choose another output.path")
        raise _build_failure(complaint, charged=charged) from None
    return {
        name: hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content.sha256
        for name, content in files.items()
    }


def _check_name(target: str, files: Mapping[str, Content], *, charged: bool) -> None:
    """Raise Failure where the target holds a release of another name than the files."""
    # check_not_anothers looked before the charge; another run may have published since.
    theirs, package = _read_published_name(target)[0], files.get(NAME)
    if theirs is None or not isinstance(package, bytes):
        return
    ours = json.loads(package).get("name")
    if ours != make_slug(theirs):
        message = f'the output {target} holds the release "{theirs}" now, but this is "{ours}"'
        complaint = Complaint("E806", message, "choose another output.path, or --output")
        raise _build_failure(complaint, charged=charged)


def _create_directory(target: str, files: Mapping[str, Content]) -> bool:
    """Create a new folder in one step; return False if another process created it meanwhile."""
    parent, prefix = os.path.dirname(target), name_prefix(target)
    _make_directories(parent)
    remove_leftovers(parent, prefix)
    with stage(parent, prefix) as staging:
        staging.write(files)
        try:
            os.rename(staging.content, target)
        except OSError as problem:
            if problem.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        sync_directory(parent)
    return True


def _update(target: str, files: Mapping[str, Content], *, charged: bool) -> None:
    """Replace what changed in an existing directory, file by file."""
    changed = {
        name: content for name, content in files.items() if not _has_content(target, name, content)
    }
    foreign = list_foreign_names(target, files, same=files.keys() - changed.keys())
    if foreign:
        raise _build_failure(build_foreign_complaint(target, foreign[0]), charged=charged)
    ours = list_our_names(target)
    parent = os.path.dirname(target)
    if os.access(parent, os.R_OK | os.W_OK):  # of a run killed when the target was made
        remove_leftovers(parent, name_prefix(target))
    with stage(target, PREFIX) as staging:
        # First the manifest, then what earlier manifests say may go.
        staging.note(ours | files.keys())
        remove_leftovers(target, PREFIX)
        staging.write(changed)
        descriptor, current = files.get(NAME), os.path.join(target, NAME)
        if NAME in changed and isinstance(descriptor, bytes) and os.path.lexists(current):
            replace_file(staging.write_beside(NAME, write_marker(descriptor)), current)
            _sync(target)
        _remove(target, ours - files.keys())
        if any(name.startswith(f"{FOLDER}/") for name in changed):
            _make_directories(os.path.join(target, FOLDER))
        for name in sorted(changed.keys() - {NAME}):
            replace_file(os.path.join(staging.content, name), os.path.join(target, name))
        _sync(target)
        if NAME in changed:
            replace_file(os.path.join(staging.content, NAME), current)
            _sync(target)


def _has_content(target: str, name: str, content: Content) -> bool:
    """Tell if the published file ``name`` already has this content."""
    path = os.path.join(target, name)
    size = len(content) if isinstance(content, bytes) else content.size
    # The size is compared first: most changed files are told apart without reading them.
    if not is_plain_file(path) or os.path.getsize(path) != size:
        return False
    with open(path, "rb") as source:
        if isinstance(content, bytes):
            return source.read() == content
        return hashlib.file_digest(source, "sha256").hexdigest() == content.sha256


def _remove(target: str, stale: set[str]) -> None:
    for name in sorted(stale):
        path = os.path.join(target, name)
        if is_plain_file(path):
            os.unlink(path)
    if stale:
        folder = os.path.join(target, FOLDER)
        if any(name.startswith(f"{FOLDER}/") for name in stale) and not os.listdir(folder):
            os.rmdir(folder)
        _sync(target)


def _sync(target: str) -> None:
    folder = os.path.join(target, FOLDER)
    if os.path.isdir(folder):
        sync_directory(folder)
    sync_directory(target)


def _make_directories(path: str) -> None:
    """Create a folder and its missing parents, durably."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue  # another process made it
        sync_directory(os.path.dirname(folder))


def _build_failure(complaint: Complaint, *, charged: bool) -> Failure:
    """Add to the complaint what was charged, and choose the exit code by that."""
    code = ExitCode.AFTER_CHARGE
    if not charged:
        code = ExitCode.LEDGER if complaint.code == "E802" else ExitCode.SPEC
    if code is ExitCode.SPEC:
        return Failure(code, complaint)
    hint = f"{complaint.hint}; {FREE if charged else NOTHING}"
    return Failure(code, Complaint(complaint.code, complaint.message, hint))

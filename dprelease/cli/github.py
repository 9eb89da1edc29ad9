"""Workflow commands of GitHub Actions: marks at the lines of a pull request."""

from __future__ import annotations

from dprelease.errors import Complaint, Place


def annotation(kind: str, file: str, title: str, message: str, place: Place | None = None) -> str:
    """One mark, with its escapes; ``kind`` is error, warning or notice."""
    properties = {"file": place.file if place else file}
    if place:
        properties |= {"line": str(place.line), "col": str(place.column)}
    properties["title"] = title
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {listed}::{_data(message)}"


def marked(kind: str, file: str, complaint: Complaint) -> str:
    """A complaint as a mark."""
    hint = f" (hint: {complaint.hint})" if complaint.hint else ""
    return annotation(kind, file, complaint.code, complaint.message + hint, complaint.place)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""Workflow commands of GitHub Actions: marks at the lines of a pull request."""

from __future__ import annotations

from dprelease.errors import Place


def annotation(kind: str, file: str, title: str, message: str, place: Place | None = None) -> str:
    """One mark, with its escapes; ``kind`` is error, warning or notice."""
    properties = {"file": place.file if place else file}
    if place:
        properties |= {"line": str(place.line), "col": str(place.column)}
    properties["title"] = title
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

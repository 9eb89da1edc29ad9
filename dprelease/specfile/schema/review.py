"""The sections of a spec about who reviewed the release; ``schema.sections`` has all others."""

from __future__ import annotations

from typing import Literal

from dprelease.specfile.keys.fields import read_day, read_line, read_text
from dprelease.specfile.keys.section_reader import Choice, Key, Section, build_table_reader

Decision = Literal["approved", "approved with conditions", "refused"]


class AttestationsSection(Section, header="[review.attestations]"):
    WORDS = (
        "What the reviewer states about hazards that the tool can't check, one text for each. The "
        "report calls a hazard with a text `stated`, and others `not checked`."
    )

    side_channels = Key(
        read_text, "what keeps others from watching a run, such as how long it takes"
    )
    security_and_access = Key(read_text, "who can read the private table and the machine")
    data_collection_and_minimisation = Key(read_text, "what was collected, and why no more")
    staff_who_see_the_data = Key(
        read_text, "who is trusted with the private table, and on what terms"
    )
    trust_in_the_local_model = Key(
        read_text, "who held the true records of record-level tables; needs a `[[perturb]]`"
    )


read_attestations = build_table_reader(AttestationsSection)


class ReviewSection(Section, header="[review]"):
    WORDS = (
        "Who reviewed the release and agreed to it. These texts are for the report; they change "
        "neither the noise nor the identity of the release. A run must match an approved plan in "
        "all of them except `decision`, `date` and `reference`, which come with the signature."
    )

    reviewer = Key(read_line, "who reviewed the release; needed with any other key of the section")
    role = Key(read_line, "the reviewer's role, such as data protection officer")
    decision = Choice[Decision | None](
        Decision, None, 'what the reviewer decided; `run` releases nothing that is "refused"', "-"
    )
    date = Key(read_day, "the day of the decision")
    reference = Key(read_line, "where the signed paper is, such as a file number")
    legal_basis = Key(read_text, "the law that the release rests on")
    necessity = Key(read_text, "why the release is needed, and why no less would do")
    attestations = Key(read_attestations, "what the reviewer states about hazards")

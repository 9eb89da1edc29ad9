"""The sections of a spec about who reviewed the release; ``schema.sections`` has all others."""

from __future__ import annotations

from typing import Literal

from dprelease.specfile.schema.fields import day, line, text
from dprelease.specfile.schema.section_reader import Choice, Key, Section, nested

Decision = Literal["approved", "approved with conditions", "refused"]


class AttestationsSection(Section, header="[review.attestations]"):
    WORDS = (
        "What the reviewer states of hazards that the tool can't check, a text each. Without one "
        "the hazard is `not checked` in the report, with one it is `stated`."
    )

    side_channels = Key(text, "what keeps others from watching a run, such as how long it takes")
    security_and_access = Key(text, "who can read the private table and the machine")
    data_collection_and_minimisation = Key(text, "what was collected, and why no more")
    staff_who_see_the_data = Key(text, "who is trusted with the private table, and on what terms")
    trust_in_the_local_model = Key(
        text, "of record-level tables: who held the true records; needs a `[[perturb]]`"
    )


read_attestations = nested(AttestationsSection)


class ReviewSection(Section, header="[review]"):
    WORDS = (
        "Who looked at the release and agreed to it: words for the report, which change neither "
        "its noise nor what makes it the same release. An approved plan holds a run to all of "
        "them but `decision`, `date` and `reference`, which come with the signature."
    )

    reviewer = Key(line, "who reviewed the release; needed beside any other key of the section")
    role = Key(line, "such as data protection officer")
    decision = Choice[Decision | None](
        Decision, None, 'what the reviewer decided; `run` releases nothing that is "refused"', "-"
    )
    date = Key(day, "the day of the decision")
    reference = Key(line, "where the signed paper is, such as a file number")
    legal_basis = Key(text, "the law that the release rests on")
    necessity = Key(text, "why the release is needed, and why no less would do")
    attestations = Key(read_attestations, "what the reviewer states of hazards")

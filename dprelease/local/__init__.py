"""Record-level tables in the local model: a slice through all stages, in the order of a run.

``perturb_section`` has the keys of ``[[perturb]]``, ``record_table_checks`` their meaning. For
``record_table_plan`` ``randomizers`` calibrates the noise of each column. The kernel certifies the
plan and draws the answers (``kernel.chapters.record_tables``). ``record_release`` shuffles, counts
and writes them to a table that ``store`` keeps and reads. ``estimation`` makes estimates of it,
``report`` the facts and the section of a report, ``estimate_command`` the command. Each is called
by the general stage that it belongs to; ARCHITECTURE.md has the table.
"""

"""From sections to model values, with the checks beyond the keys of one section.

``data_source`` and ``columns`` come first, then ``queries``, which use them, and
``local.record_table_checks``. ``privacy_checks`` checks the unit and the budgets, ``name_checks``
the names that people read, ``warnings`` the rest.
"""

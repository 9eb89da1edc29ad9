"""From sections to model values, with the checks beyond the keys of one section.

``data_source`` and ``columns`` come first, then ``queries`` and ``record_tables``, which use them.
``privacy`` checks the unit and the budgets, ``paths`` all files together, ``warnings`` the rest.
"""

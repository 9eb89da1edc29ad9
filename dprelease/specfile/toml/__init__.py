"""From the text of a spec to a plain tree, with the place of every key and value.

``syntax`` reads and parses the file, ``positions`` finds the places, ``tree`` copies what a caller
gives as a mapping.
"""

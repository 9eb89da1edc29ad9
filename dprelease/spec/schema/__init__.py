"""From the tree to sections: which keys there are, what each takes, and what they mean.

``models`` lists the keys, made of ``sections``, ``numbers`` and ``fields``; ``structure`` reads a
tree by them. ``descriptions`` and ``json_schema`` say the same to people and editors.
"""

"""From the tree to sections: which keys there are, what each takes, and what they mean.

``sections`` lists the keys, which ``specfile.keys`` reads; ``structure`` reads a whole tree.
``json_schema`` says the same to editors.
"""

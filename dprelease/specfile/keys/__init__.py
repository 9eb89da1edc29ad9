"""How keys are read: values by ``fields`` and ``number_texts``, sections by ``section_reader``."""

"""The operator table and its one generator.

Read from top to bottom: ``table/*.yaml`` (what there is), ``schema.py`` (what a row may say),
``aten.py`` (PyTorch's side of a row), ``custom.py`` and ``derivatives.py`` (the side of an
operator that PyTorch does not have), ``generate.py`` (who gets what), ``templates/`` (how it
looks).
"""

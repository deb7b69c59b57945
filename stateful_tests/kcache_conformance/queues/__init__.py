"""Holds any queue of changes (FIFO, DeltaFIFO, RealFIFO) against its model.

``target.py`` is the contract; ``phases.py`` says what is done with an implementation, ``target_types.py`` describes the
target types.
"""

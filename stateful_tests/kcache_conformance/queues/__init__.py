"""Holds any queue of changes (FIFO, DeltaFIFO, RealFIFO) against its model.

``target.py`` is the contract; ``phases.py`` says what is done with an implementation, ``kinds.py`` enters it among the
kinds of targets.
"""

"""Holds any queue of changes (FIFO, DeltaFIFO, RealFIFO) against its model.

``target.py`` is the contract, ``object_types.py`` describes the object types.
"""

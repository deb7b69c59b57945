"""Comparison of any queue of changes (FIFO, DeltaFIFO, RealFIFO) with its model.

``target.py`` contains the contract; ``object_types.py`` describes the object types.
"""

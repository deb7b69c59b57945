"""Sequential specifications of queues of changes: FIFO, DeltaFIFO, RealFIFO (client-go ``tools/cache``).

``operations.py`` defines the calls, ``state.py`` the content of a queue; each ``*_model.py`` is one specification.
"""

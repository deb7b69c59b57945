"""The sequential specifications of queues of changes: FIFO, DeltaFIFO, RealFIFO (client-go ``tools/cache``).

``operations.py`` says what is called, ``state.py`` what a queue holds; each ``*_model.py`` is one specification.
"""

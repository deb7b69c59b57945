"""The suite for object types: any type whose calls a sequential specification explains.

``as_target_type.py`` makes a target type of an object type, ``phases.py`` says what is done with a target.
"""

"""The suite for object types: any type whose calls a sequential specification explains.

``as_target_type.py`` creates a target type from an object type; ``phases.py`` defines the phases of a run.
"""

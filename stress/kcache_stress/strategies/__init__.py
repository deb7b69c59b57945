"""Search strategies, one in each module; :mod:`~..engine.strategy` defines their interface."""

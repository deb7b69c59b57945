"""Search strategies beyond those of the engine, one in each module; :mod:`.registry` names all of them."""

class VectorLoop:
    pass

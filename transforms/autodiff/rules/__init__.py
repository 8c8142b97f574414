"""How each operation is differentiated: what forward mode makes of its tangents, and reverse mode of its cotangents."""

"""How the polynomials of `expand-math` are derived."""

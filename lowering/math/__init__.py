"""expand-math: transcendental functions become arithmetic, for any vector width."""

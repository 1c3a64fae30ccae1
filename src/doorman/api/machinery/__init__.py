"""What every kind's documents have in common: types, selectors, quantities, conversion between versions."""

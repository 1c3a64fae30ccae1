"""One plugin a file. Each file: what it declares, what it decides, how it is adapted to the columns."""

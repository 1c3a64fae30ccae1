"""How servers of one store know of each other: where each is reached, and which there are."""

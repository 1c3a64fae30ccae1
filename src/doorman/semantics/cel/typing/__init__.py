"""What an expression may be about, and whether it makes sense before it is evaluated."""

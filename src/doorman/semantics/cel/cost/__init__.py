"""What an expression can cost, told before it runs."""
